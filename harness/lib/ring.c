/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The reader's accesses of i4.ring-record and i4.ring-wake; and looks at the
 * words that are not the reader's, which change by the protocol or not at all.
 */
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "internal.h"
#include "record.h"
#include "tickets.h"

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

static void
expect_word(const char *name, uint64_t right, uint64_t word)
{
    if (word != right) {
        expect_unreachable("the ring's %s is %" PRIu64 ", it was %" PRIu64
                           " and never changes [i4.ring-attach]",
                           name, word, right);
    }
}

void
ring_check_header(const struct conform_ring *ring)
{
    uint64_t words[2];
    if (ring->shared == NULL) {
        return;
    }
    memcpy(&words[0], ring->shared + GUSSET_RING_OFF_CAPACITY, 8);
    memcpy(&words[1], ring->shared + GUSSET_RING_OFF_SLOT_BYTES, 8);
    expect_word("capacity", ring->capacity, words[0]);
    expect_word("slot_bytes", GUSSET_RING_SLOT_BYTES, words[1]);
}

/* What no step of i4.ring-record stores there, the reader being honest. */
static void
expect_free_or_published(uint64_t position, uint64_t word)
{
    if (word != position && word != position + 1) {
        expect_unreachable("the sequence word of position %" PRIu64
                           " is %" PRIu64 ", free would be %" PRIu64
                           ", published %" PRIu64 " [i4.ring-record]",
                           position, word, position, position + 1);
    }
}

void
ring_check_words(const struct conform_ring *ring)
{
    ring_check_header(ring);
    for (uint64_t i = 0; i < ring->capacity; i++) {
        uint64_t position = ring->position + i;
        /* Relaxed: this look must not order what the reader's loads should. */
        uint64_t word =
            __atomic_load_n(sequence_word(ring, position), __ATOMIC_RELAXED);
        expect_free_or_published(position, word);
    }
}

/* The header up to its last word; then all of the slots. */
#define HEADER_BYTES (GUSSET_RING_OFF_OVERFLOW + sizeof(uint64_t))
#define CANARY 0xc5

static void
expect_canary(const uint8_t *at, size_t bytes, const char *what)
{
    for (size_t i = 0; i < bytes; i++) {
        if (at[i] != CANARY) {
            expect_unreachable("byte %zu of the ring's %s was written after "
                               "handle_close had returned FFI_OK "
                               "[i4.ring-outlives-close]",
                               i, what);
        }
    }
}

void
ring_check_untouched(const struct conform_ring *ring)
{
    size_t bytes = (size_t)ring->capacity * GUSSET_RING_SLOT_BYTES;
    uint8_t *header = conform_copy(ring->shared, HEADER_BYTES);
    uint8_t *slots = conform_copy(ring->slots, bytes);
    memset(ring->shared, CANARY, HEADER_BYTES);
    memset(ring->slots, CANARY, bytes);
    /* A worker that was on its way to the ring gets the core. */
    sched_yield();
    expect_canary(ring->shared, HEADER_BYTES, "header");
    expect_canary(ring->slots, bytes, "slots");
    /* Whoever gives the memory back may look at what it is. */
    memcpy(ring->shared, header, HEADER_BYTES);
    memcpy(ring->slots, slots, bytes);
}

bool
ring_read(struct conform_ring *ring, struct completion *completion)
{
    uint64_t position = ring->position;
    uint64_t word = ring_sequence(ring, position);
    if (word != position + 1) {
        expect_free_or_published(position, word);
        return false;
    }
    ring_check_header(ring);
    uint64_t *sequence = sequence_word(ring, position);
    uint64_t words[GUSSET_INLINE_RECORD_MAX / 8];
    memcpy(words, (uint8_t *)sequence + GUSSET_RING_SLOT_OFF_RECORD,
           sizeof words);
    /* Pairs with the writer's acquire load: the copy is made before. */
    __atomic_store_n(sequence, position + ring->capacity, __ATOMIC_RELEASE);
    ring->position = position + 1;
    record_decode(words, completion);
    completion->from_ring = true;
    conform_ticket_completed(completion);
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
