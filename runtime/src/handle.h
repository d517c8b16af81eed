/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * handle.h - an open handle: its parts, and how it opens and closes.
 */
#ifndef GST_HANDLE_H
#define GST_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "export.h"
#include "job.h"
#include "park.h"
#include "pool.h"
#include "queue.h"
#include "ring.h"

/* Why a submit must look twice. 0 on a healthy handle. */
#define GST_GATE_POISONED 1u    /* a panic was caught; for ever */
#define GST_GATE_READER_GONE 2u /* the pipe's read end is closed; for ever */
#define GST_GATE_CLOSING 4u     /* handle_close has begun */
#define GST_GATE_DEAD 8u        /* a worker died and was not replaced yet */

struct GussetHandle {
    _Alignas(GST_CACHE_LINE) _Atomic uint32_t gate; /* read mostly */
    int fd;
    bool pipe_inline;    /* the pipe holds pool x GUSSET_INLINE_RECORD_MAX */
    uint32_t fork_count; /* of gst__forks, at open */
    _Atomic(struct GussetRing *) ring;
    _Atomic uint64_t cancel_epoch; /* cancel_all and close add one */
    struct gst__jobs jobs;
    struct gst__queue queue;
    struct gst__park park;
    struct gst__pool pool;
    struct gst__buffer_table buffers;
    struct GussetHandle *next; /* registry, see lifecycle.h */
    struct GussetHandle *previous;
    /* In flight = accepted - finished; each has one side that writes it. */
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t accepted;
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t finished;
};

/* The close join budget, 30 s; unit tests shorten it. */
#define GST_CLOSE_BUDGET_NS UINT64_C(30000000000)
extern _Atomic uint64_t gst__close_budget_ns;

/* Bodies of the exports, arguments checked for NULL. */
int32_t gst__handle_open(uint32_t pool_size, int32_t fd,
                         GussetHandle **out_handle, FfiStatus *status);
int32_t gst__handle_close(GussetHandle *handle, FfiStatus *status);
int32_t gst__handle_ring(GussetHandle *handle, const GussetRing **out_ring,
                         const uint8_t **out_shared, const uint8_t **out_slots,
                         uint64_t *out_capacity, FfiStatus *status);
int32_t gst__handle_submit(GussetHandle *handle, const CallHeader *header,
                           const uint8_t *input, size_t len, uint64_t buffer_id,
                           uint64_t *out_ticket, FfiStatus *status);

/* Frees everything and closes the descriptor; no thread uses the handle. */
void gst__handle_destroy(struct GussetHandle *handle);

#endif
