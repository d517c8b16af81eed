/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * completion.h - delivers the completion of one job, by ring or pipe
 * [i4.exactly-once]. Called on the worker, holding no lock: it may wait for
 * room in the pipe for as long as the handle is open.
 */
#ifndef GST_COMPLETION_H
#define GST_COMPLETION_H

#include <stddef.h>
#include <stdint.h>

struct GussetHandle;

/* How long a completion waits for room before the log says so. */
#define GST_STALL_LOG_NS UINT64_C(10000000000)
/* How often a waiting completion looks whether the handle is closing. */
#define GST_STALL_SLICE_NS UINT64_C(50000000)

enum gst__delivery {
    GST_DELIVERED,
    GST_GIVEN_UP,  /* reader gone, or closing without room */
    GST_NEEDS_BARE /* inline only: the record does not fit the pipe */
};

/* The ticket alone; its result is DONE already. */
enum gst__delivery gst__complete_bare(struct GussetHandle *handle,
                                      uint64_t ticket);

/* Ticket and result, at most GUSSET_INLINE_RESULT_MAX bytes. */
enum gst__delivery gst__complete_inline(struct GussetHandle *handle,
                                        uint64_t ticket, const uint8_t *bytes,
                                        size_t len);

/*
 * Builds a record (bytes NULL: bare) and returns its number of words, at most
 * GST_RECORD_WORDS.
 */
unsigned gst__record_build(uint64_t *record, uint64_t ticket,
                           const uint8_t *bytes, size_t len);

#endif
