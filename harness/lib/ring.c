/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The reader's accesses of i4.ring-record and i4.ring-wake, and no other. */
#include <string.h>

#include "internal.h"
#include "record.h"

static uint64_t *
sequence_word(const struct conform_ring *ring, uint64_t position)
{
    uint64_t slot = position & (ring->capacity - 1);
    return (uint64_t *)(void *)(ring->slots + slot * GUSSET_RING_SLOT_BYTES);
}

static uint32_t *
waiting_word(const struct conform_ring *ring)
{
    return (uint32_t *)(void *)(ring->shared + GUSSET_RING_OFF_WAITING);
}

uint64_t
ring_sequence(const struct conform_ring *ring, uint64_t position)
{
    /* Pairs with the writer's release store of position + 1. */
    return __atomic_load_n(sequence_word(ring, position), __ATOMIC_ACQUIRE);
}

bool
ring_read(struct conform_ring *ring, struct completion *completion)
{
    uint64_t position = ring->position;
    if (ring_sequence(ring, position) != position + 1) {
        return false;
    }
    uint64_t *sequence = sequence_word(ring, position);
    uint64_t words[GUSSET_INLINE_RECORD_MAX / 8];
    memcpy(words, (uint8_t *)sequence + GUSSET_RING_SLOT_OFF_RECORD,
           sizeof words);
    /* Pairs with the writer's acquire load: the copy is made before. */
    __atomic_store_n(sequence, position + ring->capacity, __ATOMIC_RELEASE);
    ring->position = position + 1;
    record_decode(words, completion);
    completion->from_ring = true;
    return true;
}

bool
ring_announce(struct conform_ring *ring)
{
    ring->announced++;
    __atomic_store_n(waiting_word(ring), 1, __ATOMIC_SEQ_CST);
    uint64_t sequence =
        __atomic_load_n(sequence_word(ring, ring->position), __ATOMIC_SEQ_CST);
    return sequence != ring->position + 1;
}

uint32_t
ring_retract(struct conform_ring *ring)
{
    return __atomic_exchange_n(waiting_word(ring), 0, __ATOMIC_SEQ_CST);
}

uint64_t
ring_overflow(const struct conform_ring *ring)
{
    /* Pairs with the writer's increment after its write to the pipe. */
    return __atomic_load_n(
        (uint64_t *)(void *)(ring->shared + GUSSET_RING_OFF_OVERFLOW),
        __ATOMIC_ACQUIRE);
}
