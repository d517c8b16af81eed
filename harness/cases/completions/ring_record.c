/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the ring's slots: position by position, and what overflows. */

#include "raw.h"

#include <sched.h>

static const uint8_t *
slot_at(const struct conform_ring *ring, uint64_t position)
{
    return ring->slots + position % ring->capacity * GUSSET_RING_SLOT_BYTES;
}

static void
await_published(const struct conform_ring *ring, uint64_t position)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    uint64_t sequence;
    while ((sequence = ring_sequence(ring, position)) != position + 1) {
        expect_u64(position, sequence,
                   "the sequence word of position %llu "
                   "before its record",
                   (unsigned long long)position);
        expect(conform_now_ns() < give_up, "a record at position %llu",
               (unsigned long long)position);
        sched_yield();
    }
}

/* The record of position p, word by word, against its job. */
static void
expect_slot(const struct conform_ring *ring, uint64_t position, uint64_t ticket,
            const uint8_t *input, size_t len)
{
    uint64_t words[8];
    memcpy(words, slot_at(ring, position) + GUSSET_RING_SLOT_OFF_RECORD,
           sizeof words);
    if (words[0] == ticket)
        return;
    expect_u64(ticket | GUSSET_INLINE_RECORD_FLAG, words[0],
               "word 0 of the record at position %llu",
               (unsigned long long)position);
    expect_u64(len, words[1], "the length in the slot");
    uint8_t padded[GUSSET_INLINE_RESULT_MAX] = {0};
    memcpy(padded, input, len);
    size_t rounded = (len + 7) / 8 * 8;
    expect_bytes(padded, rounded, words + 2, rounded,
                 "the bytes in the slot and their padding");
}

CONFORM_CASE(ring_positions, .id = "i4.ring-record.position-by-position",
             .clauses = "i4.ring-record i4.ring-quiet",
             .why = "a slot taken out of order, a sequence word that does not "
                    "follow the position, a record that is not the pipe's",
             .steps = "One worker, 60 echoes of 0 to 59 bytes one at a time, "
                      "many times round the ring; words read by hand.",
             .expected = "Before: p. Published: p + 1 with the record in "
                         "slot p mod capacity. Freed: p + capacity. Nothing "
                         "in the pipe.",
             .mutant = "ring-last-word-lost token-storm")
{
    struct host *host = host_open_with(1, CONFORM_RING);
    struct conform_ring *ring = host_ring(host);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (uint64_t p = 0; p < 60; p++) {
        size_t len = (size_t)p;
        uint8_t *input = conform_pattern(len + 1, MODE_ECHO, p);
        expect_u64(p, ring_sequence(ring, p), "the word of a free slot");
        uint64_t ticket = raw_submit(host_handle(host), &header, input, len);
        await_published(ring, p);
        if (len <= GUSSET_INLINE_RESULT_MAX)
            expect_slot(ring, p, ticket, input, len);
        struct completion done;
        expect(ring_read(ring, &done), "the record of position %llu",
               (unsigned long long)p);
        expect_u64(ticket, done.ticket, "its ticket");
        struct outcome outcome = host_outcome(host, &done);
        expect_success_is(&outcome, input, len, "its result");
        expect_u64(p + ring->capacity, ring_sequence(ring, p),
                   "the word of the freed slot");
    }
    expect_u64(0, pipe_pending(host_read_fd(host)), "bytes in the pipe");
    expect_u64(0, ring_overflow(ring), "overflow");
    host_close(host);
}

/* Fills the ring; returns once the last slot is published. */
static void
fill_ring(struct host *host, const uint8_t *input, size_t len)
{
    struct conform_ring *ring = host_ring(host);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (uint64_t i = 0; i < ring->capacity; i++) {
        (void)host_submit_patiently(host, &header, input, len);
        await_published(ring, ring->position + i);
    }
}

CONFORM_CASE(ring_no_overwrite, .id = "i4.ring-record.unfreed-not-overwritten",
             .clauses = "i4.ring-record i4.ring-overflow",
             .why = "a writer that laps a slow reader and overwrites a record "
                    "that was never read",
             .steps = "Fill the ring unread; three more jobs; compare every "
                      "byte of the slots; read all.",
             .expected = "The three come through the pipe, overflow is 3, no "
                         "slot changed, everything is read once.",
             .mutant = "ring-overwrites")
{
    static const uint8_t input[5] = {MODE_ECHO, 1, 2, 3, 4};
    static uint8_t before[64 * GUSSET_RING_SLOT_BYTES];
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    struct host *host = host_open_with(2, CONFORM_RING);
    struct conform_ring *ring = host_ring(host);
    size_t bytes = (size_t)ring->capacity * GUSSET_RING_SLOT_BYTES;
    if (bytes > sizeof before)
        conform_skip("the ring of a pool of 2 has %llu slots",
                     (unsigned long long)ring->capacity);
    for (int round = 0; round < 10; round++) {
        fill_ring(host, input, sizeof input);
        memcpy(before, ring->slots, bytes);
        uint64_t overflow = ring_overflow(ring);
        for (int i = 0; i < 3; i++)
            (void)host_submit_patiently(host, &header, input, sizeof input);
        uint32_t from_pipe = 0;
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        while (ring_overflow(ring) != overflow + 3)
            expect(conform_now_ns() < give_up, "overflow rises by 3, to %llu",
                   (unsigned long long)overflow + 3);
        expect_bytes(before, bytes, ring->slots, bytes, "the unread slots");
        for (uint64_t i = 0; i < ring->capacity + 3; i++)
            from_pipe += !host_next(host).from_ring;
        expect_u64(3, from_pipe, "completions that came through the pipe");
    }
    host_close(host);
}

CONFORM_CASE(ring_poll_only, .id = "i4.ring-record.polled-content",
             .clauses = "i4.ring-record i4.ring-quiet",
             .why = "a publish without release: the reader sees the sequence "
                    "word before the record. Nothing but the ring "
                    "synchronises here, so a race detector can see it",
             .steps = "Four workers, one record per free slot in flight, "
                      "20 000 inline echoes of 48 bytes whose halves are "
                      "each other's complement; the reader only polls.",
             .expected = "No record is torn or stale; the pipe stays empty.",
             .mutant = "double-completion", .timeout_ms = 60000)
{
    struct host *host = host_open_with(4, CONFORM_RING);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    uint32_t records = conform_rounds(20000, 1000000), inlined = 0;
    uint64_t submitted = 0;
    for (uint64_t read = 0; read < records; read++) {
        while (submitted < records && submitted - read < 4) {
            uint8_t input[48] = {MODE_ECHO};
            for (size_t at = 8; at < 24; at += 8) {
                put_u64le(input + at, submitted * 0x9e3779b97f4a7c15 + at);
                put_u64le(input + at + 16,
                          ~(submitted * 0x9e3779b97f4a7c15 + at));
            }
            (void)host_submit_patiently(host, &header, input, sizeof input);
            submitted++;
        }
        struct completion done;
        uint64_t give_up = 0;
        for (uint32_t spins = 1; !host_poll(host, &done); spins++) {
            if (spins % 1024 == 0)
                sched_yield();
            if (give_up == 0)
                give_up = conform_now_ns() + conform_patience_ns();
            if (spins % 65536 == 0)
                expect(conform_now_ns() < give_up, "record %llu",
                       (unsigned long long)read);
        }
        struct outcome outcome = host_outcome(host, &done);
        inlined += done.inlined;
        expect_u64(48, outcome.len, "bytes of record %llu",
                   (unsigned long long)read);
        for (size_t at = 8; at < 24; at += 8)
            expect_u64(~get_u64le(outcome.bytes + at),
                       get_u64le(outcome.bytes + at + 16),
                       "the complement at byte %zu of record %llu", at + 16,
                       (unsigned long long)read);
    }
    expect_u64(0, pipe_pending(host_read_fd(host)), "bytes in the pipe");
    conform_evidence("inline", "%u of %u", inlined, records);
    host_close(host);
}

CONFORM_CASE(ring_quiet, .id = "i4.ring-quiet.no-byte-in-the-pipe",
             .clauses = "i4.ring-quiet",
             .why = "a doorbell nobody asked for: a system call per job, and "
                    "a pipe that fills while nobody reads it",
             .steps = "Pools of 1, 2 and 4: batches of exactly capacity jobs "
                      "(inline, bare, failing), each read and freed before "
                      "the next; waiting is never set.",
             .expected = "Not one byte in the pipe, overflow 0.",
             .mutant = "token-for-each-record token-storm")
{
    static const uint8_t input[3] = {MODE_ECHO, 1, 2};
    for (uint32_t pool = 1; pool <= 4; pool *= 2) {
        struct host *host = host_open_with(pool, CONFORM_RING);
        struct conform_ring *ring = host_ring(host);
        for (uint32_t batch = 0; batch < 100; batch++) {
            for (uint64_t i = 0; i < ring->capacity; i++) {
                CallHeader header = job_header((uint32_t)(batch + i) % 4, 0);
                (void)host_submit_patiently(host, &header, input, 3);
            }
            uint64_t give_up = conform_now_ns() + conform_patience_ns();
            for (uint64_t i = 0; i < ring->capacity;) {
                struct completion done;
                if (host_poll(host, &done)) {
                    expect(done.from_ring, "a job that found a free slot");
                    i++;
                    continue;
                }
                expect(conform_now_ns() < give_up, "batch %u ends", batch);
                sched_yield();
            }
        }
        /* Nothing in flight: every token that was owed is in the pipe. */
        expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
        expect_code(FFI_OK, api.init(), "gusset_init");
        expect_u64(0, pipe_pending(host_read_fd(host)),
                   "bytes in the pipe, pool %u", pool);
        expect_u64(0, ring_overflow(ring), "overflow, pool %u", pool);
        host_close(host);
    }
}

CONFORM_CASE(
    overflow_counts, .id = "i4.ring-overflow.equals-pipe-completions",
    .clauses = "i4.ring-overflow i4.exactly-once",
    .why = "a counter that is not the number of records in the pipe: "
           "the reader stops looking too early, or looks for ever",
    .steps = "Pools of 1 and 4: at least 400 jobs, the reader taking bursts "
             "of random length; at rest the counter is compared.",
    .expected = "overflow = completions read from the pipe; some "
                "overflowed, some did not; each ticket once.",
    .mutant = "overflow-not-counted")
{
    static const uint8_t input[4] = {MODE_ECHO, 5, 6, 7};
    for (uint32_t pool = 1; pool <= 4; pool += 3) {
        struct host *host = host_open_with(pool, CONFORM_RING);
        struct conform_ring *ring = host_ring(host);
        uint64_t from_pipe = 0, read = 0;
        uint64_t jobs = 8 * ring->capacity > 400 ? 8 * ring->capacity : 400;
        for (uint64_t i = 0; i < jobs; i++) {
            CallHeader header =
                job_header(i % 3 ? DIAGNOSTIC | INLINE : DIAGNOSTIC, 0);
            (void)host_submit_patiently(host, &header, input, sizeof input);
            uint64_t burst =
                conform_random(4 * ring->capacity) == 0 ? i + 1 - read : 0;
            for (; burst > 0; burst--, read++)
                from_pipe += !host_next(host).from_ring;
        }
        for (; read < jobs; read++)
            from_pipe += !host_next(host).from_ring;
        expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
        expect_code(FFI_OK, api.init(), "gusset_init");
        expect_u64(from_pipe, ring_overflow(ring),
                   "overflow, against completions read from the pipe");
        expect_u64_at_least(1, from_pipe, "completions that overflowed");
        expect_u64_at_most(jobs - 1, from_pipe, "completions that did");
        conform_evidence("overflowed", "pool %u: %llu of %llu", pool,
                         (unsigned long long)from_pipe,
                         (unsigned long long)jobs);
        host_close(host);
    }
}

static bool
log_was_written(void *argument)
{
    return strstr(conform_drain_log(), argument) != NULL;
}

/* A full ring and a full pipe, and a job that ended and can go nowhere. */
static struct host *
stall_overflow(size_t *filled)
{
    static const uint8_t input[2] = {MODE_ECHO, 1};
    static const uint8_t logging[2] = {MODE_LOG, 1};
    struct host *host = host_open_with(1, CONFORM_RING);
    fill_ring(host, input, sizeof input);
    *filled = pipe_fill(host_write_fd(host));
    (void)conform_drain_log();
    (void)host_submit(host, DIAGNOSTIC, logging, sizeof logging);
    expect(conform_eventually(log_was_written, "worker log event 0"),
           "the job behind a full ring runs");
    uint64_t until = conform_now_ns() + 50 * MS;
    while (conform_now_ns() < until) {
        expect_u64(0, ring_overflow(host_ring(host)),
                   "overflow while the record still waits for room");
        job_pause_us(1000);
    }
    return host;
}

CONFORM_CASE(overflow_after_write, .id = "i4.ring-overflow.counted-after-write",
             .clauses = "i4.ring-overflow i4.stalled-reader",
             .why = "a record counted before it is in the pipe: the reader "
                    "spins for something that may never come",
             .steps = "Ring and pipe full, one more job ends; the counter is "
                      "watched for 50 ms; then the pipe is read.",
             .expected = "0 while the record waits, 1 after it was written.",
             .mutant = "overflow-counted-before-write", .tags = CONFORM_SLEEPS)
{
    size_t filled;
    struct host *host = stall_overflow(&filled);
    pipe_unfill(host_read_fd(host), filled);
    uint64_t from_pipe = 0, all = host_ring(host)->capacity + 1;
    for (uint64_t i = 0; i < all; i++)
        from_pipe += !host_next(host).from_ring;
    expect_u64(1, from_pipe, "completions read from the pipe");
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect_u64(1, ring_overflow(host_ring(host)), "overflow at rest");
    host_close(host);
}
