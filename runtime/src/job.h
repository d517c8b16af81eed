/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * job.h - job slots and tickets.
 *
 * A ticket is generation << GST_INDEX_BITS | index of the slot. Generations
 * come from process-wide sequences, one per stripe, stripe = index mod
 * GST_STRIPES, so a ticket never repeats across handles [i4.tickets].
 *
 * A slot's state word is generation << GST_PHASE_BITS | phase. Who may touch
 * the rest of the slot:
 *   FREE    the free list, then the submitter that popped it
 *   QUEUED  the worker that popped its index from the queue, until it ends
 *   DONE    the taker whose compare-and-swap made it TAKING
 *   INLINE  the worker: delivered by value, no longer takeable
 */
#ifndef GST_JOB_H
#define GST_JOB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "export.h"
#include "status.h"
#include "sync.h"

#define GST_INDEX_BITS 20
#define GST_MAX_SLOTS (UINT32_C(1) << GST_INDEX_BITS) /* of one handle */
#define GST_GENERATION_MAX ((UINT64_C(1) << (63 - GST_INDEX_BITS)) - 1)
#define GST_STRIPES 64
#define GST_GENERATION_BLOCK 64 /* drawn at once by a slot */
#define GST_SEGMENTS 21
#define GST_SLOT_INPUT 320 /* bytes of input that live in the slot */

#define GST_PHASE_BITS 3
enum gst__phase {
    GST_FREE = 0,
    GST_QUEUED = 1, /* or running */
    GST_DONE = 2,
    GST_TAKING = 3,
    GST_INLINE = 4
};

/* Where a job's input is. */
enum gst__input {
    GST_INPUT_SLOT,  /* input */
    GST_INPUT_HEAP,  /* heap: too large for the slot */
    GST_INPUT_BUFFER /* buffer */
};

/* How a job ended; moved from the worker to the slot to the taker. */
struct gst__result {
    int32_t code; /* FFI_OK, FFI_ERR, FFI_PANIC */
    struct gst__text text;
    struct gst__place place;
    struct gst__buffer *buffer; /* the bytes; NULL: empty or failed */
};

struct gst__slot {
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t state;
    _Atomic uint64_t cancelled; /* highest generation that was cancelled */
    _Atomic uint32_t next_free; /* index + 1, 0: none */
    uint32_t index;
    uint64_t generation_next; /* of the block drawn; submitter only */
    uint64_t generation_end;
    uint64_t deadline;     /* absolute, GST_FOREVER: none */
    uint64_t epoch;        /* lifecycle's, at submit */
    uint64_t cancel_epoch; /* handle's, at submit */
    /* A short job ends here: two cache lines go to the worker. */
    CallHeader header;
    uint32_t input_len; /* of the slot's or heap's input */
    uint32_t place;     /* enum gst__input */
    uint8_t input[GST_SLOT_INPUT];
    struct gst__buffer *buffer;
    uint8_t *heap;
    struct gst__result result;
};

_Static_assert(sizeof(struct gst__slot) == 512, "a slot is 8 cache lines");

struct gst__jobs {
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t free_head; /* tag, index + 1 */
    _Alignas(GST_CACHE_LINE) _Atomic(struct gst__slot *) segment[GST_SEGMENTS];
    uint32_t base;          /* slots of segment 0, a power of two */
    _Atomic uint32_t count; /* slots made, all segments */
    pthread_mutex_t grow;
};

/* On zeroed memory: makes at least `slots` slots. False: no memory. */
bool gst__jobs_init(struct gst__jobs *jobs, uint32_t slots);
/* Frees results that nobody took. No worker and no call is left. */
void gst__jobs_destroy(struct gst__jobs *jobs);

/* Why gst__jobs_get returned NULL. */
enum gst__jobs_error {
    GST_JOBS_OK,
    GST_JOBS_NO_MEMORY,
    GST_JOBS_TOO_MANY,  /* GST_MAX_SLOTS are in use */
    GST_JOBS_NO_TICKETS /* generations are used up */
};

/*
 * A free slot with a new generation; *ticket is its ticket. The slot's state
 * is FREE until gst__jobs_queue. Lock-free unless it must grow.
 */
struct gst__slot *gst__jobs_get(struct gst__jobs *jobs, uint64_t *ticket,
                                enum gst__jobs_error *why);
/* The slot may be cancelled and run from now on. */
void gst__jobs_queue(struct gst__slot *slot, uint64_t ticket);
/* Gives a slot back; its state becomes FREE. */
void gst__jobs_put(struct gst__jobs *jobs, struct gst__slot *slot);

/* The slot of an index, which must exist. */
struct gst__slot *gst__jobs_slot(struct gst__jobs *jobs, uint32_t index);

/* The ticket of the job that the slot holds now. */
uint64_t gst__slot_ticket(struct gst__slot *slot);

/* The worker's end of the job: DONE (result stored before) or INLINE. */
void gst__slot_done(struct gst__slot *slot);
void gst__slot_inline(struct gst__slot *slot);

/* Asks that job to stop; no-op if the ticket is not queued or running. */
void gst__jobs_cancel(struct gst__jobs *jobs, uint64_t ticket);
/* True if this job was cancelled by its ticket. */
bool gst__slot_cancelled(struct gst__slot *slot);

/*
 * Moves a finished job's result out and frees its slot. False: the ticket is
 * unknown, running, taken or was delivered inline.
 */
bool gst__jobs_take(struct gst__jobs *jobs, uint64_t ticket,
                    struct gst__result *result);

/* Frees what a result owns. */
void gst__result_drop(struct gst__result *result);

/* For unit tests: the next generation of a stripe. */
void gst__generation_set(uint32_t stripe, uint64_t next);

#endif
