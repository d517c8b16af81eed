/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Numbers that outlive what they named, and inputs that live no longer than
 * the submit.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

/* ---- Handles that come and go ------------------------------------------- */

enum { LIVES = 12, EACH = 4 };

/* What one life of a handle leaves: tickets and ids, some of them live. */
struct remains {
    uint64_t tickets[EACH];
    uint64_t ids[EACH];
};

static struct host *
live(struct remains *remains)
{
    struct host *host = host_open(1);
    for (uint32_t i = 0; i < EACH; i++) {
        uint32_t flags = i == 3 ? DIAGNOSTIC | INLINE : DIAGNOSTIC;
        remains->ids[i] =
            host_buffer(host, conform_pattern(300, 0, i), 300, NULL);
        remains->tickets[i] = host_submit(host, flags, "\0own", 4);
        host_wait(host, remains->tickets[i]);
        if (i == 1) {
            host_take(host, remains->tickets[i]);
            host_buffer_free(host, remains->ids[i]);
        }
    }
    return host;
}

static void
expect_forgotten(struct host *host, const struct remains *remains)
{
    for (uint32_t i = 0; i < EACH; i++) {
        char text[80];
        uint64_t ticket = remains->tickets[i];
        snprintf(text, sizeof text, "ticket %llu not found or already taken",
                 (unsigned long long)ticket);
        struct outcome o = host_take(host, ticket);
        expect_code(FFI_ERR, o.code, "take of a closed handle's ticket");
        expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "that take");
        expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                    "cancel of a closed handle's ticket");
        o = host_try_submit(host, &diagnostic, NULL, 0, remains->ids[i]);
        expect_code(FFI_ERR, o.code, "submit of a closed handle's buffer");
        expect_text(TEXT_CONTAINS, "not found", o.msg, o.msg_len,
                    "that submit");
        host_buffer_free(host, remains->ids[i]);
    }
}

CONFORM_CASE(
    reopened, .id = "i1.take-once.reopened-handles",
    .clauses = "i1.take-once i1.ids-unique i1.buf-unknown-at-submit "
               "i1.buf-free-idempotent i3.cancel-harmless i4.tickets "
               "i1.close-releases-all",
    .why = "A handle that comes to lie where a closed one lay takes the old "
           "one's tickets and ids for its own.",
    .steps = "Twelve handles one after the other, in the same shape, each "
             "closed with buffers, results and inline completions; on each, "
             "all numbers of all before it are taken, cancelled, submitted "
             "and freed.",
    .expected = "Not found; its own results and buffers are whole; live_bytes "
                "back after the last.",
    .transports = CONFORM_BOTH,
    .mutant = "ticket-counter-per-handle buf-ids-per-handle")
{
    static struct remains remains[LIVES];
    AllocStats before, after;
    api.alloc_stats(&before);
    for (uint32_t n = 0; n < LIVES; n++) {
        struct host *host = live(&remains[n]);
        AllocStats held, kept;
        api.alloc_stats(&held);
        for (uint32_t old = 0; old < n; old++)
            expect_forgotten(host, &remains[old]);
        api.alloc_stats(&kept);
        expect_u64(held.live_bytes, kept.live_bytes,
                   "live_bytes after old numbers on handle %u", n);
        struct outcome o = host_take(host, remains[n].tickets[0]);
        expect_code(FFI_OK, o.code, "its own result");
        expect_bytes("\0own", 4, o.bytes, o.len, "its own result");
        uint64_t ticket =
            host_submit_buffer(host, &diagnostic, remains[n].ids[0]);
        host_wait(host, ticket);
        o = host_take(host, ticket);
        expect_bytes(conform_pattern(300, 0, 0), 300, o.bytes, o.len,
                     "its own buffer");
        host_close(host);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
}

/* ---- Overwritten right at return ---------------------------------------- */

struct eraser {
    _Atomic uint32_t submitted; /* rounds whose submit has returned */
    _Atomic uint32_t erased;
    uint32_t rounds;
    CallHeader header;
    uint8_t input[GUSSET_MAX_INLINE_INPUT];
};

/* Closer than a wake-up, and yet others get to run. */
static void
spin_until(_Atomic uint32_t *count, uint32_t at_least)
{
    for (uint32_t i = 1; atomic_load(count) < at_least; i++) {
        if (i % 256 == 0)
            sched_yield();
    }
}

static void
erase(void *argument)
{
    struct eraser *eraser = argument;
    for (uint32_t round = 1; round <= eraser->rounds; round++) {
        spin_until(&eraser->submitted, round);
        memset(&eraser->header, 0xff, sizeof eraser->header);
        memset(eraser->input, 1, sizeof eraser->input);
        atomic_store(&eraser->erased, round);
    }
}

CONFORM_CASE(
    erased_at_return, .id = "i1.input-copied.erased-at-return",
    .clauses = "i1.input-copied i4.header-verbatim",
    .why = "A worker that still reads the host's memory when submit returns "
           "sees what another thread of the host puts there next.",
    .steps = "300 echoes and mode 7s of 1 to 4096 bytes on an idle worker; "
             "another thread overwrites input and header the moment submit "
             "has returned.",
    .expected = "The bytes and ids as they were at submit.",
    .transports = CONFORM_BOTH, .mutant = "input-not-copied")
{
    static const size_t sizes[] = {24, 1, 48, 49, 4095, 4096};
    static struct eraser eraser;
    struct host *host = host_open(1);
    eraser.rounds = conform_rounds(300, 20000);
    struct conform_thread *thread = conform_thread_start(erase, &eraser, 0);
    for (uint32_t round = 1; round <= eraser.rounds; round++) {
        size_t size = sizes[round % 6];
        bool ids = size == 24;
        uint8_t right[GUSSET_MAX_INLINE_INPUT];
        memset(right, (int)(round % 200) + 20, size);
        memset(&eraser.header, 0, sizeof eraser.header);
        eraser.header.flags = DIAGNOSTIC;
        memcpy(eraser.header.trace_id, right, ids ? 16 : 0);
        memcpy(eraser.header.span_id, right, ids ? 8 : 0);
        memcpy(eraser.input, right, size);
        if (ids)
            eraser.input[0] = 7;
        uint64_t ticket =
            host_submit_header(host, &eraser.header, eraser.input, size);
        atomic_store(&eraser.submitted, round);
        host_wait(host, ticket);
        struct outcome o = host_take(host, ticket);
        expect_code(FFI_OK, o.code, "a job of %zu bytes", size);
        expect_bytes(right, size, o.bytes, o.len, "%s of %zu bytes",
                     ids ? "the ids" : "the echo", size);
        spin_until(&eraser.erased, round);
    }
    conform_thread_join(thread);
    host_close(host);
}

/* ---- Results that pile up ----------------------------------------------- */

enum { PILE = 3000 };

CONFORM_CASE(
    many_untaken, .id = "i1.take-once.many-untaken",
    .clauses = "i1.take-once i1.take-small i4.exactly-once "
               "i1.close-releases-all",
    .why = "A table of results that is fixed, wraps or grows wrongly loses "
           "or mixes up what a slow host has not taken yet.",
    .steps = "3000 echoes, each other bytes and lengths, none taken; then "
             "two of three in scrambled order, each twice; the rest is left "
             "to the close.",
    .expected = "Each its own bytes, once; live_bytes back after close.",
    .transports = CONFORM_BOTH, .mutant = "ticket-index-cut-to-ten-bits")
{
    static uint64_t tickets[PILE];
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open(2);
    for (uint32_t i = 0; i < PILE; i++) {
        uint8_t input[64] = {0};
        put_u32le(input + 1, i);
        tickets[i] = host_submit_patiently(host, &diagnostic, input,
                                           5 + i % (sizeof input - 5));
    }
    for (uint32_t i = 0; i < PILE; i++)
        host_wait(host, tickets[i]);
    for (uint32_t n = 0; n < PILE; n++) {
        uint32_t i = n * 1237 % PILE;
        if (i % 3 == 0)
            continue;
        struct outcome o = host_take(host, tickets[i]);
        expect_code(FFI_OK, o.code, "take of result %u of %u", i, PILE);
        expect_u64(5 + i % 59, o.len, "length of result %u", i);
        expect_u64(i, get_u32le(o.bytes + 1), "the number in result %u", i);
        o = host_take(host, tickets[i]);
        expect_code(FFI_ERR, o.code, "second take of result %u", i);
    }
    host_close(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after close");
}
