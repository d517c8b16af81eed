/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every reason to refuse a submit, with every form of input: the library has
 * copied, marked or reserved something by then, and gives all of it back.
 */

#include "../completions/raw.h"

#include <stdio.h>

enum reason {
    FULL_QUEUE,
    SHUTDOWN,
    UNKNOWN_FLAG,
    UNKNOWN_BUFFER,
    TOO_LONG,
    NO_POINTER,
    NO_HEADER,
    NO_TICKET,
    POISONED,
    READER_GONE,
    REASONS
};

static const char *const names[REASONS] = {
    "full queue",        "shutdown",
    "unknown flag",      "unknown buffer",
    "4097 bytes inline", "no pointer but a length",
    "no header",         "no place for the ticket",
    "poisoned",          "the reader is gone",
};

/* A handle on which each submit of this kind is refused, until it is ended. */
struct scene {
    struct host *host;
    enum reason reason;
    size_t filled; /* of a pipe that keeps the worker and the queue busy */
};

enum { TIMES = 40, LONGEST = GUSSET_MAX_INLINE_INPUT + 1 };

static const size_t forms[] = {0, 1, 48, 49, 320, 321, 1024, 4096};
static const size_t buffers[] = {64, 4096, 4097, 100000};
static uint8_t input[LONGEST] = {MODE_ECHO, 1, 2, 3};

static uint64_t
live_bytes(void)
{
    AllocStats stats;
    api.alloc_stats(&stats);
    return stats.live_bytes;
}

static bool
is_live(void *bytes)
{
    return live_bytes() == *(uint64_t *)bytes;
}

static void
expect_level(uint64_t before, const char *what, enum reason reason)
{
    expect(conform_eventually(is_live, &before),
           "live_bytes is back at %llu after %s, refused for: %s; it is %llu",
           (unsigned long long)before, what, names[reason],
           (unsigned long long)live_bytes());
}

/* The code of one submit as the scene has it. */
static int32_t
attempt(struct scene *scene, size_t len, uint64_t buffer)
{
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    const CallHeader *header_ptr = &header;
    const uint8_t *input_ptr = input;
    uint64_t ticket = 0, *ticket_ptr = &ticket;
    FfiStatus status = conform_dirty_status();
    if (scene->reason == UNKNOWN_FLAG)
        header.flags |= 0x40;
    if (scene->reason == UNKNOWN_BUFFER)
        buffer = UINT64_C(0x7fffffffffff0001);
    if (scene->reason == TOO_LONG)
        len = LONGEST;
    if (scene->reason == NO_POINTER) {
        input_ptr = NULL;
        len += len == 0;
    }
    if (scene->reason == NO_HEADER)
        header_ptr = NULL;
    if (scene->reason == NO_TICKET)
        ticket_ptr = NULL;
    int32_t code = api.submit(host_handle(scene->host), header_ptr, input_ptr,
                              len, buffer, ticket_ptr, &status);
    (void)conform_settle(code, &status);
    return code;
}

/* These three say nothing about a submit by buffer id. */
static bool
is_about_inline_input(enum reason reason)
{
    return reason == TOO_LONG || reason == NO_POINTER ||
           reason == UNKNOWN_BUFFER;
}

static bool
submit_is_refused(void *argument)
{
    struct scene *scene = argument;
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct outcome tried = host_try_submit(scene->host, &header, input, 3, 0);
    return tried.code != FFI_OK &&
           (scene->reason != READER_GONE || strstr(tried.msg, "full") == NULL);
}

/* One stalled completion and two units behind it, for as long as one likes. */
static void
fill_queue(struct scene *scene)
{
    struct conform_ring *ring = host_ring(scene->host);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint64_t i = 0; ring != NULL && i < ring->capacity; i++) {
        uint64_t position = ring->position + i;
        (void)host_submit(scene->host, DIAGNOSTIC, input, 3);
        while (ring_sequence(ring, position) != position + 1)
            expect(conform_now_ns() < give_up, "the ring fills");
    }
    scene->filled = pipe_fill(host_write_fd(scene->host));
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int i = 0; i < 3; i++)
        (void)host_submit_patiently(scene->host, &header, input, 3);
}

static void
lose_the_reader(struct scene *scene)
{
    struct conform_ring *ring = host_ring(scene->host);
    close(host_read_fd(scene->host));
    if (ring != NULL)
        expect(ring_announce(ring), "the ring is empty");
    expect(conform_eventually(submit_is_refused, scene),
           "submit is refused once the reader is gone");
    /* Comes back when nothing is on its way any more. */
    expect_code(FFI_OK, api.shutdown(5000), "shutdown without a reader");
    expect_code(FFI_OK, api.init(), "gusset_init");
}

static void
begin(struct scene *scene, enum reason reason)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    *scene = (struct scene){.host = host_open(1), .reason = reason};
    struct outcome first = host_call(scene->host, DIAGNOSTIC, input, 3);
    expect_code(FFI_OK, first.code, "an echo");
    if (reason == FULL_QUEUE)
        fill_queue(scene);
    if (reason == SHUTDOWN)
        expect_code(FFI_OK, api.shutdown(5000), "shutdown");
    if (reason == READER_GONE)
        lose_the_reader(scene);
    if (reason == POISONED) {
        first = host_call(scene->host, DIAGNOSTIC, panic, 1);
        expect_code(FFI_PANIC, first.code, "the panic");
    }
}

static void
end(struct scene *scene)
{
    if (scene->reason == SHUTDOWN)
        expect_code(FFI_OK, api.init(), "gusset_init");
    if (scene->filled > 0)
        pipe_unfill(host_read_fd(scene->host), scene->filled);
    if (scene->reason != READER_GONE) {
        host_close(scene->host);
        return;
    }
    FfiStatus status = conform_dirty_status();
    struct outcome closed = conform_settle(
        api.handle_close(host_handle(scene->host), &status), &status);
    expect_code(FFI_OK, closed.code, "close without a reader");
    if (host_ring(scene->host) != NULL)
        api.ring_release(host_ring(scene->host)->ring);
    host_forget(scene->host);
}

static void
refuse_many(struct scene *scene, size_t len, uint64_t buffer, int times)
{
    for (int i = 0; i < times; i++) {
        int32_t code = attempt(scene, len, buffer);
        expect(code != FFI_OK, "submit is refused for: %s",
               names[scene->reason]);
    }
}

static void
refuse_inline(enum reason reason)
{
    struct scene scene;
    uint64_t outside = live_bytes();
    begin(&scene, reason);
    /* What a first refusal makes once is no leak. */
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        refuse_many(&scene, forms[i], 0, 2);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char what[64];
        uint64_t before = live_bytes();
        refuse_many(&scene, forms[i], 0, TIMES);
        (void)snprintf(what, sizeof what, "%d submits of %zu bytes", (int)TIMES,
                       forms[i]);
        expect_level(before, what, reason);
    }
    end(&scene);
    expect_level(outside, "close", reason);
}

CONFORM_CASE(inline_inputs, .id = "i4.refusal-leaves-nothing.inline-inputs",
             .clauses = "i4.refusal-leaves-nothing i4.full-refuses "
                        "i1.close-releases-all l.shutdown-refuses "
                        "i4.unknown-flags i2.poison-latch i4.reader-gone",
             .why = "an input that was copied before the refusal and is not "
                    "freed: memory grows with the back-pressure",
             .steps = "Each reason to refuse a submit (full queue, shutdown, "
                      "unknown flag, unknown buffer, too long, NULLs, "
                      "poison, reader gone) with inputs of 0 to 4096 bytes, "
                      "40 times each; live_bytes before and after, and after "
                      "close.",
             .expected = "The same each time.", .mutant = "refused-input-leaks",
             .transports = CONFORM_BOTH)
{
    for (uint32_t reason = 0; reason < REASONS; reason++)
        refuse_inline((enum reason)reason);
}

static void
refuse_buffers(enum reason reason)
{
    enum { COUNT = sizeof buffers / sizeof buffers[0] };
    struct scene scene;
    uint64_t outside = live_bytes(), ids[COUNT + 1];
    /* A poisoned handle has no new buffers. */
    begin(&scene, reason == POISONED ? FULL_QUEUE : reason);
    for (size_t i = 0; i <= COUNT; i++)
        ids[i] = host_buffer(scene.host, NULL, buffers[i % COUNT], NULL);
    if (reason == POISONED) {
        static const uint8_t panic[1] = {MODE_PANIC};
        pipe_unfill(host_read_fd(scene.host), scene.filled);
        scene.filled = 0;
        scene.reason = POISONED;
        CallHeader header = job_header(DIAGNOSTIC, 0);
        uint64_t ticket = host_submit_patiently(scene.host, &header, panic, 1);
        struct outcome outcome = job_finish(scene.host, ticket);
        expect_code(FFI_PANIC, outcome.code, "the panic");
    }
    for (size_t i = 0; i <= COUNT; i++)
        refuse_many(&scene, 0, ids[i], TIMES);
    /* The last one is left for close. */
    for (size_t i = 0; i < COUNT; i++) {
        char what[96];
        uint64_t before = live_bytes();
        host_buffer_free(scene.host, ids[i]);
        (void)snprintf(what, sizeof what,
                       "buf_free of the input of %d submits (%zu bytes)",
                       (int)TIMES, buffers[i]);
        uint64_t after = live_bytes();
        expect(after + buffers[i] <= before,
               "live_bytes falls by its length at %s, refused for: %s; it "
               "was %llu, it is %llu",
               what, names[reason], (unsigned long long)before,
               (unsigned long long)after);
    }
    end(&scene);
    expect_level(outside, "close with a buffer not freed", reason);
}

CONFORM_CASE(buffer_inputs, .id = "i4.refusal-leaves-nothing.buffer-inputs",
             .clauses = "i4.refusal-leaves-nothing i1.input-buffer-rule "
                        "i1.close-releases-all l.stats-algebra",
             .why = "a buffer that counts as being read by a job that never "
                    "was: it is never freed, or close waits for it",
             .steps = "Each reason to refuse a submit that names a buffer "
                      "(full queue, shutdown, unknown flag, NULLs, poison, "
                      "reader gone), 40 times for buffers of 64 to 100 000 "
                      "bytes; all but one are freed; close.",
             .expected = "buf_free takes the length out of live_bytes at "
                         "once; close takes the rest.",
             .mutant = "refused-buffer-stays-read", .transports = CONFORM_BOTH)
{
    for (uint32_t reason = 0; reason < REASONS; reason++) {
        if (!is_about_inline_input((enum reason)reason))
            refuse_buffers((enum reason)reason);
    }
}
