/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * buffer.h - buffers of one handle: ids, holders, and the rules for outputs
 * [i1.buf-*, i1.output-*]. Each function takes the table's lock itself.
 *
 * A buffer lives while it is in the table, or a job reads it, or it is a
 * result that was never in the table.
 */
#ifndef GST_BUFFER_H
#define GST_BUFFER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

struct gst__buffer {
    struct gst__buffer *next; /* in the bucket */
    uint8_t *bytes;           /* 64-byte aligned */
    size_t len;
    uint64_t id;
    uint32_t readers; /* jobs that have it as input */
    bool listed;      /* in the table */
    bool host_held;   /* the host has its pointer */
    bool claimed;     /* a job's output */
};

#define GST_BUFFER_BUCKETS 64 /* at open; doubles, best effort */

struct gst__buffer_table {
    pthread_mutex_t lock;
    struct gst__buffer **buckets; /* first, or counted memory */
    size_t bucket_count;
    size_t count;
    struct gst__buffer *first[GST_BUFFER_BUCKETS];
};

void gst__buffers_init(struct gst__buffer_table *table);
/* Frees every listed buffer. No job reads any of them any more. */
void gst__buffers_destroy(struct gst__buffer_table *table);

/* Why gst__buffer_new returned NULL. */
enum gst__buffer_error { GST_BUFFER_NO_MEMORY, GST_BUFFER_NO_IDS };

/*
 * A buffer of len zero bytes (1..2^30) with an id of its own, in no table.
 * The caller owns it until gst__buffer_list or gst__buffer_drop.
 */
struct gst__buffer *gst__buffer_new(size_t len, enum gst__buffer_error *why);
void gst__buffer_drop(struct gst__buffer *buffer);

/* Puts the buffer into the table; the table owns it. Cannot fail. */
void gst__buffer_list(struct gst__buffer_table *table,
                      struct gst__buffer *buffer, bool host_held);

/* The host gives up its hold: true if id was one that it held. */
bool gst__buffer_release(struct gst__buffer_table *table, uint64_t id);

/* A job begins to read id; NULL: no such buffer. */
struct gst__buffer *gst__buffer_read(struct gst__buffer_table *table,
                                     uint64_t id);
/* It has ended; the memory goes if it was the last holder. */
void gst__buffer_read_end(struct gst__buffer_table *table,
                          struct gst__buffer *buffer);

/*
 * Judges id as the output of a job whose input was input_id (0: inline).
 * Claims and returns the buffer, or returns NULL with the reason in *refusal.
 */
struct gst__buffer *gst__buffer_claim(struct gst__buffer_table *table,
                                      uint64_t id, uint64_t input_id,
                                      struct gst__text *refusal);

/*
 * A result moves to the host: the buffer, listed or not, becomes listed and
 * held. Cannot fail.
 */
void gst__buffer_hand_over(struct gst__buffer_table *table,
                           struct gst__buffer *buffer);

/* For unit tests: the id that is given out next. */
void gst__buffer_ids_set(uint64_t next);

#endif
