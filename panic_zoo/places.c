/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Panics at the same time, or one after the other on one worker: each keeps
 * its own place and text [i2.location].
 */
#include <string.h>

#include "zoo.h"

#define MODES 4u
#define HANDLES 2u
#define POOL 4u
#define QUEUED (2u * POOL)

static const uint8_t modes[MODES] = {1, 2, 3, 12};
static const char *const texts[MODES] = {
    "PANIC: plain panic", "PANIC: panic with embedded NUL ",
    "PANIC: panic payload (i32): 42", "PANIC: AAAAAAAAAAAAAAAA"};

static void
learn_places(struct outcome *alone)
{
    for (size_t i = 0; i < MODES; i++) {
        struct host *host = host_open(1);
        alone[i] = host_call(host, DIAGNOSTIC, &modes[i], 1);
        host_close(host);
        expect_code(FFI_PANIC, alone[i].code, "mode %u alone", modes[i]);
        expect(alone[i].has_file && alone[i].line > 0,
               "mode %u carries a place", modes[i]);
    }
}

static void
judge_place(const struct outcome *right, const struct outcome *o, size_t mode)
{
    expect_code(FFI_PANIC, o->code, "mode %u among others", modes[mode]);
    expect_text(TEXT_BEGINS, texts[mode], o->msg, o->msg_len,
                "mode %u among others", modes[mode]);
    expect_bytes(right->file, right->file_len, o->file ? o->file : "",
                 o->file_len, "file of mode %u among others", modes[mode]);
    expect_u64(right->line, o->line, "line of mode %u among others",
               modes[mode]);
}

/* Sleepers hold the workers while the panics are put behind them. */
static uint32_t
queue_panics(struct host *host, uint64_t *tickets, uint32_t first)
{
    static const uint8_t sleeper[] = {9, 3};
    CallHeader header = zoo_header(DIAGNOSTIC | INLINE, 0);
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < POOL; i++)
        host_submit_patiently(host, &header, sleeper, sizeof sleeper);
    for (uint32_t i = 0; i < QUEUED; i++) {
        struct outcome o =
            host_try_submit(host, &header, &modes[(first + i) % MODES], 1, 0);
        tickets[i] = o.code == FFI_OK ? o.ticket : 0;
        accepted += o.code == FFI_OK;
    }
    return accepted;
}

CONFORM_CASE(
    places_at_once, .id = "i2.location.many-at-once",
    .clauses = "i2.location i2.first-panic-then-poisoned i2.pool-survives "
               "i2.storm",
    .why = "A place that is kept for the process, the handle or the thread "
           "is that of another panic as soon as two are under way.",
    .steps = "Modes 1, 2, 3 and 12 alone; then 16 of them, mixed, behind "
             "sleepers on two handles of 4 workers; all completions are read "
             "before the first is taken, the last first.",
    .expected = "Each with the text, file and line of its mode alone.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "place-of-the-latest-panic")
{
    struct outcome alone[MODES];
    struct host *hosts[HANDLES];
    uint64_t tickets[HANDLES][QUEUED];
    uint32_t accepted = 0;
    learn_places(alone);
    for (uint32_t h = 0; h < HANDLES; h++) {
        hosts[h] = host_open(POOL);
        accepted += queue_panics(hosts[h], tickets[h], h);
    }
    conform_evidence("panics", "%u of %u came before the first", accepted,
                     HANDLES * QUEUED);
    for (uint32_t h = 0; h < HANDLES; h++) {
        for (uint32_t i = 0; i < QUEUED; i++) {
            if (tickets[h][i] != 0)
                host_wait(hosts[h], tickets[h][i]);
        }
    }
    for (uint32_t n = HANDLES * QUEUED; n-- > 0;) {
        uint32_t h = n / QUEUED;
        uint64_t ticket = tickets[h][n % QUEUED];
        if (ticket == 0)
            continue;
        struct outcome o = host_take(hosts[h], ticket);
        judge_place(&alone[(h + n % QUEUED) % MODES], &o,
                    (h + n % QUEUED) % MODES);
    }
    for (uint32_t h = 0; h < HANDLES; h++)
        host_close(hosts[h]);
}
