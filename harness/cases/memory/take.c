/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * take: what moves out, once, and what it is made of.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "conform.h"

/* What a take gave, still held. */
struct held {
    int32_t code;
    uint64_t id;
    uint8_t *ptr;
    size_t len;
};

static struct held
take(struct host *host, uint64_t ticket)
{
    struct held held = {0};
    held.code = api.take(host_handle(host), ticket, &held.id, &held.ptr,
                         &held.len, NULL);
    return held;
}

/* Submits an echo of len bytes, from a buffer where it has to be one. */
static uint64_t
submit_echo(struct host *host, const uint8_t *bytes, size_t len,
            uint64_t *input_id)
{
    *input_id = 0;
    if (len <= GUSSET_MAX_INLINE_INPUT)
        return host_submit(host, DIAGNOSTIC, bytes, len);
    CallHeader header = {.flags = DIAGNOSTIC};
    *input_id = host_buffer(host, bytes, len, NULL);
    return host_submit_buffer(host, &header, *input_id);
}

static void
expect_untakeable(struct host *host, uint64_t ticket, const char *what)
{
    char text[80];
    snprintf(text, sizeof text, "ticket %llu not found or already taken",
             (unsigned long long)ticket);
    struct outcome o = host_take(host, ticket);
    expect_code(FFI_ERR, o.code, "take of %s", what);
    expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "take of %s", what);
}

/* ---- Once --------------------------------------------------------------- */

CONFORM_CASE(
    take_twice, .id = "i1.take-once.second-take", .clauses = "i1.take-once",
    .why = "A result that can be taken twice is freed twice.",
    .steps = "Take results of 0, 1, 48, 4096, 4097 and 1 MiB, an engine "
             "error, a missing engine and a panic, each several times; then "
             "again after all of them.",
    .expected = "The first take is the job's own end; every later one "
                "FFI_ERR `ticket N not found or already taken`.",
    .mutant = "take-twice", .transports = CONFORM_BOTH)
{
    static const size_t sizes[] = {0, 1, 48, 4096, 4097, 1 << 20};
    uint64_t tickets[9];
    struct host *host = host_open(1);
    for (size_t i = 0; i < 9; i++) {
        int32_t right = FFI_ERR;
        if (i < 6) {
            uint64_t input_id;
            tickets[i] = submit_echo(host, conform_pattern(sizes[i], 0, i),
                                     sizes[i], &input_id);
            right = FFI_OK;
        } else if (i == 6) {
            tickets[i] = host_submit(host, DIAGNOSTIC, "\20", 1);
        } else if (i == 7) {
            tickets[i] = host_submit(host, 0, "\1", 1);
        } else {
            tickets[i] = host_submit(host, DIAGNOSTIC, "\1", 1);
            right = FFI_PANIC;
        }
        host_wait(host, tickets[i]);
        struct outcome o = host_take(host, tickets[i]);
        expect_code(right, o.code, "first take of job %zu", i);
        for (int again = 0; again < 3; again++)
            expect_untakeable(host, tickets[i], "a taken ticket");
    }
    for (size_t i = 0; i < 9; i++)
        expect_untakeable(host, tickets[i], "a ticket taken long ago");
    host_close(host);
}

CONFORM_CASE(
    take_never_issued, .id = "i1.take-once.never-issued",
    .clauses = "i1.take-once",
    .why = "A ticket that is used as an index unseen reaches other memory.",
    .steps = "Take tickets around the real ones and at the ends of the "
             "range, on a fresh handle and while a result waits.",
    .expected = "FFI_ERR `ticket N not found or already taken`; the waiting "
                "result is still there.",
    .transports = CONFORM_BOTH, .mutant = "ticket-generation-ignored")
{
    static const uint64_t made_up[] = {0,
                                       0xdeadbeef,
                                       UINT64_C(1) << 32,
                                       UINT64_C(1) << 40,
                                       UINT64_C(1) << 62,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       (UINT64_C(1) << 63) + 1,
                                       UINT64_MAX};
    struct host *host = host_open(2);
    for (size_t i = 0; i < sizeof made_up / sizeof made_up[0]; i++)
        expect_untakeable(host, made_up[i], "a ticket never issued");
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\0kept", 5);
    host_wait(host, ticket);
    for (uint32_t bit = 0; bit < 64; bit++)
        expect_untakeable(host, ticket ^ UINT64_C(1) << bit,
                          "the ticket with one bit changed");
    struct outcome o = host_take(host, ticket);
    expect_code(FFI_OK, o.code, "the result that waited");
    expect_bytes("\0kept", 5, o.bytes, o.len, "the result that waited");
    host_close(host);
}

CONFORM_CASE(
    take_foreign, .id = "i1.take-once.foreign-ticket",
    .clauses = "i1.take-once i4.tickets",
    .why = "Tickets that are counted per handle let one handle take "
           "another's result.",
    .steps = "Two handles with an uncollected result each; take each ticket "
             "on the other handle, then on its own.",
    .expected = "FFI_ERR on the other handle, consuming nothing; the right "
                "bytes on its own.",
    .mutant = "ticket-counter-per-handle", .transports = CONFORM_BOTH)
{
    struct host *hosts[2] = {host_open(1), host_open(1)};
    for (uint32_t round = 0; round < 8; round++) {
        uint64_t tickets[2];
        for (uint32_t i = 0; i < 2; i++) {
            const uint8_t input[] = {0, (uint8_t)i, (uint8_t)round};
            tickets[i] = host_submit(hosts[i], DIAGNOSTIC, input, 3);
            host_wait(hosts[i], tickets[i]);
        }
        expect(tickets[0] != tickets[1], "tickets of two handles differ");
        for (uint32_t i = 0; i < 2; i++)
            expect_untakeable(hosts[i], tickets[1 - i],
                              "another handle's ticket");
        for (uint32_t i = 0; i < 2; i++) {
            const uint8_t input[] = {0, (uint8_t)i, (uint8_t)round};
            struct outcome o = host_take(hosts[i], tickets[i]);
            expect_bytes(input, 3, o.bytes, o.len, "the handle's own result");
        }
    }
    host_close(hosts[0]);
    host_close(hosts[1]);
}

CONFORM_CASE(
    take_running, .id = "i1.take-once.still-running", .clauses = "i1.take-once",
    .why = "A take of an unfinished job waits for it, or eats its result.",
    .steps = "Pool 1: take a running and a queued job's tickets 50 times; "
             "cancel both, read their completions, take them.",
    .expected = "FFI_ERR at once, consuming nothing; then `cancelled: "
                "Explicit` for both.",
    .transports = CONFORM_BOTH, .mutant = "take-answers-while-running")
{
    struct host *host = host_open(1);
    uint64_t running = host_submit(host, DIAGNOSTIC, "\5\377", 2);
    uint64_t queued = host_submit(host, DIAGNOSTIC, "\5\377", 2);
    for (int i = 0; i < 50; i++) {
        expect_untakeable(host, running, "a running job");
        expect_untakeable(host, queued, "a queued job");
    }
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    const uint64_t both[] = {running, queued};
    for (int i = 0; i < 2; i++) {
        host_wait(host, both[i]);
        struct outcome o = host_take(host, both[i]);
        expect_code(FFI_ERR, o.code, "the job's own end");
        expect_text(TEXT_IS, "cancelled: Explicit", o.msg, o.msg_len,
                    "the job was not over when it was taken too early");
    }
    host_close(host);
}

CONFORM_CASE(
    take_inlined, .id = "i1.take-once.delivered-inline",
    .clauses = "i1.take-once i4.inline-is-final",
    .why = "An inline result that is stored as well leaks or is delivered "
           "twice.",
    .steps = "Echoes of 0, 1, 47 and 48 bytes with the inline flag; take "
             "each ticket after its record was read.",
    .expected = "Where it came inline, FFI_ERR; else the bytes.",
    .transports = CONFORM_BOTH)
{
    static const size_t sizes[] = {0, 1, 47, 48};
    struct host *host = host_open(1);
    uint32_t inlined = 0;
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *bytes = conform_pattern(sizes[i], 0, i);
        uint64_t ticket =
            host_submit(host, DIAGNOSTIC | INLINE, bytes, sizes[i]);
        struct completion done = host_wait(host, ticket);
        if (done.inlined) {
            inlined++;
            expect_bytes(bytes, sizes[i], done.bytes, done.len,
                         "an inline result");
            expect_untakeable(host, ticket, "a ticket delivered inline");
            continue;
        }
        struct outcome o = host_take(host, ticket);
        expect_bytes(bytes, sizes[i], o.bytes, o.len, "a bare result");
    }
    conform_evidence("inlined", "%u of 4", inlined);
    host_close(host);
}

CONFORM_CASE(
    take_refused, .id = "i1.take-once.bad-arg-consumes-nothing",
    .clauses = "i1.take-once i1.check-order",
    .why = "A take that is refused after it moved the result out loses it.",
    .steps = "For a small, a large and an empty result, an error and a "
             "panic: take with each out pointer NULL, then properly.",
    .expected = "FFI_BAD_ARG, then the job's own end.",
    .transports = CONFORM_BOTH, .mutant = "bad-arg-take-consumes")
{
    struct host *host = host_open(1);
    GussetHandle *handle = host_handle(host);
    const uint8_t *large = conform_pattern(70000, 0, 1);
    for (int kind = 0; kind < 5; kind++) {
        uint64_t input_id;
        uint64_t ticket = kind == 0 ? submit_echo(host, large, 100, &input_id)
                          : kind == 1
                              ? submit_echo(host, large, 70000, &input_id)
                          : kind == 2 ? submit_echo(host, large, 0, &input_id)
                          : kind == 3 ? host_submit(host, DIAGNOSTIC, "\20", 1)
                                      : host_submit(host, DIAGNOSTIC, "\1", 1);
        host_wait(host, ticket);
        struct held held = {0};
        expect_code(FFI_BAD_ARG,
                    api.take(handle, ticket, NULL, &held.ptr, &held.len, NULL),
                    "take without out_buf_id");
        expect_code(FFI_BAD_ARG,
                    api.take(handle, ticket, &held.id, NULL, &held.len, NULL),
                    "take without out_ptr");
        expect_code(FFI_BAD_ARG,
                    api.take(handle, ticket, &held.id, &held.ptr, NULL, NULL),
                    "take without out_len");
        struct outcome o = host_take(host, ticket);
        expect_code(kind < 3    ? FFI_OK
                    : kind == 3 ? FFI_ERR
                                : FFI_PANIC,
                    o.code, "take of kind %d after the refusals", kind);
        expect_text(TEXT_LACKS, "not found", o.msg ? o.msg : "", o.msg_len,
                    "the job's own end of kind %d", kind);
        if (kind < 3)
            expect_bytes(large,
                         kind == 0   ? 100
                         : kind == 1 ? 70000
                                     : 0,
                         o.bytes, o.len, "result of kind %d", kind);
    }
    host_close(host);
}

/* ---- Two threads, one ticket -------------------------------------------- */

struct taker {
    struct host *host;
    struct conform_barrier *barrier;
    _Atomic uint64_t *ticket;
    _Atomic uint32_t *here; /* takers that came to the start, all rounds */
    uint32_t rounds;
    _Atomic uint32_t won; /* in this round */
};

/* Waking up takes longer than a take: the last one here starts both. Neither
 * is always ahead: each goes on after a few steps of its own. */
static void
start_together(struct taker *taker, uint32_t round)
{
    uint64_t steps = conform_random(40);
    atomic_fetch_add(taker->here, 1);
    for (uint32_t i = 1; atomic_load(taker->here) < 2 * (round + 1); i++) {
        if (i % 1024 == 0)
            sched_yield();
    }
    while (steps-- > 0)
        atomic_load(taker->here);
}

static void
take_in_race(void *argument)
{
    struct taker *taker = argument;
    for (uint32_t round = 0; round < taker->rounds; round++) {
        conform_barrier_wait(taker->barrier);
        uint64_t ticket = atomic_load(taker->ticket);
        start_together(taker, round);
        struct held held = take(taker->host, ticket);
        atomic_store(&taker->won, held.code == FFI_OK);
        if (held.code == FFI_OK)
            api.buf_free(host_handle(taker->host),
                         held.id & ~GUSSET_TAKE_OWNED_FLAG, NULL);
        conform_barrier_wait(taker->barrier);
    }
}

CONFORM_CASE(
    take_race, .id = "i1.take-once.two-threads", .clauses = "i1.take-once",
    .why = "Two takes at once both find the result and both free it.",
    .steps = "2000 rounds: two threads take one ticket, small and large in "
             "turn, from a common start.",
    .expected = "Exactly one FFI_OK a round; live_bytes as before.",
    .mutant = "take-twice", .timeout_ms = 120000)
{
    uint32_t rounds = conform_rounds(2000, 100000);
    const uint8_t *bytes = conform_pattern(9000, 0, 4);
    _Atomic uint64_t ticket = 0;
    _Atomic uint32_t here = 0;
    struct host *host = host_open(1);
    struct conform_barrier *barrier = conform_barrier_new(3);
    struct taker takers[2];
    struct conform_thread *threads[2];
    AllocStats before, after;
    api.alloc_stats(&before);
    for (int i = 0; i < 2; i++) {
        takers[i] = (struct taker){host, barrier, &ticket, &here, rounds, 0};
        threads[i] = conform_thread_start(take_in_race, &takers[i], 0);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t input_id;
        uint64_t next =
            submit_echo(host, bytes, round % 2 ? 64 : 9000, &input_id);
        host_wait(host, next);
        if (input_id != 0)
            host_buffer_free(host, input_id);
        atomic_store(&ticket, next);
        conform_barrier_wait(barrier);
        conform_barrier_wait(barrier);
        expect_u64(1, atomic_load(&takers[0].won) + atomic_load(&takers[1].won),
                   "takes that won round %u", round);
    }
    for (int i = 0; i < 2; i++)
        conform_thread_join(threads[i]);
    conform_barrier_free(barrier);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after %u raced takes", rounds);
    host_close(host);
}

/* ---- Sizes -------------------------------------------------------------- */

CONFORM_CASE(
    take_small, .id = "i1.take-small.sizes", .clauses = "i1.take-small",
    .why = "Off by one at the edges of the small result: a wrong length, a "
           "wrong flag, an unaligned or leaked copy.",
    .steps = "Echoes of 1, 2, 8, 47, 48, 49, 64, 300, 4095 and 4096 bytes "
             "without the inline flag, held until all are taken; mode 16 of "
             "the same lengths.",
    .expected = "The bytes at a non-NULL, 64-byte-aligned pointer, a non-zero "
                "id without bit 63 (mode 16: with or without); freeing the "
                "ids gives every byte back.",
    .transports = CONFORM_BOTH, .mutant = "owned-flag-from-4096")
{
    static const size_t sizes[] = {1, 2, 8, 47, 48, 49, 64, 300, 4095, 4096};
    const size_t count = sizeof sizes / sizeof sizes[0];
    struct host *host = host_open(2);
    struct held held[10];
    AllocStats before, after;
    api.alloc_stats(&before);
    for (size_t i = 0; i < count; i++) {
        uint64_t ticket = host_submit(
            host, DIAGNOSTIC, conform_pattern(sizes[i], 0, i), sizes[i]);
        host_wait(host, ticket);
        held[i] = take(host, ticket);
        expect_code(FFI_OK, held[i].code, "take of %zu bytes", sizes[i]);
        expect(held[i].ptr != NULL, "pointer of %zu bytes", sizes[i]);
        expect_u64(0, (uintptr_t)held[i].ptr % GUSSET_BUFFER_ALIGNMENT,
                   "alignment of %zu bytes", sizes[i]);
        expect(held[i].id != 0, "id of %zu bytes", sizes[i]);
        expect_u64(0, held[i].id & GUSSET_TAKE_OWNED_FLAG,
                   "bit 63 of the id of %zu bytes", sizes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        expect_bytes(conform_pattern(sizes[i], 0, i), sizes[i], held[i].ptr,
                     held[i].len, "the held result of %zu bytes", sizes[i]);
        expect_code(FFI_OK, api.buf_free(host_handle(host), held[i].id, NULL),
                    "buf_free");
    }
    for (size_t i = 0; i < count; i++) {
        uint8_t input[6] = {16, 0, 0, 0, 0, 9};
        put_u32le(input + 1, (uint32_t)sizes[i]);
        uint64_t ticket = host_submit(host, DIAGNOSTIC, input, 6);
        host_wait(host, ticket);
        struct held made = take(host, ticket);
        expect_u64(sizes[i], made.len, "length that mode 16 made");
        expect_u64(0, (uintptr_t)made.ptr % GUSSET_BUFFER_ALIGNMENT,
                   "alignment of what mode 16 made");
        for (size_t n = 0; n < made.len; n++) {
            if (made.ptr[n] != (uint8_t)(n ^ 9))
                expect_u64((uint8_t)(n ^ 9), made.ptr[n],
                           "byte %zu of mode 16's %zu", n, sizes[i]);
        }
        api.buf_free(host_handle(host), made.id & ~GUSSET_TAKE_OWNED_FLAG,
                     NULL);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes once all ids are freed");
    host_close(host);
}

CONFORM_CASE(
    take_large, .id = "i1.take-large.sizes",
    .clauses = "i1.take-large l.stats-complete",
    .why = "A large result that is the input itself, unflagged, unaligned or "
           "not freed by its own id.",
    .steps = "Echoes of 4097, 64 KiB, 1 MiB and 16 MiB from buffers; buf_free "
             "and submit with bit 63 set; then buf_free of the id below it.",
    .expected = "Bit 63 set, an id and a pointer other than the input's, "
                "64-byte aligned, every byte; with bit 63 the id is unknown; "
                "without it the memory leaves live_bytes.",
    .transports = CONFORM_BOTH,
    .mutant = "owned-flag-from-4098 owned-flag-ignored-in-ids")
{
    static const size_t sizes[] = {4097, 65536, 1 << 20, 16 << 20};
    struct host *host = host_open(1);
    GussetHandle *handle = host_handle(host);
    CallHeader header = {.flags = DIAGNOSTIC};
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *bytes = conform_pattern(sizes[i], 0, i);
        uint8_t *input = NULL;
        uint64_t input_id = host_buffer(host, bytes, sizes[i], &input);
        uint64_t ticket = host_submit_buffer(host, &header, input_id);
        host_wait(host, ticket);
        struct held held = take(host, ticket);
        expect_code(FFI_OK, held.code, "take of %zu bytes", sizes[i]);
        expect((held.id & GUSSET_TAKE_OWNED_FLAG) != 0,
               "bit 63 of the id of %zu bytes", sizes[i]);
        uint64_t own = held.id & ~GUSSET_TAKE_OWNED_FLAG;
        expect(own != 0 && own != input_id, "the result has its own buffer");
        expect(held.ptr != NULL && held.ptr != input,
               "the result has its own memory");
        expect_u64(0, (uintptr_t)held.ptr % GUSSET_BUFFER_ALIGNMENT,
                   "alignment of %zu bytes", sizes[i]);
        expect_bytes(bytes, sizes[i], held.ptr, held.len, "the result");

        AllocStats had, kept, freed;
        api.alloc_stats(&had);
        expect_code(FFI_OK, api.buf_free(handle, held.id, NULL),
                    "buf_free of an id with bit 63");
        api.alloc_stats(&kept);
        expect_u64(had.live_bytes, kept.live_bytes,
                   "live_bytes after freeing an unknown id");
        struct outcome o = host_try_submit(host, &header, NULL, 0, held.id);
        expect_code(FFI_ERR, o.code, "submit of an id with bit 63");
        expect_text(TEXT_CONTAINS, "not found", o.msg, o.msg_len,
                    "submit of an id with bit 63");
        expect_bytes(bytes, sizes[i], held.ptr, held.len, "still the result");
        expect_code(FFI_OK, api.buf_free(handle, own, NULL), "buf_free");
        api.alloc_stats(&freed);
        expect_u64_at_least(sizes[i], kept.live_bytes - freed.live_bytes,
                            "bytes given back");
        host_buffer_free(host, input_id);
    }
    host_close(host);
}

CONFORM_CASE(
    take_resubmit, .id = "i1.take-large.result-as-input",
    .clauses = "i1.take-large i1.take-small i1.input-sources",
    .why = "A taken result that is no real buffer cannot be passed on to the "
           "next job without a copy by the host.",
    .steps = "Take a small and a large echo; submit each by its id as the "
             "input of another echo; compare.",
    .expected = "The same bytes in another buffer.", .transports = CONFORM_BOTH)
{
    static const size_t sizes[] = {100, 100000};
    struct host *host = host_open(1);
    CallHeader header = {.flags = DIAGNOSTIC};
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *bytes = conform_pattern(sizes[i], 0, i);
        uint64_t input_id;
        uint64_t ticket = submit_echo(host, bytes, sizes[i], &input_id);
        host_wait(host, ticket);
        struct held first = take(host, ticket);
        uint64_t own = first.id & ~GUSSET_TAKE_OWNED_FLAG;
        ticket = host_submit_buffer(host, &header, own);
        host_wait(host, ticket);
        struct outcome second = host_take(host, ticket);
        expect_code(FFI_OK, second.code, "echo of a taken result");
        expect_bytes(bytes, sizes[i], second.bytes, second.len,
                     "echo of a taken result");
        expect((uintptr_t)first.ptr != second.address,
               "the second result is not the first");
        expect_bytes(bytes, sizes[i], first.ptr, first.len, "the first");
        host_buffer_free(host, own);
    }
    host_close(host);
}

CONFORM_CASE(
    take_empty, .id = "i1.take-empty.three-ways", .clauses = "i1.take-empty",
    .why = "A dangling pointer, an id to free or capacity to leak for a "
           "result of no bytes.",
    .steps = "An empty input, mode 16 of length 0, and a mode 16 of length 0 "
             "with the inline flag; take, twice.",
    .expected = "FFI_OK, id 0, pointer NULL, length 0; live_bytes as before.",
    .transports = CONFORM_BOTH, .mutant = "empty-result-has-an-id")
{
    static const uint8_t none[] = {16, 0, 0, 0, 0, 5};
    struct host *host = host_open(1);
    AllocStats before, after;
    api.alloc_stats(&before);
    for (int way = 0; way < 3; way++) {
        uint64_t ticket =
            host_submit(host, DIAGNOSTIC | (way == 2 ? INLINE : 0),
                        way == 0 ? NULL : none, way == 0 ? 0 : sizeof none);
        struct completion done = host_wait(host, ticket);
        if (done.inlined) {
            expect_u64(0, done.len, "an inline result of no bytes");
            continue;
        }
        struct held held = {FFI_ERR, 77, (uint8_t *)&held, 77};
        held.code = api.take(host_handle(host), ticket, &held.id, &held.ptr,
                             &held.len, NULL);
        expect_code(FFI_OK, held.code, "take of an empty result");
        expect_u64(0, held.id, "its id");
        expect_ptr(NULL, held.ptr, "its pointer");
        expect_u64(0, held.len, "its length");
        expect_untakeable(host, ticket, "a taken empty result");
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after empty results");
    host_close(host);
}

/* ---- No copy ------------------------------------------------------------ */

static uint64_t
fastest_take(struct host *host, size_t len)
{
    uint64_t fastest = UINT64_MAX;
    uint8_t input[6] = {16, 0, 0, 0, 0, 1};
    put_u32le(input + 1, (uint32_t)len);
    for (int i = 0; i < 3; i++) {
        uint64_t ticket = host_submit(host, DIAGNOSTIC, input, sizeof input);
        host_wait(host, ticket);
        uint64_t start = conform_now_ns();
        struct held held = take(host, ticket);
        uint64_t spent = conform_now_ns() - start;
        expect_code(FFI_OK, held.code, "take of %zu bytes", len);
        expect_u64(len, held.len, "length of the result");
        host_buffer_free(host, held.id & ~GUSSET_TAKE_OWNED_FLAG);
        if (spent < fastest)
            fastest = spent;
    }
    return fastest;
}

CONFORM_CASE(
    take_no_copy, .id = "i1.take-large-no-copy.ratio",
    .clauses = "i1.take-large-no-copy",
    .why = "A take that copies stalls the caller's thread for every large "
           "result.",
    .steps = "The fastest of 3 takes of 8 KiB and of 8 MiB, beside the "
             "fastest of 3 copies of 8 MiB by the case itself.",
    .expected = "A take of 8 MiB costs less than a quarter of the copy.",
    .mutant = "take-copies-large-results")
{
    const size_t large = 8 << 20;
    struct host *host = host_open(1);
    uint64_t small_ns = fastest_take(host, 8192);
    uint64_t large_ns = fastest_take(host, large);
    const uint8_t *from = conform_pattern(large, 1, 1);
    uint8_t *to = conform_pattern(large, 2, 2);
    uint64_t copy_ns = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t start = conform_now_ns();
        memcpy(to, from, large);
        uint64_t spent = conform_now_ns() - start;
        copy_ns = spent < copy_ns ? spent : copy_ns;
    }
    expect_bytes(from, 64, to, 64, "the copy was made");
    conform_evidence("take ns", "8 KiB %llu, 8 MiB %llu, copy %llu",
                     (unsigned long long)small_ns, (unsigned long long)large_ns,
                     (unsigned long long)copy_ns);
    expect_u64_at_most(copy_ns / 4, large_ns, "ns of a take of 8 MiB");
    host_close(host);
}
