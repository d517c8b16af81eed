/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * queue.h - the bounded work queue: many producers, many consumers, no locks.
 * It carries slot indexes; its capacity is exact, 2 x pool [i4.full-refuses].
 */
#ifndef GST_QUEUE_H
#define GST_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "sync.h"

/*
 * Position p lives in cell p mod capacity. turn == p: free for the producer
 * of p; turn == p + 1: holds the value of p, for its consumer.
 */
struct gst__queue_cell {
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t turn;
    uint32_t value;
};

struct gst__queue {
    struct gst__queue_cell *cells; /* counted memory */
    uint64_t capacity;
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t tail; /* producers */
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t head; /* consumers */
};

/* capacity >= 2. False: no memory. */
bool gst__queue_init(struct gst__queue *queue, uint32_t capacity);
void gst__queue_destroy(struct gst__queue *queue);

/* False: full. A push is a SEQ store: see park.h. */
bool gst__queue_push(struct gst__queue *queue, uint32_t value);

/* False: empty, or the oldest push has not returned yet. */
bool gst__queue_pop(struct gst__queue *queue, uint32_t *value);

/* True if a pop would have succeeded at one moment of the call. SEQ loads. */
bool gst__queue_ready(struct gst__queue *queue);

#endif
