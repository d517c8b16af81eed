/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Writers share a head that the host cannot reach. A position is
 * taken only after its slot was seen free, so a writer never waits for a slot
 * and an overflow leaves no gap. Capacity and addresses are kept outside the
 * shared memory; a reader that writes nonsense can make a slot look free too
 * early or never, which costs its own records.
 *
 * The park handshake [i4.ring-wake] is Dekker's: writer (A) stores sequence,
 * (B) loads waiting; reader (C) stores waiting, (D) loads sequence.
 */
#include "ring.h"

#include <string.h>

#include "stats.h"

#define SLOT_ALIGNMENT 128

_Static_assert(GST_RING_HEADER_BYTES % SLOT_ALIGNMENT == 0, "slots aligned");

static _Atomic uint64_t *
word64(uint8_t *base, size_t offset)
{
    return (_Atomic uint64_t *)(void *)(base + offset);
}

static _Atomic uint32_t *
word32(uint8_t *base, size_t offset)
{
    return (_Atomic uint32_t *)(void *)(base + offset);
}

uint64_t
gst__ring_capacity(uint32_t pool)
{
    uint64_t capacity = 2;

    while (capacity < pool)
        capacity *= 2;
    return capacity;
}

static uint8_t *
slot_at(const struct GussetRing *ring, uint64_t position)
{
    return ring->slots +
           (position & (ring->capacity - 1)) * GUSSET_RING_SLOT_BYTES;
}

struct GussetRing *
gst__ring_new(uint64_t capacity)
{
    struct GussetRing *ring = gst__alloc_zeroed(sizeof *ring, GST_CACHE_LINE);
    uint64_t i;

    if (ring == NULL)
        return NULL;
    ring->shared = gst__alloc_zeroed(GST_RING_HEADER_BYTES +
                                         capacity * GUSSET_RING_SLOT_BYTES,
                                     SLOT_ALIGNMENT);
    if (ring->shared == NULL) {
        gst__free(ring);
        return NULL;
    }
    ring->slots = ring->shared + GST_RING_HEADER_BYTES;
    ring->capacity = capacity;
    GST_STORE_RELAXED(&ring->holders, 2);
    GST_STORE_RELAXED(word64(ring->shared, GUSSET_RING_OFF_CAPACITY), capacity);
    GST_STORE_RELAXED(word64(ring->shared, GUSSET_RING_OFF_SLOT_BYTES),
                      (uint64_t)GUSSET_RING_SLOT_BYTES);
    /* Equivalent [constant `i = 0`]: zeroed memory holds sequence 0. */
    for (i = 0; i < capacity; i++)
        GST_STORE_RELAXED(word64(slot_at(ring, i), 0), i);
    return ring;
}

void
gst__ring_drop(struct GussetRing *ring)
{
    /* Partner: itself; the last holder frees what the others have used. */
    if (GST_SUB_ACQ_REL(&ring->holders, 1) != 1)
        return;
    gst__free(ring->shared);
    gst__free(ring);
}

/* False: the slot of the next position is not free. */
static bool
claim(struct GussetRing *ring, uint64_t *position)
{
    /* Relaxed: the head hands out positions; the slot's sequence orders. */
    uint64_t head = GST_LOAD_RELAXED(&ring->head);

    for (;;) {
        /* Partner: the reader's release of the slot (position + capacity). */
        uint64_t sequence = GST_LOAD_ACQUIRE(word64(slot_at(ring, head), 0));
        uint64_t now;

        if (sequence == head) {
            if (GST_CAS_RELAXED(&ring->head, &head, head + 1)) {
                *position = head;
                return true;
            }
            continue;
        }
        now = GST_LOAD_RELAXED(&ring->head);
        if (now == head)
            return false;
        head = now;
    }
}

bool
gst__ring_publish(struct GussetRing *ring, const uint64_t *record,
                  unsigned words, bool *token)
{
    _Atomic uint32_t *waiting = word32(ring->shared, GUSSET_RING_OFF_WAITING);
    uint64_t position;
    uint8_t *slot;

    *token = false;
    if (!claim(ring, &position))
        return false;
    slot = slot_at(ring, position);
    memcpy(slot + GUSSET_RING_SLOT_OFF_RECORD, record,
           words * sizeof record[0]);
    /* (A). Partner: the reader's (D), and its acquire of the record. */
    GST_STORE_SEQ(word64(slot, 0), position + 1);
    /* (B). Partner: the reader's (C). */
    if (GST_LOAD_SEQ(waiting) != 0)
        /* Equivalent [order-acq_rel, order-relaxed]: of several writers one
         * gets the 1, and that is so in any order. */
        *token = GST_SWAP_SEQ(waiting, 0) != 0;
    return true;
}

void
gst__ring_prepare(struct GussetRing *ring)
{
    /* Relaxed: only a hint. */
    uint8_t *slot = slot_at(ring, GST_LOAD_RELAXED(&ring->head));

    /* Equivalent [call, constant]: a hint changes nothing but time. */
    __builtin_prefetch(slot, 1);
}

void
gst__ring_overflowed(struct GussetRing *ring)
{
    /* Partner: the reader's acquire load of overflow. */
    /* Equivalent [order-relaxed]: what it counts went through the pipe, whose
     * lock orders it before whoever reads it there. */
    GST_ADD_RELEASE(word64(ring->shared, GUSSET_RING_OFF_OVERFLOW), 1);
}
