/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers under several threads at once: ids, frees, and frees against
 * submits.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

/* ---- Ids ---------------------------------------------------------------- */

enum { DRAWERS = 4, DRAWN = 12000 };

struct drawer {
    struct host *host;
    struct conform_barrier *start;
    uint64_t ids[DRAWN];
};

static void
draw(void *argument)
{
    struct drawer *drawer = argument;
    conform_barrier_wait(drawer->start);
    for (uint32_t i = 0; i < DRAWN; i++) {
        uint8_t *ptr = NULL;
        GussetHandle *handle = host_handle(drawer->host);
        expect_code(FFI_OK,
                    api.buf_alloc(handle, 16, &drawer->ids[i], &ptr, NULL),
                    "buf_alloc");
        expect_code(FFI_OK, api.buf_free(handle, drawer->ids[i], NULL),
                    "buf_free");
    }
}

static int
by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

CONFORM_CASE(
    ids_in_a_race, .id = "i1.ids-unique.four-threads",
    .clauses = "i1.ids-unique",
    .why = "A counter that is read and written in two steps gives one id to "
           "two threads, which then free each other's buffer.",
    .steps = "Four threads, two on one handle and two on another, draw 12 000 "
             "ids each at the same time.",
    .expected = "All ids non-zero, below 2^63, pairwise different.")
{
    static struct drawer drawers[DRAWERS];
    static uint64_t all[DRAWERS * DRAWN];
    struct host *hosts[2] = {host_open(1), host_open(1)};
    struct conform_thread *threads[DRAWERS];
    struct conform_barrier *start = conform_barrier_new(DRAWERS);
    for (uint32_t i = 0; i < DRAWERS; i++) {
        drawers[i].host = hosts[i % 2];
        drawers[i].start = start;
        threads[i] = conform_thread_start(draw, &drawers[i], 0);
    }
    for (uint32_t i = 0; i < DRAWERS; i++) {
        conform_thread_join(threads[i]);
        memcpy(all + (size_t)i * DRAWN, drawers[i].ids, sizeof drawers[i].ids);
    }
    conform_barrier_free(start);
    qsort(all, DRAWERS * DRAWN, sizeof all[0], by_value);
    expect(all[0] != 0, "the smallest id is not 0");
    expect_u64(0, all[DRAWERS * DRAWN - 1] >> 63, "bit 63 of the largest id");
    for (uint32_t i = 1; i < DRAWERS * DRAWN; i++) {
        if (all[i] == all[i - 1])
            expect(all[i] != all[i - 1], "id %llu was handed out twice",
                   (unsigned long long)all[i]);
    }
    host_close(hosts[0]);
    host_close(hosts[1]);
}

/* ---- One buffer, two threads -------------------------------------------- */

struct freer {
    struct host *host;
    struct conform_barrier *step;
    _Atomic uint32_t *here; /* both come to this, all rounds */
    _Atomic uint64_t *id;
    uint32_t rounds;
};

static void
meet(_Atomic uint32_t *here, uint32_t round)
{
    uint64_t steps = conform_random(60);
    atomic_fetch_add(here, 1);
    for (uint32_t i = 1; atomic_load(here) < 2 * (round + 1); i++) {
        if (i % 1024 == 0)
            sched_yield();
    }
    while (steps-- > 0)
        atomic_load(here);
}

static void
free_each(void *argument)
{
    struct freer *freer = argument;
    for (uint32_t round = 0; round < freer->rounds; round++) {
        conform_barrier_wait(freer->step);
        uint64_t id = atomic_load(freer->id);
        meet(freer->here, round);
        expect_code(FFI_OK, api.buf_free(host_handle(freer->host), id, NULL),
                    "buf_free by the other thread");
        conform_barrier_wait(freer->step);
    }
}

enum { LEN = 6000 };

static bool
live_is_back(void *argument)
{
    const AllocStats *before = argument;
    AllocStats now;
    api.alloc_stats(&now);
    return now.live_bytes == before->live_bytes;
}

CONFORM_CASE(
    free_against_submit, .id = "i1.free-under-job.against-submit",
    .clauses = "i1.free-under-job i1.buf-unknown-at-submit "
               "i1.buf-free-idempotent i1.close-releases-all",
    .why = "A submit that has found the buffer and not yet counted itself as "
           "its reader loses it to a free in between.",
    .steps = "600 rounds: one thread frees a buffer while another submits it "
             "and frees it as well; a new buffer with other bytes takes its "
             "place.",
    .expected = "The submit is refused as `not found`, or its job echoes the "
                "buffer's bytes; live_bytes as before.",
    .transports = CONFORM_BOTH, .mutant = "reader-counted-too-late")
{
    static struct freer freer;
    static _Atomic uint32_t here;
    static _Atomic uint64_t shared;
    struct host *host = host_open(1);
    struct conform_barrier *step = conform_barrier_new(2);
    uint32_t rounds = conform_rounds(600, 10000);
    uint32_t accepted = 0;
    AllocStats before;
    const uint8_t *right = conform_pattern(LEN, 0, 4);
    api.alloc_stats(&before);
    freer = (struct freer){host, step, &here, &shared, rounds};
    struct conform_thread *thread = conform_thread_start(free_each, &freer, 0);
    for (uint32_t round = 0; round < rounds; round++) {
        uint8_t *junk = NULL;
        uint64_t id = host_buffer(host, right, LEN, NULL);
        atomic_store(&shared, id);
        conform_barrier_wait(step);
        meet(&here, round);
        struct outcome o = host_try_submit(host, &diagnostic, NULL, 0, id);
        host_buffer_free(host, id);
        conform_barrier_wait(step);
        uint64_t other = host_buffer(host, NULL, LEN, &junk);
        memset(junk, 0xee, LEN);
        if (o.code == FFI_OK) {
            accepted++;
            host_wait(host, o.ticket);
            o = host_take(host, o.ticket);
            expect_code(FFI_OK, o.code, "a job on a buffer freed meanwhile");
            expect_bytes(right, LEN, o.bytes, o.len, "its echo");
        } else {
            expect_code(FFI_ERR, o.code, "a submit that came too late");
            expect_text(TEXT_CONTAINS, "not found", o.msg, o.msg_len,
                        "a submit that came too late");
        }
        host_buffer_free(host, other);
        expect(conform_eventually(live_is_back, &before),
               "live_bytes is back after round %u", round);
    }
    conform_thread_join(thread);
    conform_barrier_free(step);
    conform_evidence("accepted", "%u of %u", accepted, rounds);
    host_close(host);
}
