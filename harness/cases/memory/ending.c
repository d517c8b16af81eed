/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every way in which a job can end, and every way in which a result can come
 * to be: how it is taken, and that it is taken once.
 */
#include <stdio.h>
#include <string.h>

#include "conform.h"

/* ---- Every ending, once ------------------------------------------------- */

enum stop { NONE, BY_CANCEL, BY_SHUTDOWN };

static const struct ending {
    const char *what;
    int32_t code;
    uint32_t flags;
    uint32_t opcode;
    uint64_t timeout_ns;
    enum stop stop;
    uint8_t input[6];
    uint8_t len;
    bool large;  /* of 70 000 bytes, from a buffer */
    bool queued; /* behind a sleeper */
} endings[] = {
    {.what = "empty", .flags = DIAGNOSTIC},
    {.what = "small", .flags = DIAGNOSTIC, .input = {0, 1, 2}, .len = 3},
    {.what = "large", .flags = DIAGNOSTIC, .large = true},
    {.what = "generated",
     .flags = DIAGNOSTIC,
     .input = {16, 0, 32, 0, 0, 3},
     .len = 6},
    {.what = "engine error",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC | INLINE,
     .input = {16},
     .len = 1},
    {.what = "no engine", .code = FFI_ERR, .input = {1}, .len = 1},
    {.what = "no opcode",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC,
     .opcode = 99,
     .input = {1},
     .len = 1},
    {.what = "deadline, running",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC | INLINE,
     .timeout_ns = 1,
     .input = {5, 3},
     .len = 2},
    {.what = "deadline, queued",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC,
     .timeout_ns = 1,
     .input = {5, 3},
     .len = 2,
     .queued = true},
    {.what = "cancelled, running",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC,
     .stop = BY_CANCEL,
     .input = {5, 255},
     .len = 2},
    {.what = "cancelled, queued",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC | INLINE,
     .stop = BY_CANCEL,
     .input = {5, 255},
     .len = 2,
     .queued = true},
    {.what = "shut down",
     .code = FFI_ERR,
     .flags = DIAGNOSTIC,
     .stop = BY_SHUTDOWN,
     .input = {5, 255},
     .len = 2},
    {.what = "panic",
     .code = FFI_PANIC,
     .flags = DIAGNOSTIC | INLINE,
     .input = {1},
     .len = 1},
    {.what = "long panic",
     .code = FFI_PANIC,
     .flags = DIAGNOSTIC,
     .input = {12},
     .len = 1},
};
#define ENDINGS (sizeof endings / sizeof endings[0])

/* Submits it, stops it, reads its completion; the ticket. */
static uint64_t
come_to_the_end(struct host *host, const struct ending *ending)
{
    CallHeader header = {.flags = ending->flags,
                         .reserved = ending->opcode,
                         .timeout_ns = ending->timeout_ns};
    uint64_t ticket;
    if (ending->queued)
        host_submit(host, DIAGNOSTIC, "\11\2", 2);
    if (ending->large) {
        const uint8_t *bytes = conform_pattern(70000, 0, 1);
        uint64_t id = host_buffer(host, bytes, 70000, NULL);
        ticket = host_submit_buffer(host, &header, id);
        host_buffer_free(host, id);
    } else {
        ticket =
            host_submit_patiently(host, &header, ending->input, ending->len);
    }
    if (ending->stop == BY_CANCEL)
        expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                    "cancel");
    if (ending->stop == BY_SHUTDOWN)
        expect_code(FFI_OK, api.shutdown(5000), "shutdown");
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "%s: not inline", ending->what);
    return ticket;
}

static void
expect_gone(struct host *host, uint64_t ticket, const char *what)
{
    char text[80];
    snprintf(text, sizeof text, "ticket %llu not found or already taken",
             (unsigned long long)ticket);
    for (int again = 0; again < 2; again++) {
        struct outcome o = host_take(host, ticket);
        expect_code(FFI_ERR, o.code, "%s: take %d", what, again + 2);
        expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "%s: take %d", what,
                    again + 2);
    }
}

/* One life of a handle: the ending, its takes, its close. */
static void
live_and_take(const struct ending *ending, bool with_status)
{
    AllocStats before, after;
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t len = 0;
    api.alloc_stats(&before);
    struct host *host = host_open(1);
    uint64_t ticket = come_to_the_end(host, ending);
    FfiStatus status = conform_dirty_status();
    int32_t code = api.take(host_handle(host), ticket, &id, &ptr, &len,
                            with_status ? &status : NULL);
    expect_code(ending->code, code, "%s: the first take, %s status",
                ending->what, with_status ? "with a" : "without");
    if (with_status)
        conform_settle(code, &status);
    expect_gone(host, ticket, ending->what);
    if (ending->stop == BY_SHUTDOWN)
        expect_code(FFI_OK, api.init(), "init");
    expect_gone(host, ticket, ending->what);
    host_close(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "%s: live_bytes after a take %s status and close", ending->what,
               with_status ? "with a" : "without");
}

CONFORM_CASE(
    every_ending, .id = "i1.take-once.every-ending",
    .clauses = "i1.take-once i1.null-status-same-code i1.close-releases-all",
    .why = "A take without a status returns before it has consumed the "
           "failure, or consumes it and loses the text that nobody gets.",
    .steps = "Success (empty, small, large, generated), engine error, no "
             "engine, no opcode, deadline and cancel of a running and a "
             "queued unit, shutdown, panics: taken with and without a status, "
             "then twice more, then closed.",
    .expected = "The job's own code once; then FFI_ERR `ticket N not found or "
                "already taken`; live_bytes as before open.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "null-status-take-keeps-the-failure "
              "null-status-take-leaks-the-text")
{
    for (size_t i = 0; i < ENDINGS; i++) {
        live_and_take(&endings[i], true);
        live_and_take(&endings[i], false);
    }
}

/* ---- Every way to a result ---------------------------------------------- */

static const size_t sizes[] = {0,    1,    47,   48,    49,
                               4095, 4096, 4097, 65536, 1 << 20};
#define SIZES (sizeof sizes / sizeof sizes[0])

enum way { FROM_INLINE, FROM_BUFFER, GENERATED, WAYS };

/* The bytes that the job must give, and its submission. */
static uint64_t
start(struct host *host, enum way way, size_t size, uint32_t flags,
      uint64_t *input_id)
{
    CallHeader header = {.flags = DIAGNOSTIC | flags};
    uint8_t input[6] = {16, 0, 0, 0, 0, 0};
    *input_id = 0;
    if (way == GENERATED) {
        put_u32le(input + 1, (uint32_t)size);
        return host_submit_header(host, &header, input, sizeof input);
    }
    const uint8_t *bytes = conform_pattern(size, 0, size);
    if (way == FROM_INLINE)
        return host_submit_header(host, &header, bytes, size);
    *input_id = host_buffer(host, bytes, size, NULL);
    return host_submit_buffer(host, &header, *input_id);
}

static const uint8_t *
right_bytes(enum way way, size_t size)
{
    uint8_t *bytes = conform_pattern(size, 0, size);
    for (size_t i = 0; way == GENERATED && i < size; i++)
        bytes[i] = (uint8_t)i;
    return bytes;
}

static void
judge_result(const struct outcome *o, enum way way, size_t size,
             uint64_t input_id, const char *what)
{
    expect_code(FFI_OK, o->code, "%s", what);
    expect_bytes(right_bytes(way, size), size, o->bytes, o->len, "%s", what);
    if (o->inlined) {
        expect_u64_at_most(GUSSET_INLINE_RESULT_MAX, size, "%s: inline", what);
        return;
    }
    bool owned = (o->id & GUSSET_TAKE_OWNED_FLAG) != 0;
    uint64_t id = o->id & ~GUSSET_TAKE_OWNED_FLAG;
    if (size == 0) {
        expect_u64(0, o->id, "%s: id of an empty result", what);
        expect_u64(0, o->address, "%s: pointer of an empty result", what);
        return;
    }
    expect(id != 0 && id != input_id, "%s: the result's own id", what);
    expect(o->address != 0 && o->address % GUSSET_BUFFER_ALIGNMENT == 0,
           "%s: the pointer is aligned", what);
    if (size > GUSSET_MAX_INLINE_INPUT)
        expect(owned, "%s: bit 63 of a large result's id", what);
    else if (way != GENERATED)
        expect(!owned, "%s: bit 63 of a small result's id", what);
}

CONFORM_CASE(
    every_way, .id = "i1.take-small.every-way",
    .clauses = "i1.take-small i1.take-large i1.take-empty "
               "i4.inline-only-if-asked i1.input-buffer-rule",
    .why = "A result that comes to be in one way is handed out by the rules "
           "of another: a small echo of a buffer as that buffer, a small "
           "generated one as no buffer.",
    .steps = "Results of 0, 1, 47, 48, 49, 4095, 4096, 4097, 64 KiB and 1 MiB "
             "by echo of inline bytes, echo of a buffer and mode 16, with and "
             "without the inline flag; each freed; the input compared.",
    .expected = "Exact bytes; an inline record only if asked for and up to "
                "48 bytes; else an id, a pointer and bit 63 by the size; all "
                "memory back.",
    .transports = CONFORM_BOTH, .mutant = "small-buffer-echo-is-flagged")
{
    struct host *host = host_open(1);
    AllocStats before, after;
    api.alloc_stats(&before);
    for (uint32_t n = 0; n < 2 * WAYS * SIZES; n++) {
        enum way way = n / 2 % WAYS;
        size_t size = sizes[n / 2 / WAYS];
        uint32_t flags = n % 2 ? INLINE : 0;
        char what[80];
        uint64_t input_id;
        if ((way == FROM_INLINE && size > GUSSET_MAX_INLINE_INPUT) ||
            (way == FROM_BUFFER && size == 0))
            continue;
        snprintf(what, sizeof what, "%zu bytes, way %u, flags %u", size,
                 (unsigned)way, flags);
        uint64_t ticket = start(host, way, size, flags, &input_id);
        struct completion done = host_wait(host, ticket);
        expect(!done.inlined || flags == INLINE, "%s: inline unasked", what);
        struct outcome o = host_outcome(host, &done);
        judge_result(&o, way, size, input_id, what);
        if (input_id != 0)
            host_buffer_free(host, input_id);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes once all is freed");
    host_close(host);
}

/* A byte for each page, and its end: quick to write and to compare. */
static void
paint(uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i += 4096)
        memset(bytes + i, (int)(i / 4096 * 7 + 1),
               len - i < 4096 ? len - i : 4096);
    bytes[0] = 0; /* an echo */
    bytes[len - 1] = 0x5a;
}

static struct outcome
judge_huge(struct host *host, size_t size, bool generated)
{
    CallHeader header = {.flags = DIAGNOSTIC};
    uint8_t request[6] = {16, 0, 0, 0, 0, 0};
    uint64_t input_id = 0;
    uint8_t *input = NULL;
    uint64_t ticket;
    struct outcome held = {0};
    put_u32le(request + 1, (uint32_t)size);
    if (generated) {
        ticket = host_submit_header(host, &header, request, sizeof request);
    } else {
        input_id = host_buffer(host, NULL, size, &input);
        paint(input, size);
        ticket = host_submit_buffer(host, &header, input_id);
    }
    host_wait(host, ticket);
    held.code = api.take(host_handle(host), ticket, &held.id, &held.bytes,
                         &held.len, NULL);
    expect_code(FFI_OK, held.code, "take of %zu bytes", size);
    expect_u64(size, held.len, "length of a result");
    if (generated) {
        for (size_t i = 0; i < size; i++) {
            if (held.bytes[i] != (uint8_t)i)
                expect_u64((uint8_t)i, held.bytes[i], "byte %zu of %zu", i,
                           size);
        }
        return held;
    }
    expect(held.bytes != input, "the result is other memory than the input");
    expect(memcmp(held.bytes, input, size) == 0, "an echo of %zu bytes", size);
    host_buffer_free(host, input_id);
    return held;
}

CONFORM_CASE(
    sixteen_mib, .id = "i1.take-large.sixteen-mib",
    .clauses = "i1.take-large i1.input-buffer-rule l.stats-complete",
    .why = "Sizes that the C library maps on their own, and lengths over 24 "
           "bits, take another path.",
    .steps = "16 MiB and a byte more (under nightly also a byte less) as an "
             "echo and as mode 16; compared and freed.",
    .expected = "Every byte, other memory than the input, bit 63; the free "
                "gives the size back.",
    .transports = CONFORM_BOTH, .mutant = "large-echo-cut-to-24-bits")
{
    static const size_t huge[] = {16u << 20, (16u << 20) + 1, (16u << 20) - 1};
    struct host *host = host_open(1);
    for (uint32_t n = 0; n < conform_rounds(2, 6); n++) {
        AllocStats before, held, after;
        size_t size = huge[n % 3];
        api.alloc_stats(&before);
        struct outcome result = judge_huge(host, size, n % 2);
        api.alloc_stats(&held);
        expect((result.id & GUSSET_TAKE_OWNED_FLAG) != 0, "bit 63 of %zu bytes",
               size);
        expect_u64(0, (uintptr_t)result.bytes % GUSSET_BUFFER_ALIGNMENT,
                   "alignment of %zu bytes", size);
        expect_u64_at_least(size, held.live_bytes - before.live_bytes,
                            "live_bytes of a held result");
        host_buffer_free(host, result.id & ~GUSSET_TAKE_OWNED_FLAG);
        api.alloc_stats(&after);
        expect_u64(before.live_bytes, after.live_bytes, "live_bytes after it");
    }
    host_close(host);
}
