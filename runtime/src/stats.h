/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * stats.h - the counting allocator. All memory that the runtime holds or
 * hands out comes from here; thread stacks, the log ring, which is static, and
 * the widened bucket arrays of buffer tables do not. Any thread; no locks of
 * its own.
 */
#ifndef GST_STATS_H
#define GST_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "sync.h"

/* Counters that stop at 0 and at UINT64_MAX. Exposed for unit tests. */
struct gst__counters {
    _Atomic uint64_t live;
    _Atomic uint64_t peak;
    _Atomic uint64_t count;
};
void gst__counters_add(struct gst__counters *counters, uint64_t bytes);
void gst__counters_sub(struct gst__counters *counters, uint64_t bytes);
/* Reads so that live <= peak holds and peak never falls. Never blocks. */
void gst__counters_read(struct gst__counters *counters, AllocStats *out);

/* Memory of size bytes, 16-byte aligned, content undefined. NULL: no memory. */
void *gst__alloc(size_t size);

/*
 * Zeroed memory with an alignment that is a power of two, 16 at least. Large
 * blocks are zero pages that cost nothing before they are touched.
 */
void *gst__alloc_zeroed(size_t size, size_t alignment);

/* malloc's rules; the content moves. */
void *gst__realloc(void *memory, size_t size);

/* Gives back what the functions above returned. NULL: no-op. */
void gst__free(void *memory);

/* The counters of the process. */
void gst__stats_read(AllocStats *out);

#endif
