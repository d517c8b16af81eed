/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ring.h - the completion ring, writer's side [i4.ring-*]. The shared memory
 * is writable by the host: nothing in it is trusted.
 */
#ifndef GST_RING_H
#define GST_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"
#include "sync.h"

#define GST_RING_HEADER_BYTES 256 /* before the slots */
#define GST_RECORD_WORDS (GUSSET_INLINE_RECORD_MAX / 8)

struct GussetRing {
    _Alignas(GST_CACHE_LINE) _Atomic uint64_t head; /* next position */
    _Alignas(GST_CACHE_LINE) uint64_t capacity;     /* a power of two */
    uint8_t *shared;                                /* header */
    uint8_t *slots;
    _Atomic uint32_t holders; /* handle, host */
};

/* Slots of the ring of a pool: a power of two, >= max(2, pool). */
uint64_t gst__ring_capacity(uint32_t pool);

/* A ring with `holders` 2; NULL: no memory. */
struct GussetRing *gst__ring_new(uint64_t capacity);
/* One holder less; the last one frees the memory. */
void gst__ring_drop(struct GussetRing *ring);

/*
 * Publishes a record of `words` 8-byte words. False: its slot is not yet
 * freed, nothing was written. *token: the writer owes the pipe a wake token.
 */
bool gst__ring_publish(struct GussetRing *ring, const uint64_t *record,
                       unsigned words, bool *token);

/* Fetches the slot that the next record goes to, ahead of its use. */
void gst__ring_prepare(struct GussetRing *ring);

/* A record went through the pipe instead. */
void gst__ring_overflowed(struct GussetRing *ring);

#endif
