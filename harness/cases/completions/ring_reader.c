/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A reader that knows no more than i4.ring-reader tells it, and takes every
 * freedom that the rule leaves: what a library must not take away from it.
 */

#include "raw.h"

#include <poll.h>

enum { POOL = 2, JOBS = 600 };

struct letter {
    struct host *host;
    struct conform_ring *ring;
    uint64_t remembered; /* the value of `overflow` it saw last */
    uint64_t from_ring, from_pipe, parks, tokens;
};

/* Reads the pipe until it is empty; a token is skipped wherever it lies. */
static void
empty_the_pipe(struct letter *reader)
{
    int fd = host_read_fd(reader->host);
    while (pipe_pending(fd) >= 8) {
        struct completion done;
        if (pipe_read_record(fd, &done) == 2) {
            reader->tokens++;
            continue;
        }
        host_book(reader->host, &done);
        reader->from_pipe++;
    }
}

/* What stands in the ring; then, if `overflow` moved, the pipe. */
static void
look(struct letter *reader)
{
    struct completion done;
    while (ring_read(reader->ring, &done)) {
        host_book(reader->host, &done);
        reader->from_ring++;
    }
    uint64_t overflow = ring_overflow(reader->ring);
    if (overflow == reader->remembered)
        return;
    empty_the_pipe(reader);
    reader->remembered = overflow;
}

/* Announces, looks once more, and waits for the pipe to be readable. */
static void
park(struct letter *reader)
{
    struct completion done;
    reader->parks++;
    if (ring_announce(reader->ring)) {
        raw_await(host_read_fd(reader->host));
        (void)ring_retract(reader->ring);
        empty_the_pipe(reader);
    } else {
        (void)ring_retract(reader->ring);
    }
    if (ring_read(reader->ring, &done)) {
        host_book(reader->host, &done);
        reader->from_ring++;
    }
}

/* Echoes, every second one inline, up to three for each worker. */
static uint64_t
submit_burst(struct host *host)
{
    static const uint8_t echo[] = {MODE_ECHO, 8};
    uint64_t burst = 1 + conform_random(3 * POOL);
    for (uint64_t i = 0; i < burst; i++) {
        CallHeader header = job_header(DIAGNOSTIC | (i % 2 ? INLINE : 0), 0);
        (void)host_submit_patiently(host, &header, echo, sizeof echo);
    }
    return burst;
}

/* Waits for `wanted` completions by counter and ring alone. */
static void
poll_until(struct letter *reader, uint64_t wanted)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (reader->from_ring + reader->from_pipe < wanted) {
        look(reader);
        sched_yield();
        expect(conform_now_ns() < give_up,
               "%llu of %llu completions by ring and `overflow` alone: %zu "
               "bytes wait in a pipe that is not full, `overflow` is %llu as "
               "before",
               (unsigned long long)(reader->from_ring + reader->from_pipe),
               (unsigned long long)wanted,
               pipe_pending(host_read_fd(reader->host)),
               (unsigned long long)reader->remembered);
    }
}

CONFORM_CASE(counter_is_enough, .id = "i4.ring-reader.counter-is-enough",
             .clauses = "i4.ring-reader i4.ring-overflow",
             .why = "an overflow that a polling reader is not told of: it "
                    "looks into the pipe by the counter, for a system call "
                    "at each look would cost what the ring saves",
             .steps = "600 echoes, inline and bare, in bursts that overflow "
                      "the ring; a reader that polls the ring and opens the "
                      "pipe only when `overflow` has another value than it "
                      "saw last.",
             .expected = "All completions, each once, some by the pipe; no "
                         "token, for it never parks.",
             .mutant = "overflow-not-counted token-for-each-record")
{
    struct letter reader = {.host = host_open_with(POOL, CONFORM_RING)};
    reader.ring = host_ring(reader.host);
    uint64_t submitted = 0;
    while (submitted < JOBS) {
        submitted += submit_burst(reader.host);
        poll_until(&reader, submitted);
    }
    expect_u64_at_least(1, reader.from_pipe, "completions that overflowed");
    expect_u64_at_least(1, reader.from_ring, "completions in the ring");
    expect_u64(0, reader.tokens, "tokens, for no park");
    host_close(reader.host);
}

CONFORM_CASE(parks_by_the_letter, .id = "i4.ring-reader.parks-by-the-letter",
             .clauses = "i4.ring-reader i4.ring-wake",
             .why = "a library that relies on more than the rule: a second "
                    "announcement, a token that is waited for, or a look at "
                    "the ring before the pipe",
             .steps = "600 echoes in bursts that overflow the ring; a reader "
                      "that parks after each look, whether or not a token is "
                      "still on its way, and then reads the pipe before at "
                      "most one record of the ring.",
             .expected = "All completions, each once; no park outlasts "
                         "patience; no more tokens than parks.",
             .mutant = "missing-wake-token")
{
    struct letter reader = {.host = host_open_with(POOL, CONFORM_RING)};
    reader.ring = host_ring(reader.host);
    uint64_t submitted = 0;
    while (submitted < JOBS) {
        submitted += submit_burst(reader.host);
        while (reader.from_ring + reader.from_pipe < submitted)
            park(&reader);
    }
    conform_evidence("parks", "%llu", (unsigned long long)reader.parks);
    expect_u64_at_most(reader.parks, reader.tokens, "tokens, against parks");
    host_close(reader.host);
}
