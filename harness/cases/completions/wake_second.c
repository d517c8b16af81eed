/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two submits at the moment when one worker polls and the other sleeps: the
 * one that polls takes the first, and the second has to wake the sleeper.
 */

#include "raw.h"

#include <stdatomic.h>

enum { HANDLES = 8, LONG_STEPS = 255 };

struct pair {
    struct host *host;
    uint64_t longer, second;
};

/* Past the guard, whose microseconds would let the poller fall asleep. */
static uint64_t
submit_raw(struct pair *pair, const uint8_t input[2], uint32_t flags)
{
    CallHeader header = job_header(DIAGNOSTIC | flags, 0);
    uint64_t ticket = 0;
    int32_t code = api_raw.submit(host_handle(pair->host), &header, input, 2, 0,
                                  &ticket, NULL);
    expect_code(FFI_OK, code, "submit");
    return ticket;
}

/* Waits for the next record without taking it out. */
static void
await_record(const struct conform_ring *ring)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (ring_sequence(ring, ring->position) != ring->position + 1)
        expect(conform_now_ns() < give_up, "the record of an echo");
}

/* An echo leaves one worker polling; then a long job, and one behind it. */
static void
submit_pair(struct pair *pair)
{
    static const uint8_t echo[] = {MODE_ECHO, 2};
    static const uint8_t longer[] = {MODE_COOPERATIVE, LONG_STEPS};
    uint64_t spins =
        conform_random(4) == 0 ? conform_random(20000) : conform_random(800);
    uint64_t before = submit_raw(pair, echo, INLINE);
    await_record(host_ring(pair->host));
    pair->longer = submit_raw(pair, longer, 0);
    for (; spins > 0; spins--)
        atomic_signal_fence(memory_order_seq_cst);
    pair->second = submit_raw(pair, echo, INLINE);
    host_adopt(pair->host, before);
    host_adopt(pair->host, pair->longer);
    host_adopt(pair->host, pair->second);
    struct outcome outcome = job_finish(pair->host, before);
    expect_success_is(&outcome, echo, 2, "the echo before");
}

/* The second job completes although the first one's worker is taken. */
static void
expect_second_first(struct pair *pair, uint32_t round)
{
    struct completion done = host_next(pair->host);
    expect_u64(pair->second, done.ticket,
               "the ticket that completes first in round %u: the second job's, "
               "for the pool has another worker than the one that is in the "
               "long job; it waited beside it for %d ms",
               round, LONG_STEPS * 10);
    struct outcome outcome = host_outcome(pair->host, &done);
    expect_code(FFI_OK, outcome.code, "the second job");
    expect_code(FFI_OK, api.cancel(host_handle(pair->host), pair->longer, NULL),
                "cancel");
}

CONFORM_CASE(second_wakes, .id = "i4.no-lost-wakeup.second-beside-a-long-one",
             .clauses = "i4.no-lost-wakeup i4.width",
             .why = "a poller that has looked for more work and then stops "
                    "being counted as one: a submit in between wakes nobody",
             .steps = "Eight handles of two workers: an echo, then a job of "
                      "2.55 s that checks, and within a microsecond an echo; "
                      "the long job is cancelled once the echo is there. 100 "
                      "times.",
             .expected = "The echo completes first each time.",
             .mutant = "look-before-poll-end", .timeout_ms = 60000)
{
    static struct pair pairs[HANDLES];
    for (int i = 0; i < HANDLES; i++)
        pairs[i].host = host_open_with(2, CONFORM_RING);
    for (uint32_t round = 0; round < conform_rounds(100, 5000); round++) {
        for (int i = 0; i < HANDLES; i++)
            submit_pair(&pairs[i]);
        for (int i = 0; i < HANDLES; i++)
            expect_second_first(&pairs[i], round);
        for (int i = 0; i < HANDLES; i++)
            (void)job_finish(pairs[i].host, pairs[i].longer);
    }
    for (int i = 0; i < HANDLES; i++)
        host_close(pairs[i].host);
}
