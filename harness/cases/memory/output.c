/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers as outputs: which ids an engine may return, and that what it built
 * in one reaches the host without a copy.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "conform.h"
#include "gusset_engine.h"

#define OPCODE 0x6f757400u

/* input[0] of a unit; a u64 LE argument follows. */
enum {
    GIVE_ID = 1,    /* as output the buffer id in the argument */
    GIVE_INPUT = 2, /* as output the unit's own input buffer */
    MAKE = 3,       /* a new buffer of that length, kept; its id as bytes */
    MAKE_GIVE = 4,  /* a new buffer of that length, returned as buffer */
    IN_PLACE = 5,   /* gse_output_buffer of that length */
    HOLD_ECHO = 6   /* waits until released, then echoes */
};

static _Atomic uintptr_t built_at;
static atomic_bool released;

/* As an input these bytes are a HOLD_ECHO. */
static void
fill(uint8_t *bytes, size_t len)
{
    atomic_store(&built_at, (uintptr_t)bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i * 7 + HOLD_ECHO);
}

static void
hold(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    uint64_t end = conform_now_ns() + UINT64_C(10000000000);
    while (!atomic_load(&released) && conform_now_ns() < end)
        nanosleep(&pause, NULL);
}

static int32_t
engine(gse_call *call, void *user)
{
    (void)user;
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    uint64_t argument = len >= 9 ? get_u64le(input + 1) : 0;
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    uint8_t answer[8];

    switch (len == 0 ? 0 : input[0]) {
    case GIVE_ID:
        gse_output_buffer_id(call, argument);
        return GSE_OK;
    case GIVE_INPUT:
        gse_output_buffer_id(call, gse_input_buffer(call));
        return GSE_OK;
    case MAKE:
    case MAKE_GIVE:
        if (gse_buffer_new(call, argument, &id, &bytes) != GSE_OK)
            break;
        fill(bytes, argument);
        if (input[0] == MAKE_GIVE) {
            gse_output_buffer_id(call, id);
            return GSE_OK;
        }
        put_u64le(answer, id);
        return gse_output_bytes(call, answer, sizeof answer);
    case IN_PLACE:
        bytes = gse_output_buffer(call, argument);
        if (bytes == NULL)
            break;
        fill(bytes, argument);
        return GSE_OK;
    case HOLD_ECHO:
        hold();
        return gse_output_bytes(call, input, len);
    default:
        break;
    }
    gse_output_errorf(call, "the test engine failed");
    return GSE_FAILED;
}

static struct host *
open_with_engine(uint32_t pool)
{
    atomic_store(&released, false);
    expect(gse_register_opcode(OPCODE, engine, NULL) == GSE_OK,
           "the engine registers");
    return host_open(pool);
}

static void
close_with_engine(struct host *host)
{
    host_close(host);
    gse_clear();
}

static const CallHeader to_engine = {.reserved = OPCODE};

static struct outcome
call(struct host *host, uint8_t command, uint64_t argument)
{
    uint8_t input[9] = {command};
    put_u64le(input + 1, argument);
    return host_call_header(host, &to_engine, input, sizeof input);
}

/* An id that the engine made and kept; the host does not hold it. */
static uint64_t
made_by_engine(struct host *host, size_t len)
{
    struct outcome o = call(host, MAKE, len);
    expect_code(FFI_OK, o.code, "the engine makes a buffer");
    expect_u64(8, o.len, "its id");
    return get_u64le(o.bytes);
}

static void
expect_error(const struct outcome *o, const char *text, const char *what)
{
    expect_code(FFI_ERR, o->code, "%s", what);
    expect_text(TEXT_CONTAINS, text, o->msg, o->msg_len, "%s", what);
    expect(!o->has_file && o->line == 0, "%s has no place", what);
}

static void
expect_filled(const uint8_t *bytes, size_t len, const char *what)
{
    expect(bytes != NULL && len > 0, "%s: there are bytes", what);
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != (uint8_t)(i * 7 + HOLD_ECHO))
            expect_u64((uint8_t)(i * 7 + HOLD_ECHO), bytes[i],
                       "%s: byte %zu of %zu", what, i, len);
    }
}

CONFORM_CASE(
    output_not_input, .id = "i1.output-not-input.own-input",
    .clauses = "i1.output-not-input i2.refusal-not-poison",
    .why = "A result that is the input is freed by the waiter under the "
           "host's view.",
    .steps = "An engine returns its input buffer, of 64 bytes and of 64 KiB, "
             "by gse_input_buffer and by its number.",
    .expected = "FFI_ERR naming `input buffer`; the input intact, usable and "
                "freed once; the handle healthy.",
    .needs = "engine", .transports = CONFORM_BOTH, .mutant = "output-own-input")
{
    static const size_t sizes[] = {64, 65536};
    struct host *host = open_with_engine(1);
    for (size_t i = 0; i < 4; i++) {
        size_t len = sizes[i / 2];
        uint8_t *bytes = NULL;
        uint64_t id =
            host_buffer(host, conform_pattern(len, GIVE_INPUT, i), len, &bytes);
        if (i % 2) {
            bytes[0] = GIVE_ID;
            put_u64le(bytes + 1, id);
        }
        uint8_t *copy = conform_pattern(len, 0, 0);
        memcpy(copy, bytes, len);
        uint64_t ticket = host_submit_buffer(host, &to_engine, id);
        host_wait(host, ticket);
        struct outcome o = host_take(host, ticket);
        expect_error(&o, "input buffer", "its own input as output");
        expect_bytes(copy, len, bytes, len, "the input");
        AllocStats before, after;
        api.alloc_stats(&before);
        host_buffer_free(host, id);
        api.alloc_stats(&after);
        expect_u64_at_least(len, before.live_bytes - after.live_bytes,
                            "the input was live until freed");
    }
    expect_code(FFI_OK, host_call(host, DIAGNOSTIC, "\0", 1).code, "an echo");
    close_with_engine(host);
}

CONFORM_CASE(
    output_zero, .id = "i1.output-zero-id.zero", .clauses = "i1.output-zero-id",
    .why = "An id of 0 that is taken for an empty result hides an engine "
           "that lost its buffer.",
    .steps = "An engine returns buffer id 0; and its own input buffer where "
             "the input came inline (id 0 as well).",
    .expected = "FFI_ERR naming `never a live buffer`; the handle healthy.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "zero-id-is-no-output")
{
    struct host *host = open_with_engine(1);
    struct outcome o = call(host, GIVE_ID, 0);
    expect_error(&o, "never a live buffer", "output id 0");
    o = call(host, GIVE_INPUT, 0);
    expect_error(&o, "never a live buffer", "the buffer of an inline input");
    expect_code(FFI_OK, host_call(host, DIAGNOSTIC, "\0", 1).code, "an echo");
    close_with_engine(host);
}

CONFORM_CASE(
    output_unknown, .id = "i1.output-own-handle.made-up",
    .clauses = "i1.output-own-handle",
    .why = "An id that the engine made up reaches an index or a pointer.",
    .steps = "An engine returns ids that were never given out.",
    .expected = "FFI_ERR `no such live buffer`.", .needs = "engine",
    .transports = CONFORM_BOTH, .mutant = "unknown-output-is-empty")
{
    static const uint64_t made_up[] = {0xdeadbeef, UINT64_C(1) << 40, INT64_MAX,
                                       UINT64_C(1) << 63, UINT64_MAX};
    struct host *host = open_with_engine(1);
    for (size_t i = 0; i < 5; i++) {
        struct outcome o = call(host, GIVE_ID, made_up[i]);
        expect_error(&o, "no such live buffer", "a made-up output id");
    }
    close_with_engine(host);
}

CONFORM_CASE(
    output_foreign, .id = "i1.output-own-handle.foreign",
    .clauses = "i1.output-own-handle",
    .why = "Buffers that are found by number across handles give one host's "
           "bytes to another.",
    .steps = "Handle B's engine returns a buffer of handle A: one that A's "
             "host holds, and one that A's engine made.",
    .expected = "FFI_ERR `no such live buffer`; A's and B's buffers "
                "unchanged; A's engine can still return its own.",
    .mutant = "buf-ids-per-handle", .needs = "engine",
    .transports = CONFORM_BOTH)
{
    struct host *b = open_with_engine(1);
    struct host *a = host_open(1);
    uint8_t *of_a = NULL;
    uint8_t *of_b = NULL;
    uint64_t held = host_buffer(a, "AAAA", 4, &of_a);
    uint64_t kept = made_by_engine(a, 5000);
    host_buffer(b, "BBBB", 4, &of_b);
    made_by_engine(b, 5000);
    struct outcome o = call(b, GIVE_ID, held);
    expect_error(&o, "no such live buffer", "A's buffer returned on B");
    o = call(b, GIVE_ID, kept);
    expect_error(&o, "no such live buffer", "A's engine's buffer on B");
    expect_bytes("AAAA", 4, of_a, 4, "A's buffer");
    expect_bytes("BBBB", 4, of_b, 4, "B's buffer");
    o = call(a, GIVE_ID, kept);
    expect_code(FFI_OK, o.code, "A's engine's buffer on A");
    expect_u64(5000, o.len, "its length");
    expect_filled(o.bytes, o.len, "A's engine's buffer");
    host_close(a);
    close_with_engine(b);
}

CONFORM_CASE(
    output_once, .id = "i1.output-once.second-job", .clauses = "i1.output-once",
    .why = "Two results that own one block free it twice.",
    .steps = "Two jobs return the same engine-made buffer, both done before "
             "either is taken; a third after the first was taken; a fourth "
             "after it was freed.",
    .expected = "The first owns it; second and third FFI_ERR containing "
                "`already`; the fourth `no such live buffer`; live_bytes "
                "back.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "output-claimed-again")
{
    struct host *host = open_with_engine(1);
    AllocStats before, after;
    api.alloc_stats(&before);
    uint64_t made = made_by_engine(host, 9000);
    uint8_t input[9] = {GIVE_ID};
    put_u64le(input + 1, made);
    uint64_t tickets[2];
    for (int i = 0; i < 2; i++)
        tickets[i] = host_submit_header(host, &to_engine, input, 9);
    for (int i = 0; i < 2; i++)
        host_wait(host, tickets[i]);

    struct outcome o = host_take(host, tickets[1]);
    expect_error(&o, "already", "the second job with this output");
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t len = 0;
    int32_t code =
        api.take(host_handle(host), tickets[0], &id, &ptr, &len, NULL);
    expect_code(FFI_OK, code, "the first job with this output");
    expect_filled(ptr, len, "the first result");
    expect_u64(made, id & ~GUSSET_TAKE_OWNED_FLAG, "the result's own buffer");
    o = call(host, GIVE_ID, made);
    expect_error(&o, "already", "a third job while the result is held");
    expect_filled(ptr, len, "the first result after that");
    host_buffer_free(host, made);
    o = call(host, GIVE_ID, made);
    expect_error(&o, "no such live buffer", "a fourth job after the free");
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
    close_with_engine(host);
}

CONFORM_CASE(
    output_not_held, .id = "i1.output-not-held.host-buffer",
    .clauses = "i1.output-not-held i1.output-not-shared",
    .why = "A result on a buffer that the host holds is freed under its "
           "view.",
    .steps = "An engine returns a buffer from buf_alloc; once more while "
             "another unit reads that buffer.",
    .expected = "FFI_ERR `caller still holds` both times; the buffer's bytes "
                "intact; it can be used and freed.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "output-held-by-host")
{
    struct host *host = open_with_engine(2);
    uint8_t *bytes = NULL;
    uint64_t id =
        host_buffer(host, conform_pattern(64, HOLD_ECHO, 1), 64, &bytes);
    struct outcome o = call(host, GIVE_ID, id);
    expect_error(&o, "caller still holds", "a buffer the host holds");
    uint64_t reader = host_submit_buffer(host, &to_engine, id);
    o = call(host, GIVE_ID, id);
    expect_error(&o, "caller still holds", "the same while it is read");
    atomic_store(&released, true);
    host_wait(host, reader);
    o = host_take(host, reader);
    expect_bytes(conform_pattern(64, HOLD_ECHO, 1), 64, o.bytes, o.len,
                 "what its reader read");
    expect_bytes(conform_pattern(64, HOLD_ECHO, 1), 64, bytes, 64,
                 "the host's buffer");
    host_buffer_free(host, id);
    close_with_engine(host);
}

CONFORM_CASE(
    output_not_shared, .id = "i1.output-not-shared.being-read",
    .clauses = "i1.output-not-shared",
    .why = "A result on a buffer that another unit reads is freed by its "
           "taker under that unit.",
    .steps = "A unit reads an engine-made buffer as its input and waits; "
             "another returns that buffer as its output; then the first goes "
             "on.",
    .expected = "FFI_ERR containing `input` for the second; the first reads "
                "the right bytes; live_bytes back after close.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "output-read-by-another")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = open_with_engine(2);
    uint64_t made = made_by_engine(host, 6000);
    uint64_t reader = host_submit_buffer(host, &to_engine, made);
    struct outcome o = call(host, GIVE_ID, made);
    expect_error(&o, "input", "a buffer that another unit reads");
    atomic_store(&released, true);
    host_wait(host, reader);
    o = host_take(host, reader);
    expect_code(FFI_OK, o.code, "the unit that read it");
    expect_u64(6000, o.len, "bytes that it read");
    expect_filled(o.bytes, o.len, "what it read");
    close_with_engine(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
}

static void
expect_no_copy(struct host *host, uint8_t command, size_t len)
{
    AllocStats before, held, after;
    api.alloc_stats(&before);
    uint8_t input[9] = {command};
    put_u64le(input + 1, len);
    uint64_t ticket = host_submit_header(host, &to_engine, input, 9);
    host_wait(host, ticket);
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t got = 0;
    int32_t code = api.take(host_handle(host), ticket, &id, &ptr, &got, NULL);
    expect_code(FFI_OK, code, "command %u, %zu bytes", command, len);
    expect_u64(len, got, "length");
    expect_filled(ptr, got, "built in place");
    expect_ptr((void *)atomic_load(&built_at), ptr,
               "the address at which the engine built %zu bytes", len);
    expect_u64(0, (uintptr_t)ptr % GUSSET_BUFFER_ALIGNMENT, "alignment");
    if (len > 4096)
        expect((id & GUSSET_TAKE_OWNED_FLAG) != 0, "bit 63 of %zu bytes", len);
    api.alloc_stats(&held);
    expect_u64_at_least(len, held.live_bytes - before.live_bytes,
                        "live_bytes of a built result");
    expect_u64_at_most(2 * len + 65536, held.live_bytes - before.live_bytes,
                       "live_bytes of a built result");
    host_buffer_free(host, id & ~GUSSET_TAKE_OWNED_FLAG);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the free");
}

CONFORM_CASE(
    output_in_place, .id = "i1.take-large.built-in-place",
    .clauses = "i1.take-large i1.take-small i1.take-large-no-copy "
               "l.stats-complete",
    .why = "A hidden copy of what an engine built in runtime memory doubles "
           "the cost of every large result.",
    .steps = "An engine builds 1, 48, 4096, 4097, 1 MiB and 3 MiB with "
             "gse_output_buffer, and with gse_buffer_new and "
             "gse_output_buffer_id; it notes the address.",
    .expected = "take gives the same address, 64-byte aligned, every byte; "
                "bit 63 over 4096 bytes; freed by its id.",
    .needs = "engine", .transports = CONFORM_BOTH, .mutant = "result-is-a-copy")
{
    static const size_t sizes[] = {1, 48, 4096, 4097, 1 << 20, 3 << 20};
    struct host *host = open_with_engine(1);
    for (size_t i = 0; i < 6; i++) {
        expect_no_copy(host, IN_PLACE, sizes[i]);
        expect_no_copy(host, MAKE_GIVE, sizes[i]);
    }
    close_with_engine(host);
}

CONFORM_CASE(
    output_kept, .id = "i1.close-releases-all.engine-made",
    .clauses = "i1.close-releases-all l.stats-complete",
    .why = "Buffers that an engine made and nobody ever returned outlive "
           "their handle.",
    .steps = "An engine makes 10 buffers of 64 KiB that are never an output, "
             "and 5 that are but are never taken; close.",
    .expected = "live_bytes counts all 15, and is back after close.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "engine-buffers-left")
{
    AllocStats before, held, after;
    api.alloc_stats(&before);
    struct host *host = open_with_engine(2);
    for (int i = 0; i < 10; i++)
        made_by_engine(host, 65536);
    for (int i = 0; i < 5; i++) {
        uint8_t input[9] = {MAKE_GIVE};
        put_u64le(input + 1, 65536);
        host_wait(host, host_submit_header(host, &to_engine, input, 9));
    }
    api.alloc_stats(&held);
    expect_u64_at_least(15 * 65536, held.live_bytes - before.live_bytes,
                        "live_bytes of what the engine made");
    close_with_engine(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after close");
}
