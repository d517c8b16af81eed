/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which buffers an engine may return as its output. */
#include "engine.h"

static void
expect_error(const struct outcome *o, const char *text, const char *what)
{
    expect_code(FFI_ERR, o->code, "%s", what);
    expect_text(TEXT_CONTAINS, text, o->msg, o->msg_len, "%s", what);
    expect(!o->has_file && o->line == 0, "%s has no place", what);
}

static uint64_t
live_bytes(void)
{
    AllocStats stats;
    api.alloc_stats(&stats);
    return stats.live_bytes;
}

CONFORM_CASE(
    output_not_input, .id = "i1.output-not-input.own-input",
    .clauses = "i1.output-not-input i2.refusal-not-poison",
    .why = "A result that is the input is freed by the waiter under the "
           "host's view.",
    .steps = "A unit returns its input buffer, of 64 bytes and of 64 KiB, "
             "as such (mode 6) and by its number (mode 5).",
    .expected = "FFI_ERR naming `input buffer`; the input intact, usable and "
                "freed once; the handle healthy.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "output-own-input")
{
    static const size_t sizes[] = {64, 65536};
    struct host *host = host_open(1);
    CallHeader header = te_header(0, 0);
    for (size_t i = 0; i < 4; i++) {
        size_t len = sizes[i / 2];
        uint8_t *bytes = NULL;
        uint64_t id = host_buffer(host, conform_pattern(len, TE_OWN_INPUT, i),
                                  len, &bytes);
        if (i % 2) {
            bytes[0] = TE_ID;
            put_u64le(bytes + 1, id);
        }
        uint8_t *copy = conform_pattern(len, 0, 0);
        memcpy(copy, bytes, len);
        uint64_t ticket = host_submit_buffer(host, &header, id);
        struct outcome o = job_finish(host, ticket);
        expect_error(&o, "input buffer", "its own input as output");
        expect_bytes(copy, len, bytes, len, "the input");
        uint64_t before = live_bytes();
        host_buffer_free(host, id);
        expect_u64_at_least(len, before - live_bytes(),
                            "bytes of the input, live until freed");
    }
    te_expect_healthy(host, "after the refused outputs");
    host_close(host);
}

CONFORM_CASE(
    output_zero, .id = "i1.output-zero-id.zero", .clauses = "i1.output-zero-id",
    .why = "An id of 0 that is taken for an empty result hides an engine "
           "that lost its buffer.",
    .steps = "A unit returns buffer id 0 (mode 5); another its input buffer "
             "where the input came inline (mode 6: id 0 as well).",
    .expected = "FFI_ERR naming `never a live buffer`; the handle healthy.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "zero-id-is-no-output")
{
    struct host *host = host_open(1);
    struct outcome o = te_return_id(host, 0);
    expect_error(&o, "never a live buffer", "output id 0");
    o = te_call(host, TE_OWN_INPUT, NULL, 0);
    expect_code(FFI_ERR, o.code, "the input buffer of an inline input");
    te_expect_healthy(host, "after the refused outputs");
    host_close(host);
}

CONFORM_CASE(
    output_unknown, .id = "i1.output-own-handle.made-up",
    .clauses = "i1.output-own-handle",
    .why = "An id that the engine made up reaches an index or a pointer.",
    .steps = "A unit returns ids that were never given out.",
    .expected = "FFI_ERR `no such live buffer`.", .needs = "test-engine",
    .transports = CONFORM_BOTH, .mutant = "unknown-output-is-empty")
{
    static const uint64_t made_up[] = {0xdeadbeef, UINT64_C(1) << 40, INT64_MAX,
                                       UINT64_C(1) << 63, UINT64_MAX};
    struct host *host = host_open(1);
    for (size_t i = 0; i < sizeof made_up / sizeof made_up[0]; i++) {
        struct outcome o = te_return_id(host, made_up[i]);
        expect_error(&o, "no such live buffer", "a made-up output id");
    }
    te_expect_healthy(host, "after the refused outputs");
    host_close(host);
}

CONFORM_CASE(
    output_foreign, .id = "i1.output-own-handle.foreign",
    .clauses = "i1.output-own-handle",
    .why = "Buffers that are found by number across handles give one host's "
           "bytes to another.",
    .steps = "A unit on handle B returns a buffer of handle A: one that A's "
             "host holds, and one that A's engine made.",
    .expected = "FFI_ERR `no such live buffer`; A's and B's buffers "
                "unchanged; A's engine can still return its own.",
    .mutant = "buf-ids-per-handle", .needs = "test-engine",
    .transports = CONFORM_BOTH)
{
    const uint8_t *made = conform_pattern(5000, 0, 1);
    struct host *b = host_open(1);
    struct host *a = host_open(1);
    uint8_t *of_a = NULL;
    uint8_t *of_b = NULL;
    uint64_t held = host_buffer(a, "AAAA", 4, &of_a);
    uint64_t kept = te_made(a, made, 5000);
    host_buffer(b, "BBBB", 4, &of_b);
    (void)te_made(b, conform_pattern(5000, 0, 2), 5000);
    struct outcome o = te_return_id(b, held);
    expect_error(&o, "no such live buffer", "A's buffer returned on B");
    o = te_return_id(b, kept);
    expect_error(&o, "no such live buffer", "A's engine's buffer on B");
    expect_bytes("AAAA", 4, of_a, 4, "A's buffer");
    expect_bytes("BBBB", 4, of_b, 4, "B's buffer");
    o = te_return_id(a, kept);
    expect_success_is(&o, made, 5000, "A's engine's buffer on A");
    host_close(a);
    host_close(b);
}

CONFORM_CASE(
    output_once, .id = "i1.output-once.second-job", .clauses = "i1.output-once",
    .why = "Two results that own one block free it twice.",
    .steps = "Two jobs return the same engine-made buffer, both done before "
             "either is taken; a third after the first was taken; a fourth "
             "after it was freed.",
    .expected = "One owns it; the other and the third FFI_ERR containing "
                "`already`; the fourth `no such live buffer`; live_bytes "
                "back.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "output-claimed-again")
{
    const uint8_t *made = conform_pattern(9000, 0, 1);
    struct host *host = host_open(1);
    te_warm_up(host);
    uint64_t before = live_bytes();
    uint64_t kept = te_made(host, made, 9000);
    uint8_t number[8];
    put_u64le(number, kept);
    uint64_t tickets[2];
    for (int i = 0; i < 2; i++)
        tickets[i] = te_submit(host, 0, 0, TE_ID, number, 8);
    for (int i = 0; i < 2; i++)
        host_wait(host, tickets[i]);

    /* A pool of one runs them one after the other, in this order or not. */
    uint64_t id[2] = {0, 0};
    uint8_t *ptr[2] = {NULL, NULL};
    size_t len[2] = {0, 0};
    int owner = -1;
    for (int i = 0; i < 2; i++) {
        FfiStatus status = conform_dirty_status();
        int32_t code = api.take(host_handle(host), tickets[i], &id[i], &ptr[i],
                                &len[i], &status);
        struct outcome o = conform_settle(code, &status);
        if (code == FFI_OK && owner < 0)
            owner = i;
        else
            expect_error(&o, "already", "the second job with this output");
    }
    expect(owner >= 0, "one of two jobs gets the buffer that both return");
    expect_bytes(made, 9000, ptr[owner], len[owner], "the first result");
    expect_u64(kept, id[owner] & ~GUSSET_TAKE_OWNED_FLAG,
               "the result's own buffer");
    struct outcome o = te_return_id(host, kept);
    expect_error(&o, "already", "a third job while the result is held");
    expect_bytes(made, 9000, ptr[owner], len[owner],
                 "the first result after that");
    host_buffer_free(host, kept);
    o = te_return_id(host, kept);
    expect_error(&o, "no such live buffer", "a fourth job after the free");
    expect_u64(before, live_bytes(), "live_bytes at the end");
    host_close(host);
}

CONFORM_CASE(
    output_not_held, .id = "i1.output-not-held.host-buffer",
    .clauses = "i1.output-not-held i1.output-not-shared",
    .why = "A result on a buffer that the host holds is freed under its "
           "view.",
    .steps = "A unit returns a buffer from buf_alloc; once more while another "
             "unit reads that buffer.",
    .expected = "FFI_ERR `caller still holds` both times; the buffer's bytes "
                "intact; it can be used and freed.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "output-held-by-host")
{
    const uint8_t *right = conform_pattern(64, TE_UNTIL, 1);
    struct host *host = host_open(2);
    CallHeader header = te_header(0, 0);
    uint8_t *bytes = NULL;
    uint64_t id = host_buffer(host, right, 64, &bytes);
    struct outcome o = te_return_id(host, id);
    expect_error(&o, "caller still holds", "a buffer the host holds");
    uint64_t reader = host_submit_buffer(host, &header, id);
    o = te_call(host, TE_SLEEP, "\0", 2);
    o = te_return_id(host, id);
    expect_error(&o, "caller still holds", "the same while it is read");
    te_release(host, reader);
    te_expect_cancelled(host, reader, "the unit that read it");
    expect_bytes(right, 64, bytes, 64, "the host's buffer");
    uint64_t before = live_bytes();
    host_buffer_free(host, id);
    expect_u64_at_least(64, before - live_bytes(),
                        "bytes of the buffer, live until freed");
    te_expect_healthy(host, "after the refused outputs");
    host_close(host);
}

CONFORM_CASE(
    output_not_shared, .id = "i1.output-not-shared.being-read",
    .clauses = "i1.output-not-shared",
    .why = "A result on a buffer that another unit reads is freed by its "
           "taker under that unit.",
    .steps = "A unit reads an engine-made buffer as its input and stays "
             "inside; another returns that buffer as its output; then the "
             "first ends, and a third returns it.",
    .expected = "FFI_ERR containing `input` for the second; the third gets "
                "every byte; live_bytes back after close.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "output-read-by-another")
{
    const uint8_t *made = conform_pattern(6000, TE_UNTIL, 1);
    uint64_t before = live_bytes();
    struct host *host = host_open(2);
    CallHeader header = te_header(0, 0);
    uint64_t kept = te_made(host, made, 6000);
    uint64_t reader = host_submit_buffer(host, &header, kept);
    struct outcome o = te_call(host, TE_SLEEP, "\0", 2);
    o = te_return_id(host, kept);
    expect_error(&o, "input", "a buffer that another unit reads");
    te_release(host, reader);
    te_expect_cancelled(host, reader, "the unit that read it");
    o = te_return_id(host, kept);
    expect_success_is(&o, made, 6000, "the buffer that nobody reads any more");
    host_close(host);
    expect_u64(before, live_bytes(), "live_bytes at the end");
}
