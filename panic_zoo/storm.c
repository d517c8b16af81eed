/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Many panics at once, and panics against everything else at once.
 */
#include <string.h>

#include "zoo.h"

#define POOL 24u
#define WAVE (3u * POOL)
#define IN_FLIGHT_AT_LEAST 16u

static const uint8_t kinds[5] = {1, 2, 3, 0, 0}; /* 2 in 5 are healthy */

static void
judge_stormer(struct host *host, uint64_t ticket, uint8_t mode)
{
    struct completion done = host_wait(host, ticket);
    struct outcome o = host_outcome(host, &done);
    if (mode == 0) {
        expect_code(FFI_OK, o.code, "a healthy job in the storm");
        expect_bytes("\0ok", 3, o.bytes, o.len, "its result");
        return;
    }
    expect_code(FFI_PANIC, o.code, "a job of mode %u in the storm", mode);
    expect_text(TEXT_BEGINS,
                mode == 1   ? "PANIC: plain panic"
                : mode == 2 ? "PANIC: panic with embedded NUL "
                            : "PANIC: panic payload (i32): 42",
                o.msg, o.msg_len, "its text");
}

CONFORM_CASE(
    storm_in_flight, .id = "i2.storm.in-flight",
    .clauses = "i2.storm i2.pool-survives i2.first-panic-then-poisoned "
               "i4.exactly-once",
    .why = "A latch, a location table or a payload store that deadlocks or "
           "loses tickets when many workers panic at once.",
    .steps = "Pool 24: submit up to 72 units that sleep and then panic (3 in "
             "5) or echo, all before the first panic; collect all of them.",
    .expected = "At least 16 panics in flight; every ticket completes once, "
                "with its own outcome; POISONED afterwards; live_bytes back.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "worker-leaves-after-panic")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    uint32_t panics = 0;
    for (uint8_t steps = 3; panics < IN_FLIGHT_AT_LEAST; steps *= 4) {
        if (steps > 100)
            conform_broken("the machine is too slow to get %u panics in "
                           "flight",
                           IN_FLIGHT_AT_LEAST);
        struct host *host = host_open(POOL);
        uint64_t tickets[WAVE];
        uint8_t modes[WAVE];
        uint32_t accepted = 0;
        panics = 0;
        for (uint32_t i = 0; i < WAVE; i++) {
            uint8_t mode = kinds[conform_random(5)];
            uint8_t input[] = {9, steps, mode, 'o', 'k'};
            CallHeader header =
                zoo_header(DIAGNOSTIC | (i % 2 ? INLINE : 0), 0);
            struct outcome o =
                host_try_submit(host, &header, input, sizeof input, 0);
            if (o.code != FFI_OK)
                continue;
            modes[accepted] = mode;
            tickets[accepted++] = o.ticket;
            panics += mode != 0;
        }
        for (uint32_t i = 0; i < accepted; i++)
            judge_stormer(host, tickets[i], modes[i]);
        zoo_expect_poisoned(host, "after the storm");
        host_close(host);
        conform_evidence("panics in flight", "%u of %u accepted", panics,
                         accepted);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the storm");
    conform_fresh_handle_works();
}

/* ---- Submitters that race the first panic ------------------------------- */

#define SUBMITTERS 4u
#define PER_SUBMITTER 200u

struct racer {
    struct host *host;
    struct conform_barrier *start;
    uint64_t tickets[PER_SUBMITTER];
    uint8_t modes[PER_SUBMITTER];
    uint32_t accepted;
    uint32_t poisoned;
};

static void
race(void *argument)
{
    struct racer *racer = argument;
    conform_barrier_wait(racer->start);
    while (racer->accepted < PER_SUBMITTER && racer->poisoned < 3) {
        uint8_t mode = conform_random(20) == 0 ? 1 : 0;
        uint8_t input[] = {mode, 'o', 'k'};
        CallHeader header = zoo_header(DIAGNOSTIC, 0);
        struct outcome o =
            host_try_submit(racer->host, &header, input, sizeof input, 0);
        if (o.code == FFI_POISONED) {
            racer->poisoned++;
        } else if (o.code == FFI_OK) {
            racer->modes[racer->accepted] = mode;
            racer->tickets[racer->accepted++] = o.ticket;
        } else {
            expect_text(TEXT_CONTAINS, "full", o.msg, o.msg_len,
                        "the only other refusal in this race");
            expect(racer->poisoned == 0, "POISONED is for ever, not %s",
                   conform_code_name(o.code));
        }
    }
}

CONFORM_CASE(
    storm_race, .id = "i2.storm.submit-race",
    .clauses = "i2.storm i2.poison-latch i2.pool-survives i4.exactly-once",
    .why = "A submit that passes the latch while it closes is accepted and "
           "never completed, or answered as POISONED by take.",
    .steps = "Four threads submit echoes and, one in 20, panics to a pool of "
             "4 until they are refused as POISONED; 20 handles.",
    .expected = "Each accepted ticket completes once: panics as FFI_PANIC, "
                "echoes as FFI_OK; after POISONED nothing else; live_bytes "
                "back.",
    .transports = CONFORM_BOTH)
{
    AllocStats before, after;
    api.alloc_stats(&before);
    uint32_t rounds = conform_rounds(20, 1000);
    uint32_t panics = 0;
    uint32_t refused = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        struct host *host = host_open(4);
        static struct racer racers[SUBMITTERS];
        struct conform_thread *threads[SUBMITTERS];
        struct conform_barrier *start = conform_barrier_new(SUBMITTERS);
        for (uint32_t i = 0; i < SUBMITTERS; i++) {
            memset(&racers[i], 0, sizeof racers[i]);
            racers[i].host = host;
            racers[i].start = start;
            threads[i] = conform_thread_start(race, &racers[i], 0);
        }
        for (uint32_t i = 0; i < SUBMITTERS; i++) {
            conform_thread_join(threads[i]);
            refused += racers[i].poisoned;
        }
        conform_barrier_free(start);
        for (uint32_t i = 0; i < SUBMITTERS; i++) {
            for (uint32_t n = 0; n < racers[i].accepted; n++) {
                panics += racers[i].modes[n] != 0;
                judge_stormer(host, racers[i].tickets[n], racers[i].modes[n]);
            }
        }
        host_close(host);
    }
    expect_u64_at_least(1, panics, "panics in the race");
    expect_u64_at_least(1, refused, "POISONED refusals in the race");
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the race");
}

CONFORM_CASE(
    leak_per_panic, .id = "i2.contained.leak-per-panic",
    .clauses = "i2.contained i1.close-releases-all",
    .why = "A firewall that keeps the payload, text or place of each panic "
           "grows for ever under an engine that fails often.",
    .steps = "60 handles with a panic each (modes 1, 12 and 15, some never "
             "taken), live_bytes after each close; then on one handle of 20 "
             "workers, 40 panics in flight.",
    .expected = "live_bytes is back after every close.",
    .mutant = "leak-per-panic", .transports = CONFORM_BOTH)
{
    static const uint8_t modes[] = {1, 12, 15};
    AllocStats before, after;
    api.alloc_stats(&before);
    for (uint32_t i = 0; i < 60; i++) {
        const uint8_t input[] = {modes[i % 3], 3};
        struct host *host = host_open(1);
        uint64_t ticket = host_submit(host, DIAGNOSTIC, input, sizeof input);
        host_wait(host, ticket);
        if (i % 4 != 0)
            host_take(host, ticket);
        host_close(host);
        api.alloc_stats(&after);
        expect_u64(before.live_bytes, after.live_bytes,
                   "live_bytes after panic %u (mode %u)", i + 1, input[0]);
    }
    struct host *host = host_open(20);
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < 40; i++) {
        struct outcome o = host_try_submit(host, &header, "\1", 1, 0);
        accepted += o.code == FFI_OK;
    }
    expect_u64_at_least(1, accepted, "panics in flight");
    host_close(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after %u panics on one handle", accepted);
}
