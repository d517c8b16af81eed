/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a panic must not touch, for results and inputs that are buffers; and
 * what a cancel, a deadline or a shutdown must not hide of a panic.
 */
#include <string.h>

#include "zoo.h"

/* ---- Buffers around a panic --------------------------------------------- */

static const uint32_t sizes[] = {1, 48, 4096, 4097, 65536, 1 << 20};
#define SIZES (sizeof sizes / sizeof sizes[0])
#define SHARED 200000u

static uint64_t
generate(struct host *host, uint32_t size, uint32_t flags)
{
    uint8_t input[6] = {16, 0, 0, 0, 0, 7};
    CallHeader header = zoo_header(DIAGNOSTIC | flags, 0);
    put_u32le(input + 1, size);
    return host_submit_patiently(host, &header, input, sizeof input);
}

static void
expect_generated(struct host *host, uint64_t ticket, uint32_t size,
                 const char *what)
{
    struct completion done = host_wait(host, ticket);
    struct outcome o = host_outcome(host, &done);
    expect_code(FFI_OK, o.code, "%s of %u bytes", what, size);
    expect_u64(size, o.len, "%s: length", what);
    for (uint32_t i = 0; i < size; i++) {
        if (o.bytes[i] != (uint8_t)(i ^ 7))
            expect_u64((uint8_t)(i ^ 7), o.bytes[i], "%s: byte %u of %u", what,
                       i, size);
    }
}

/* Everything that is a buffer and outlives the panic. */
struct belongings {
    struct host *host;
    uint64_t finished[SIZES];
    uint64_t queued[2];
    uint64_t sums[3]; /* of one shared input: two run, one waits */
    uint64_t shared;
    uint64_t right_sum;
    uint64_t panic;
};

static void
lay_out(struct belongings *b)
{
    static const uint8_t delayed[] = {9, 3, 1};
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    uint8_t *bytes = NULL;
    for (size_t i = 0; i < SIZES; i++) {
        b->finished[i] = generate(b->host, sizes[i], i % 2 ? INLINE : 0);
        struct completion done = host_wait(b->host, b->finished[i]);
        if (done.inlined)
            b->finished[i] = 0;
    }
    b->shared =
        host_buffer(b->host, conform_pattern(SHARED, 9, 3), SHARED, &bytes);
    bytes[1] = 3;
    bytes[2] = 10;
    for (uint32_t i = 3; i < SHARED; i++)
        b->right_sum += (uint64_t)bytes[i] * bytes[i];
    for (int i = 0; i < 2; i++)
        b->sums[i] = host_submit_buffer(b->host, &header, b->shared);
    b->panic = host_submit(b->host, DIAGNOSTIC, delayed, sizeof delayed);
    for (int i = 0; i < 3; i++) {
        uint8_t input[6] = {16, 0, 0, 3, 0, 7};
        struct outcome o =
            i < 2 ? host_try_submit(b->host, &header, input, sizeof input, 0)
                  : host_try_submit(b->host, &header, NULL, 0, b->shared);
        uint64_t *ticket = i < 2 ? &b->queued[i] : &b->sums[2];
        *ticket = o.code == FFI_OK ? o.ticket : 0;
        expect(o.code == FFI_OK || o.code == FFI_POISONED,
               "a unit beside the panic: %s", conform_code_name(o.code));
    }
    host_buffer_free(b->host, b->shared);
}

CONFORM_CASE(
    buffers_survive, .id = "i2.poison-new-work-only.buffers",
    .clauses = "i2.poison-new-work-only i2.pool-survives i1.free-under-job "
               "i1.close-releases-all",
    .why = "Poison that clears the handle's buffers, to save memory or to "
           "hide torn state, takes results and inputs of jobs that have "
           "nothing to do with the panic.",
    .steps = "Generated results of 1 byte to 1 MiB wait to be taken; two "
             "running jobs and one queued share an input that is freed under "
             "them; two generations wait in the queue; a fourth job panics.",
    .expected = "Every result byte for byte; a submit of a known buffer is "
                "FFI_POISONED; live_bytes back after close.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "poisoned-take-refuses-large")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct belongings b = {.host = host_open(3)};
    uint64_t kept = host_buffer(b.host, NULL, 64, NULL);
    lay_out(&b);
    host_wait(b.host, b.panic);
    zoo_expect_poisoned(b.host, "buffers around");
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    struct outcome o = host_try_submit(b.host, &header, NULL, 0, kept);
    expect_code(FFI_POISONED, o.code, "submit of a buffer that is known");
    for (size_t i = 0; i < SIZES; i++) {
        if (b.finished[i] == 0)
            continue;
        o = host_take(b.host, b.finished[i]);
        expect_code(FFI_OK, o.code, "finished generation of %u", sizes[i]);
        expect_u64(sizes[i], o.len, "finished generation: length");
        expect_u64((uint8_t)((sizes[i] - 1) ^ 7), o.bytes[sizes[i] - 1],
                   "finished generation of %u: last byte", sizes[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (b.queued[i] != 0)
            expect_generated(b.host, b.queued[i], 3 << 16, "queued generation");
    }
    for (int i = 0; i < 3; i++) {
        if (b.sums[i] == 0)
            continue;
        host_wait(b.host, b.sums[i]);
        o = host_take(b.host, b.sums[i]);
        expect_code(FFI_OK, o.code, "sum %d of a shared input", i);
        expect_u64(b.right_sum, get_u64le(o.bytes), "sum %d", i);
    }
    host_close(b.host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after close");
}

/* ---- A panic that was to be stopped ------------------------------------- */

enum stop { BY_CANCEL, BY_CANCEL_ALL, BY_DEADLINE, BY_SHUTDOWN, STOPS };

static const char *const stop_texts[STOPS] = {
    "cancelled: Explicit", "cancelled: Explicit", "cancelled: DeadlineExceeded",
    "cancelled: Shutdown"};

/* False: the stop came before the unit had entered the engine. */
static bool
panics_all_the_same(enum stop stop, uint8_t steps)
{
    const uint8_t input[] = {9, steps, 1};
    struct host *host = host_open(1);
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    if (stop == BY_DEADLINE)
        header.timeout_ns = (uint64_t)steps * 5000000;
    uint64_t ticket = host_submit_header(host, &header, input, sizeof input);
    /* Two that fit behind it: the first has left the queue. */
    for (int i = 0; i < 2; i++)
        zoo_submit_unless_poisoned(host, "\0", 1);
    GussetHandle *handle = host_handle(host);
    if (stop == BY_CANCEL)
        expect_code(FFI_OK, api.cancel(handle, ticket, NULL), "cancel");
    if (stop == BY_CANCEL_ALL)
        expect_code(FFI_OK, api.cancel_all(handle, NULL), "cancel_all");
    if (stop == BY_SHUTDOWN)
        expect_code(FFI_OK, api.shutdown(10000), "shutdown");
    host_wait(host, ticket);
    struct outcome o = host_take(host, ticket);
    if (o.code == FFI_PANIC) {
        expect_text(TEXT_BEGINS, "PANIC: plain panic", o.msg, o.msg_len,
                    "a panic that was to be stopped");
        expect(o.has_file && o.line > 0, "it has its place");
        zoo_expect_poisoned(host, "after a panic that was to be stopped");
    } else {
        expect_text(TEXT_IS, stop_texts[stop], o.msg ? o.msg : "", o.msg_len,
                    "a unit that was stopped before it ran");
        uint64_t id = 0;
        uint8_t *bytes = NULL;
        expect_code(FFI_OK, api.buf_alloc(handle, 64, &id, &bytes, NULL),
                    "a unit that is reported as stopped has not panicked");
    }
    if (stop == BY_SHUTDOWN)
        expect_code(FFI_OK, api.init(), "init");
    host_close(host);
    return o.code == FFI_PANIC;
}

CONFORM_CASE(
    stopped_panic, .id = "i2.first-panic-then-poisoned.stopped-meanwhile",
    .clauses = "i2.first-panic-then-poisoned i2.poison-abandoned "
               "i2.location-only-on-panic",
    .why = "A panic after a cancel, a deadline or in a shutdown is reported "
           "as that, and nobody learns why the handle is dead.",
    .steps = "A unit that sleeps without checking and then panics runs; "
             "meanwhile it is cancelled, swept, past its deadline, or the "
             "process shuts down; take it. With a longer sleep where it was "
             "stopped before it ran.",
    .expected = "FFI_PANIC with its text and place, and a poisoned handle.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "stop-hides-the-panic")
{
    for (enum stop stop = 0; stop < STOPS; stop++) {
        bool panicked = false;
        for (uint32_t steps = 4; !panicked && steps < 250; steps *= 3)
            panicked = panics_all_the_same(stop, (uint8_t)steps);
        expect(panicked, "a job that panics after stop %u reports it",
               (unsigned)stop);
    }
}

/* ---- Panics over an input that is a buffer ------------------------------ */

static bool
live_is_below(void *argument)
{
    AllocStats now;
    api.alloc_stats(&now);
    return now.live_bytes < *(const uint64_t *)argument;
}

static void
panic_over_buffer(uint8_t mode, uint8_t parameter, size_t len, bool twice)
{
    struct host *host = host_open(2);
    CallHeader header = zoo_header(DIAGNOSTIC | INLINE, 0);
    uint8_t *bytes = NULL;
    uint64_t id = host_buffer(host, conform_pattern(len, 9, 1), len, &bytes);
    const uint8_t lead[] = {9, 2, mode, parameter};
    memcpy(bytes, lead, sizeof lead);
    uint64_t tickets[2];
    uint32_t accepted = 0;
    for (int i = 0; i < 1 + twice; i++) {
        struct outcome o = host_try_submit(host, &header, NULL, 0, id);
        expect(o.code == FFI_OK || (i == 1 && o.code == FFI_POISONED),
               "job %d over the buffer: %s", i, conform_code_name(o.code));
        if (o.code == FFI_OK)
            tickets[accepted++] = o.ticket;
    }
    AllocStats held;
    api.alloc_stats(&held);
    host_buffer_free(host, id);
    for (uint32_t i = 0; i < accepted; i++) {
        host_wait(host, tickets[i]);
        struct outcome o = host_take(host, tickets[i]);
        expect(o.code == FFI_PANIC || (o.code == FFI_ERR && mode == 4),
               "mode %u over a buffer of %zu: %s", mode, len,
               conform_code_name(o.code));
    }
    uint64_t ceiling = held.live_bytes - len + 65536;
    expect(conform_eventually(live_is_below, &ceiling),
           "mode %u: the input of %zu bytes, freed under the job, leaves "
           "live_bytes with it",
           mode, len);
    host_close(host);
}

CONFORM_CASE(
    buffer_inputs, .id = "i2.contained.buffer-inputs",
    .clauses = "i2.contained i1.input-buffer-rule i1.free-under-job "
               "i1.close-releases-all i2.pool-survives",
    .why = "A panic skips what comes after the engine: nobody lets go of the "
           "input, which then leaks or is counted as read for ever.",
    .steps = "Modes 1, 2, 3, 4, 12, 13 and 15, each as one job and as two "
             "jobs on one buffer of 200 000 bytes that is freed under them; "
             "live_bytes once they are taken; close; census.",
    .expected = "FFI_PANIC (mode 4: or FFI_ERR); the input leaves live_bytes "
                "with its last job, the handle still open.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "panic-keeps-the-input")
{
    static const uint8_t modes[] = {1, 2, 3, 4, 12, 13, 15};
    AllocStats before, after;
    api.alloc_stats(&before);
    for (size_t i = 0; i < sizeof modes; i++) {
        panic_over_buffer(modes[i], (uint8_t)i, 200000, false);
        panic_over_buffer(modes[i], (uint8_t)i, 200000, true);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after it");
}
