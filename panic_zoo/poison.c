/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The poison latch: when it closes, what it stops, and what it must not touch.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "zoo.h"

CONFORM_CASE(
    poison_latch, .id = "i2.poison-latch.for-ever",
    .clauses = "i2.poison-latch i4.completion-order",
    .why = "A firewall that reports a panic but goes on admitting work to an "
           "engine whose state is torn.",
    .steps = "Read the completion of a mode 1 without taking it; submit and "
             "buf_alloc at once, 200 times, after the take, after an init, "
             "and after a shutdown and another init.",
    .expected = "FFI_POISONED with the text `handle is poisoned` every time.",
    .mutant = "no-poison-latch buf-alloc-ignores-poison",
    .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\1", 1);
    host_wait(host, ticket);
    zoo_expect_poisoned(host, "once the completion was read");
    for (int i = 0; i < 200; i++)
        zoo_expect_poisoned(host, "again and again");
    struct outcome panic = host_take(host, ticket);
    expect_code(FFI_PANIC, panic.code, "the panicking job itself");
    zoo_expect_poisoned(host, "after the take");
    expect_code(FFI_OK, api.init(), "init");
    zoo_expect_poisoned(host, "after an init");
    expect_code(FFI_OK, api.shutdown(5000), "shutdown, nothing in flight");
    zoo_expect_poisoned(host, "during a shutdown");
    expect_code(FFI_OK, api.init(), "init after the shutdown");
    zoo_expect_poisoned(host, "after shutdown and init");
    host_close(host);
}

/* ---- Results of every size outlive the panic of a sibling --------------- */

static const size_t sizes[] = {0, 1, 47, 48, 49, 4096, 4097, 65536};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* `lead` bytes in front (a mode 9 and its length), then an echo of `size`. */
static uint64_t
submit_sized(struct host *host, uint32_t flags, size_t lead, size_t index)
{
    size_t size = sizes[index];
    uint8_t *input = conform_pattern(size + lead, lead ? 9 : 0, 0);
    if (lead != 0)
        input[1] = 3;
    memcpy(input + lead, conform_pattern(size, 0, index), size);
    CallHeader header = zoo_header(DIAGNOSTIC | flags, 0);
    if (size + lead <= GUSSET_MAX_INLINE_INPUT)
        return host_submit_header(host, &header, input, size + lead);
    uint64_t id = host_buffer(host, input, size + lead, NULL);
    uint64_t ticket = host_submit_buffer(host, &header, id);
    host_buffer_free(host, id);
    return ticket;
}

static void
expect_sized(struct host *host, struct completion done, size_t index,
             const char *what)
{
    struct outcome o = host_outcome(host, &done);
    expect_code(FFI_OK, o.code, "%s of %zu bytes", what, sizes[index]);
    expect_bytes(conform_pattern(sizes[index], 0, index), sizes[index], o.bytes,
                 o.len, "%s of %zu bytes", what, sizes[index]);
}

CONFORM_CASE(
    finished_results, .id = "i2.poison-new-work-only.finished-results",
    .clauses = "i2.poison-new-work-only i2.pool-survives",
    .why = "A take that looks at the poison before the result destroys what "
           "a sibling had already finished.",
    .steps = "Finish echoes of 0, 1, 47, 48, 49, 4096, 4097 and 65 536 bytes "
             "with and without the inline flag; panic; then take them.",
    .expected = "FFI_OK and every byte; take never returns FFI_POISONED.",
    .mutant = "poison-destroys-small-result", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    struct completion done[2][SIZES];
    for (uint32_t flag = 0; flag < 2; flag++) {
        for (size_t i = 0; i < SIZES; i++) {
            uint64_t ticket = submit_sized(host, flag ? INLINE : 0, 0, i);
            done[flag][i] = host_wait(host, ticket);
        }
    }
    zoo_poison(host);
    for (uint32_t flag = 0; flag < 2; flag++) {
        for (size_t i = 0; i < SIZES; i++)
            expect_sized(host, done[flag][i], i,
                         flag ? "finished, inline asked for" : "finished");
    }
    zoo_expect_poisoned(host, "after the takes");
    host_close(host);
}

CONFORM_CASE(
    running_siblings, .id = "i2.poison-new-work-only.running-siblings",
    .clauses = "i2.poison-new-work-only",
    .why = "The result of a job that was running while its sibling panicked "
           "is thrown away on its way out.",
    .steps = "For each size: a sleeping echo beside a plain mode 1, pool 2, "
             "with and without the inline flag; take the echo after the "
             "panic was read.",
    .expected = "FFI_OK and every byte of the echo.",
    .mutant = "poison-destroys-small-result", .transports = CONFORM_BOTH,
    .tags = CONFORM_SLEEPS)
{
    struct host *hosts[2][SIZES] = {{NULL}};
    uint64_t echoes[2][SIZES];
    uint64_t panics[2][SIZES];
    for (uint32_t flag = 0; flag < 2; flag++) {
        for (size_t i = 1; i < SIZES; i++) {
            struct host *host = host_open(2);
            hosts[flag][i] = host;
            echoes[flag][i] = submit_sized(host, flag ? INLINE : 0, 2, i);
            panics[flag][i] = host_submit(host, DIAGNOSTIC, "\1", 1);
        }
    }
    for (uint32_t flag = 0; flag < 2; flag++) {
        for (size_t i = 1; i < SIZES; i++) {
            struct host *host = hosts[flag][i];
            host_wait(host, panics[flag][i]);
            expect_sized(host, host_wait(host, echoes[flag][i]), i,
                         "running sibling");
            struct outcome panic = host_take(host, panics[flag][i]);
            expect_code(FFI_PANIC, panic.code, "the panicking job");
            host_close(host);
        }
    }
}

CONFORM_CASE(
    other_calls, .id = "i2.poison-new-work-only.other-calls",
    .clauses = "i2.poison-new-work-only i4.ring-attach",
    .why = "A latch in front of every call locks the host out of its own "
           "memory, tickets and handle.",
    .steps = "Poison a handle that holds buffers and an untaken large result; "
             "then take, cancel, cancel_all, buf_free, handle_ring, close.",
    .expected = "Each does what it does on a healthy handle; live_bytes falls "
                "by each freed buffer and is back after close.",
    .mutant = "poisoned-buf-free-refused")
{
    AllocStats start, held, freed, end;
    FfiStatus status = conform_dirty_status();
    api.alloc_stats(&start);
    struct host *host = host_open_with(2, CONFORM_PIPE);
    GussetHandle *handle = host_handle(host);
    uint64_t id = host_buffer(host, NULL, 1 << 20, NULL);
    uint64_t large = submit_sized(host, 0, 0, SIZES - 1);
    struct completion done = host_wait(host, large);
    zoo_poison(host);

    api.alloc_stats(&held);
    expect_code(FFI_OK,
                conform_settle(api.buf_free(handle, id, &status), &status).code,
                "buf_free on a poisoned handle");
    api.alloc_stats(&freed);
    expect_u64_at_least(1 << 20, held.live_bytes - freed.live_bytes,
                        "bytes that buf_free gave back");
    expect_sized(host, done, SIZES - 1, "result taken after the panic");
    status = conform_dirty_status();
    expect_code(
        FFI_OK,
        conform_settle(api.cancel(handle, large, &status), &status).code,
        "cancel on a poisoned handle");
    status = conform_dirty_status();
    expect_code(FFI_OK,
                conform_settle(api.cancel_all(handle, &status), &status).code,
                "cancel_all on a poisoned handle");
    struct outcome unknown = host_take(host, large);
    expect_code(FFI_ERR, unknown.code, "take of a taken ticket");
    host_attach_ring(host);
    host_close(host);
    api.alloc_stats(&end);
    expect_u64(start.live_bytes, end.live_bytes, "live_bytes after close");
}

CONFORM_CASE(
    cancel_still_works, .id = "i2.poison-new-work-only.cancel-reaches",
    .clauses = "i2.poison-new-work-only i3.cancel",
    .why = "A cancel that is a no-op on a poisoned handle leaves its jobs "
           "running to their end.",
    .steps = "Pool 3: two cooperative jobs run, a third panics; cancel one, "
             "cancel_all the rest.",
    .expected = "Both end as `cancelled: Explicit`.",
    .transports = CONFORM_BOTH, .mutant = "cancel-ignored-when-poisoned")
{
    static const uint8_t long_job[] = {5, 255};
    struct host *host = host_open(3);
    uint64_t one = host_submit(host, DIAGNOSTIC, long_job, sizeof long_job);
    uint64_t two = host_submit(host, DIAGNOSTIC, long_job, sizeof long_job);
    zoo_poison(host);
    FfiStatus status = conform_dirty_status();
    int32_t code = api.cancel(host_handle(host), one, &status);
    expect_code(FFI_OK, conform_settle(code, &status).code, "cancel");
    host_wait(host, one);
    struct outcome o = host_take(host, one);
    expect_code(FFI_ERR, o.code, "the cancelled job");
    expect_text(TEXT_IS, "cancelled: Explicit", o.msg, o.msg_len, "cancel");
    status = conform_dirty_status();
    code = api.cancel_all(host_handle(host), &status);
    expect_code(FFI_OK, conform_settle(code, &status).code, "cancel_all");
    host_wait(host, two);
    o = host_take(host, two);
    expect_code(FFI_ERR, o.code, "the job under cancel_all");
    expect_text(TEXT_IS, "cancelled: Explicit", o.msg, o.msg_len, "cancel_all");
    host_close(host);
}

CONFORM_CASE(
    per_handle, .id = "i2.poison-per-handle.eight-handles",
    .clauses = "i2.poison-per-handle",
    .why = "A latch of the process in place of the handle.",
    .steps = "Eight handles; poison the even ones; use the odd ones, before "
             "and after the even ones are closed; open a ninth.",
    .expected = "The odd ones and the ninth echo and give buffers; the even "
                "ones refuse.",
    .mutant = "poison-all-handles", .transports = CONFORM_BOTH)
{
    struct host *hosts[8];
    for (size_t i = 0; i < 8; i++)
        hosts[i] = host_open(2);
    for (size_t i = 0; i < 8; i += 2)
        zoo_poison(hosts[i]);
    for (size_t i = 1; i < 8; i += 2)
        zoo_expect_healthy(hosts[i], "a handle beside poisoned ones");
    conform_fresh_handle_works();
    for (size_t i = 0; i < 8; i += 2) {
        zoo_expect_poisoned(hosts[i], "a poisoned handle among others");
        host_close(hosts[i]);
    }
    for (size_t i = 1; i < 8; i += 2) {
        zoo_expect_healthy(hosts[i], "after the poisoned ones were closed");
        host_close(hosts[i]);
    }
}

CONFORM_CASE(
    first_panic, .id = "i2.first-panic-then-poisoned.each-panic",
    .clauses = "i2.first-panic-then-poisoned i2.pool-survives",
    .why = "A job that panicked is reported as a victim of the poison, so "
           "that nobody learns its text.",
    .steps = "Pool 1: a delayed panic runs, two panics and an echo wait in "
             "the queue; take all of them after refusals were seen.",
    .expected = "Every panicking job is FFI_PANIC with its own text; the echo "
                "behind them is FFI_OK; only later calls are FFI_POISONED.",
    .transports = CONFORM_BOTH, .mutant = "panic-reported-as-poisoned")
{
    static const uint8_t delayed[] = {9, 3, 1};
    struct host *host = host_open(1);
    uint64_t first = host_submit(host, DIAGNOSTIC, delayed, sizeof delayed);
    struct outcome second = zoo_submit_unless_poisoned(host, "\3", 1);
    struct outcome third = zoo_submit_unless_poisoned(host, "\0\7", 2);
    host_wait(host, first);
    zoo_expect_poisoned(host, "before any take");
    struct outcome o = host_take(host, first);
    expect_code(FFI_PANIC, o.code, "the first panic");
    expect_text(TEXT_BEGINS, "PANIC: plain panic", o.msg, o.msg_len,
                "the first panic");
    if (second.code == FFI_OK) {
        host_wait(host, second.ticket);
        o = host_take(host, second.ticket);
        expect_code(FFI_PANIC, o.code, "the second panic");
        expect_text(TEXT_BEGINS, "PANIC: panic payload (i32): 42", o.msg,
                    o.msg_len, "the second panic");
    }
    if (third.code == FFI_OK) {
        host_wait(host, third.ticket);
        o = host_take(host, third.ticket);
        expect_code(FFI_OK, o.code, "the echo behind two panics");
        expect_bytes("\0\7", 2, o.bytes, o.len, "the echo");
    }
    zoo_expect_poisoned(host, "after the takes");
    host_close(host);
}

/* ---- Panics that nobody waits for --------------------------------------- */

/*
 * Submits to a pool of 1 and returns when the unit has left the queue: of a
 * queue of 2, three accepted units mean that the first is with the worker.
 * False: it was over before that could be seen, or never got so far.
 */
static bool
submit_and_see_it_run(struct host *host, const CallHeader *header,
                      const uint8_t *input, size_t len, uint64_t *ticket)
{
    *ticket = host_submit_header(host, header, input, len);
    for (int behind = 0; behind < 2; behind++) {
        struct outcome o = zoo_submit_unless_poisoned(host, "\0", 1);
        if (o.code != FFI_OK)
            return false;
    }
    return true;
}

/*
 * True: poisoned. False: the unit was stopped before it entered the engine,
 * which no handshake of a black box can exclude; its own text says so.
 */
static bool
poisoned_by_abandoned(struct host *host, uint64_t ticket, const char *text,
                      const char *what)
{
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    host_wait(host, ticket);
    int32_t code = api.buf_alloc(host_handle(host), 64, &id, &bytes, NULL);
    if (code == FFI_POISONED) {
        zoo_expect_poisoned(host, what);
        return true;
    }
    struct outcome o = host_take(host, ticket);
    expect_text(TEXT_IS, text, o.msg, o.msg_len,
                "%s: the only way not to be poisoned is not to have run", what);
    return false;
}

/* 0 cancel, 1 cancel_all, 2 a shutdown that does not wait. */
static int32_t
stop_abandoned(struct host *host, uint64_t ticket, int stop)
{
    if (stop == 2)
        return api.shutdown(0);
    return stop == 1 ? api.cancel_all(host_handle(host), NULL)
                     : api.cancel(host_handle(host), ticket, NULL);
}

CONFORM_CASE(
    abandoned_cancelled, .id = "i2.poison-abandoned.cancelled",
    .clauses = "i2.poison-abandoned",
    .why = "A latch that closes only while a result is handed over never "
           "sees the panic of a job that was given up.",
    .steps = "A unit that sleeps and then panics runs; cancel it, or "
             "cancel_all, or shut down; its result is not taken. Once more "
             "with a longer sleep where that came before the start.",
    .expected = "The handle is poisoned once the completion is read.",
    .mutant = "no-poison-latch panic-hidden-by-shutdown",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const char *const stops[] = {"cancel", "cancel_all", "shutdown"};
    for (int stop = 0; stop < 3; stop++) {
        bool poisoned = false;
        for (uint32_t steps = 3; !poisoned && steps < 200; steps *= 4) {
            const uint8_t input[] = {9, (uint8_t)steps, 1};
            const struct timespec third = {.tv_nsec = steps * 3333333L};
            struct host *host = host_open(1);
            CallHeader header = zoo_header(DIAGNOSTIC, 0);
            uint64_t ticket = 0;
            if (submit_and_see_it_run(host, &header, input, sizeof input,
                                      &ticket))
                nanosleep(&third, NULL);
            int32_t code = stop_abandoned(host, ticket, stop);
            expect(code == FFI_OK || stop == 2, "%s: %s", stops[stop],
                   conform_code_name(code));
            poisoned = poisoned_by_abandoned(host, ticket,
                                             stop == 2 ? "cancelled: Shutdown"
                                                       : "cancelled: Explicit",
                                             stops[stop]);
            expect_code(FFI_OK, api.init(), "init");
            host_close(host);
        }
        expect(poisoned, "a job that panics after %s poisons", stops[stop]);
    }
}

CONFORM_CASE(
    abandoned_deadline, .id = "i2.poison-abandoned.past-deadline",
    .clauses = "i2.poison-abandoned",
    .why = "A job that is written off at its deadline panics unseen later.",
    .steps = "A unit with a deadline runs, sleeps past it without checking, "
             "then panics; its result is not taken. Once more with longer "
             "times where the deadline came before the start.",
    .expected = "The handle is poisoned once the completion is read.",
    .mutant = "no-poison-latch", .transports = CONFORM_BOTH,
    .tags = CONFORM_SLEEPS)
{
    bool poisoned = false;
    for (uint32_t steps = 4; !poisoned && steps < 250; steps *= 3) {
        const uint8_t input[] = {9, (uint8_t)steps, 1};
        struct host *host = host_open(1);
        CallHeader header = zoo_header(DIAGNOSTIC, 0);
        header.timeout_ns = (uint64_t)steps * 5000000;
        uint64_t ticket =
            host_submit_header(host, &header, input, sizeof input);
        poisoned =
            poisoned_by_abandoned(host, ticket, "cancelled: DeadlineExceeded",
                                  "panic past the deadline");
        host_close(host);
    }
    expect(poisoned, "a job that panics past its deadline poisons");
}

static bool
refuses_as_poisoned(void *argument)
{
    struct host *host = argument;
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    int32_t code = api.buf_alloc(host_handle(host), 64, &id, &bytes, NULL);
    if (code == FFI_OK)
        api.buf_free(host_handle(host), id, NULL);
    return code == FFI_POISONED;
}

CONFORM_CASE(
    abandoned_unread, .id = "i2.poison-abandoned.never-read",
    .clauses = "i2.poison-abandoned",
    .why = "Poison that is set by the reading of a completion is not set "
           "when the host reads none.",
    .steps = "Submit a mode 1 and read nothing; ask buf_alloc until it "
             "refuses; only then read, and close without a take.",
    .expected = "FFI_POISONED within patience, with nothing read or taken; "
                "live_bytes back after close.",
    .mutant = "no-poison-latch poison-only-when-taken",
    .transports = CONFORM_BOTH)
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open(1);
    host_submit(host, DIAGNOSTIC, "\1", 1);
    expect(conform_eventually(refuses_as_poisoned, host),
           "a panic poisons although nobody reads its completion");
    zoo_expect_poisoned(host, "nothing read");
    host_close(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after a panic that was never taken");
}
