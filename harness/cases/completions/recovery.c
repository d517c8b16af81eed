/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a full ring must not leave behind: once the reader has freed slots, a
 * record whose slot is free goes into the ring again, the first one included.
 */

#include "raw.h"

struct filled {
    struct host *host;
    struct conform_ring *ring;
    uint64_t head; /* the position of the next record in the ring */
    uint32_t flags;
};

static const uint8_t echo[3] = {MODE_ECHO, 0x4f, 0x56};

static void
submit_echo(struct filled *filled)
{
    CallHeader header = job_header(DIAGNOSTIC | filled->flags, 0);
    (void)host_submit_patiently(filled->host, &header, echo, sizeof echo);
}

/* Submits `count` at once; all of them must come by the ring. */
static void
expect_in_the_ring(struct filled *filled, uint64_t count, const char *what)
{
    int fd = host_read_fd(filled->host);
    uint64_t overflow = ring_overflow(filled->ring);
    for (uint64_t i = 0; i < count; i++)
        submit_echo(filled);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t position = filled->head + i;
        while (ring_sequence(filled->ring, position) != position + 1) {
            expect_u64(0, pipe_pending(fd),
                       "bytes in the pipe, while the slot of position %llu is "
                       "free and holds no record, %s",
                       (unsigned long long)position, what);
            expect(conform_now_ns() < give_up,
                   "a record at position %llu of the ring, %s",
                   (unsigned long long)position, what);
            sched_yield();
        }
    }
    expect_u64(overflow, ring_overflow(filled->ring),
               "`overflow` after %llu records for as many free slots, %s",
               (unsigned long long)count, what);
    filled->head += count;
}

/* The ring is full: these go through the pipe. */
static void
expect_overflow(struct filled *filled, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct completion done;
        submit_echo(filled);
        expect_i64(1, pipe_read_record(host_read_fd(filled->host), &done),
                   "a completion in the pipe, the ring being full");
        host_book(filled->host, &done);
    }
    /* The counter follows the write. */
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (ring_overflow(filled->ring) == filled->ring->overflow_seen) {
        expect(conform_now_ns() < give_up, "`overflow` moves");
        sched_yield();
    }
}

static void
free_slots(struct filled *filled, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct completion done;
        expect(ring_read(filled->ring, &done), "a record to read");
        host_book(filled->host, &done);
    }
}

/* All units have left: what an overflow counts is counted. */
static void
settle(struct filled *filled)
{
    expect_code(FFI_OK, api.shutdown(5000), "shutdown, all being delivered");
    expect_code(FFI_OK, api.init(), "gusset_init");
    filled->ring->overflow_seen = ring_overflow(filled->ring);
}

/* Full, `times` overflows, `count` slots freed, as many records. */
static void
recover(struct filled *filled, uint32_t times, uint64_t count)
{
    struct conform_ring *ring = filled->ring;
    uint64_t standing = filled->head - ring->position;
    expect_in_the_ring(filled, ring->capacity - standing,
                       "the ring being filled");
    settle(filled);
    expect_overflow(filled, times);
    settle(filled);
    free_slots(filled, count);
    expect_in_the_ring(filled, count, "slots freed after an overflow");
}

static void
recover_with_pool(uint32_t pool)
{
    struct filled filled = {.host = host_open_with(pool, CONFORM_RING)};
    uint64_t capacity = 0;
    filled.ring = host_ring(filled.host);
    capacity = filled.ring->capacity;
    conform_evidence("capacity", "%llu for a pool of %u",
                     (unsigned long long)capacity, pool);
    for (uint32_t round = 0; round < 2 * capacity + 3; round++) {
        /* The head stands at another slot each time. */
        uint64_t step = 1 + conform_random(capacity);
        filled.flags = round % 2 ? INLINE : 0;
        recover(&filled, 1 + round % 3, round % 2 ? capacity : step);
        free_slots(&filled, filled.head - filled.ring->position);
        expect_in_the_ring(&filled, 1 + conform_random(capacity),
                           "the ring being empty");
        free_slots(&filled, filled.head - filled.ring->position);
    }
    host_close(filled.host);
}

CONFORM_CASE(recovery, .id = "i4.ring-overflow.ends-when-slots-are-free",
             .clauses = "i4.ring-overflow i4.ring-quiet i4.ring-attach",
             .why = "a ring that stays out of use for a while after it was "
                    "full: a reader that trusts it does not look into the "
                    "pipe",
             .steps = "Pools of 1 to 5: fill the ring, let one to three "
                      "records overflow and read them, free some or all "
                      "slots, then as many jobs; from heads all over the "
                      "ring, bare and inline.",
             .expected = "Each record finds its free slot; nothing in the "
                         "pipe, and `overflow` stands still.",
             .mutant = "ring-left-alone-after-overflow")
{
    for (uint32_t pool = 1; pool <= 5; pool++)
        recover_with_pool(pool);
}
