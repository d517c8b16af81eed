/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of i6.self-report-true on what the library really writes and reads:
 * structs as raw bytes at the contract's offsets, flush against an
 * inaccessible page, with a canary in front. A report can be right while the
 * code behind it uses another struct.
 */

#include <stdio.h>
#include <string.h>

#include "conform.h"

#define CANARY_BYTES 16
#define CANARY 0xA5
#define HEADER_BYTES 40
#define STATUS_BYTES 48
#define STATS_BYTES 24

/* `bytes` raw bytes between a canary and an inaccessible page. */
static uint8_t *
fenced(size_t bytes)
{
    uint8_t *block = conform_fence(CANARY_BYTES + bytes);
    memset(block, CANARY, CANARY_BYTES + bytes);
    return block + CANARY_BYTES;
}

static void
fenced_free(uint8_t *raw, const char *what)
{
    for (int i = 1; i <= CANARY_BYTES; i++)
        expect_u64(CANARY, raw[-i], "the byte %d before %s", i, what);
    conform_fence_free(raw - CANARY_BYTES);
}

static uint64_t
raw_u64(const uint8_t *raw, size_t offset)
{
    uint64_t value;
    memcpy(&value, raw + offset, sizeof value);
    return value;
}

static uint32_t
raw_u32(const uint8_t *raw, size_t offset)
{
    uint32_t value;
    memcpy(&value, raw + offset, sizeof value);
    return value;
}

static const uint8_t *
raw_pointer(const uint8_t *raw, size_t offset)
{
    const uint8_t *value;
    memcpy(&value, raw + offset, sizeof value);
    return value;
}

static FfiStatus *
as_status(uint8_t *raw)
{
    return (FfiStatus *)(void *)raw;
}

/* msg is what status_free needs; the rest of the struct must stay. */
static void
expect_freed(uint8_t *raw, int32_t code)
{
    uint64_t file = raw_u64(raw, 24), file_len = raw_u64(raw, 32);
    uint32_t line = raw_u32(raw, 40);
    api.status_free(as_status(raw));
    expect_u64(0, raw_u64(raw, 8), "msg at offset 8 after status_free");
    expect_u64(0, raw_u64(raw, 16), "msg_len at offset 16 after status_free");
    expect_i64(code, (int32_t)raw_u32(raw, 0), "code after status_free");
    expect_u64(file, raw_u64(raw, 24), "file after status_free");
    expect_u64(file_len, raw_u64(raw, 32), "file_len after status_free");
    expect_u64(line, raw_u32(raw, 40), "line after status_free");
}

CONFORM_CASE(status_refusal, .id = "i6.self-report-true.status-of-a-refusal",
             .clauses = "i6.self-report-true i1.status-reset",
             .why = "The library writes the status through a struct of its "
                    "own, whose fields lie elsewhere.",
             .steps = "A take of a ticket that was never issued, with a "
                      "status of 48 fenced junk bytes, read at the contract's "
                      "offsets.",
             .expected = "code 1 at 0, the text at msg 8 and msg_len 16, file "
                         "24, file_len 32 and line 40 zero.",
             .mutant = "status-lengths-swapped")
{
    struct host *host = host_open(1);
    uint8_t *raw = fenced(STATUS_BYTES);
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    int32_t code = api.take(host_handle(host), UINT64_C(0x7fffffffffff), &id,
                            &bytes, &len, as_status(raw));
    expect_code(FFI_ERR, code, "a take of a ticket that was never issued");
    expect_i64(FFI_ERR, (int32_t)raw_u32(raw, 0), "code at offset 0");
    expect(raw_pointer(raw, 8) != NULL, "msg at offset 8 is set");
    expect_text(TEXT_CONTAINS,
                "ticket 140737488355327 not found or already taken",
                raw_pointer(raw, 8), raw_u64(raw, 16),
                "the bytes by msg at 8 and msg_len at 16");
    expect_u64(0, raw_u64(raw, 24), "file at offset 24");
    expect_u64(0, raw_u64(raw, 32), "file_len at offset 32");
    expect_u64(0, raw_u32(raw, 40), "line at offset 40");
    expect_freed(raw, FFI_ERR);
    fenced_free(raw, "the status");
    host_close(host);
}

CONFORM_CASE(status_panic, .id = "i6.self-report-true.status-of-a-panic",
             .clauses = "i6.self-report-true i2.location",
             .why = "A panic is the only outcome that fills every field of "
                    "the status; a swap of msg_len and file_len shows here.",
             .steps = "A plain panic, taken with a status of 48 fenced junk "
                      "bytes, read at the contract's offsets.",
             .expected = "code 2 at 0, the text at 8 and 16, a file's name at "
                         "24 and 32, a line at 40.")
{
    static const uint8_t panic[1] = {1};
    struct host *host = host_open(1);
    uint8_t *raw = fenced(STATUS_BYTES);
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    uint64_t ticket = host_submit(host, DIAGNOSTIC, panic, sizeof panic);
    host_wait(host, ticket);
    int32_t code =
        api.take(host_handle(host), ticket, &id, &bytes, &len, as_status(raw));
    expect_code(FFI_PANIC, code, "the take of a panic");
    expect_i64(FFI_PANIC, (int32_t)raw_u32(raw, 0), "code at offset 0");
    expect(raw_pointer(raw, 8) != NULL, "msg at offset 8 is set");
    expect_text(TEXT_BEGINS, "PANIC: plain panic", raw_pointer(raw, 8),
                raw_u64(raw, 16), "the bytes by msg at 8 and msg_len at 16");
    expect(raw_pointer(raw, 24) != NULL, "file at offset 24 is set");
    expect_u64_at_least(1, raw_u64(raw, 32), "file_len at offset 32");
    expect_u64_at_most(4096, raw_u64(raw, 32), "file_len at offset 32");
    expect_u64_at_least(1, raw_u32(raw, 40), "line at offset 40");
    expect_u64_at_most(1000000, raw_u32(raw, 40), "line at offset 40");
    expect_freed(raw, FFI_PANIC);
    fenced_free(raw, "the status");
    host_close(host);
}

CONFORM_CASE(status_success, .id = "i6.self-report-true.status-of-a-success",
             .clauses = "i6.self-report-true i1.status-reset",
             .why = "A field that success does not clear is junk that the "
                    "host frees.",
             .steps = "A cancel that succeeds, with a status of 48 fenced junk "
                      "bytes.",
             .expected = "All six fields are zero at the contract's offsets.")
{
    struct host *host = host_open(1);
    uint8_t *raw = fenced(STATUS_BYTES);
    int32_t code = api.cancel(host_handle(host), 0, as_status(raw));
    expect_code(FFI_OK, code, "a cancel of ticket 0");
    expect_u64(0, raw_u32(raw, 0), "code at offset 0");
    expect_u64(0, raw_u64(raw, 8), "msg at offset 8");
    expect_u64(0, raw_u64(raw, 16), "msg_len at offset 16");
    expect_u64(0, raw_u64(raw, 24), "file at offset 24");
    expect_u64(0, raw_u64(raw, 32), "file_len at offset 32");
    expect_u64(0, raw_u32(raw, 40), "line at offset 40");
    fenced_free(raw, "the status");
    host_close(host);
}

CONFORM_CASE(stats_raw, .id = "i6.self-report-true.alloc-stats",
             .clauses = "i6.self-report-true l.stats-algebra",
             .why = "The three counters have one width: a swap shows only in "
                    "how they move.",
             .steps = "Statistics into 24 fenced bytes, before, with and "
                      "after a buffer of 1 MiB.",
             .expected = "live at 0 rises by the buffer and falls again, peak "
                         "at 8 is never below it and never falls, the count "
                         "at 16 rises by far less than the bytes.")
{
    const uint64_t size = 1 << 20;
    struct host *host = host_open(1);
    uint8_t *raw[3];
    for (int i = 0; i < 3; i++)
        raw[i] = fenced(STATS_BYTES);
    api.alloc_stats((AllocStats *)(void *)raw[0]);
    uint64_t id = host_buffer(host, NULL, size, NULL);
    api.alloc_stats((AllocStats *)(void *)raw[1]);
    host_buffer_free(host, id);
    api.alloc_stats((AllocStats *)(void *)raw[2]);
    uint64_t live[3], peak[3], count[3];
    for (int i = 0; i < 3; i++) {
        live[i] = raw_u64(raw[i], 0);
        peak[i] = raw_u64(raw[i], 8);
        count[i] = raw_u64(raw[i], 16);
        expect_u64_at_least(live[i], peak[i], "peak at 8, reading %d", i);
    }
    expect_u64_at_least(live[0] + size, live[1],
                        "live at 0 with a buffer of 1 MiB");
    expect_u64_at_most(live[1] - size, live[2],
                       "live at 0 after the buffer was freed");
    expect_u64_at_least(live[1], peak[2], "peak at 8 does not fall");
    expect_u64_at_least(count[0] + 1, count[1],
                        "count at 16 with one buffer more");
    expect_u64_at_most(count[0] + 1000, count[1],
                       "count at 16 counts allocations, not bytes");
    expect_u64_at_least(count[1], count[2], "count at 16 does not fall");
    for (int i = 0; i < 3; i++)
        fenced_free(raw[i], "the statistics");
    host_close(host);
}

/* A header as raw bytes, all zero but what the caller puts there. */
static uint8_t *
raw_header(uint32_t flags, uint32_t opcode, uint64_t timeout_ns)
{
    uint8_t *raw = fenced(HEADER_BYTES);
    memset(raw, 0, HEADER_BYTES);
    memcpy(raw + 24, &timeout_ns, sizeof timeout_ns);
    memcpy(raw + 32, &flags, sizeof flags);
    memcpy(raw + 36, &opcode, sizeof opcode);
    return raw;
}

static struct outcome
call_raw(struct host *host, uint8_t *raw, const uint8_t *input, size_t len)
{
    return host_call_header(host, (const CallHeader *)(void *)raw, input, len);
}

CONFORM_CASE(header_ids, .id = "i6.self-report-true.header-trace-and-span",
             .clauses = "i6.self-report-true i4.header-verbatim",
             .why = "Trace and span are arrays: their order in the struct is "
                    "checked by nothing else.",
             .steps = "Mode 7 with a fenced header whose 24 bytes at offset 0 "
                      "all differ.",
             .expected = "The result is these 24 bytes.",
             .transports = CONFORM_BOTH)
{
    static const uint8_t mode[1] = {7};
    struct host *host = host_open(1);
    uint8_t *raw = raw_header(DIAGNOSTIC, 0, 0);
    for (int i = 0; i < 24; i++)
        raw[i] = (uint8_t)(0xD0 - 7 * i);
    struct outcome out = call_raw(host, raw, mode, sizeof mode);
    expect_code(FFI_OK, out.code, "mode 7");
    expect_bytes(raw, 24, out.bytes, out.len,
                 "trace_id at offset 0 and span_id at offset 16");
    fenced_free(raw, "the header");
    host_close(host);
}

CONFORM_CASE(header_timeout, .id = "i6.self-report-true.header-timeout",
             .clauses = "i6.self-report-true i3.tiny-fires",
             .why = "A timeout read from another place is no deadline, or one "
                    "that nobody set.",
             .steps = "A cooperative job of 3 steps with 1 ns at offset 24 of "
                      "a fenced header, then with 0 there and 0xff in trace "
                      "and span.",
             .expected = "cancelled: DeadlineExceeded, then success.",
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t sleep3[2] = {5, 3};
    struct host *host = host_open(1);
    uint8_t *raw = raw_header(DIAGNOSTIC, 0, 1);
    struct outcome out = call_raw(host, raw, sleep3, sizeof sleep3);
    expect_code(FFI_ERR, out.code, "a deadline of 1 ns at offset 24");
    expect_text(TEXT_IS, "cancelled: DeadlineExceeded", out.msg, out.msg_len,
                "a deadline of 1 ns at offset 24");
    fenced_free(raw, "the header");
    raw = raw_header(DIAGNOSTIC, 0, 0);
    memset(raw, 0xff, 24);
    out = call_raw(host, raw, sleep3, sizeof sleep3);
    expect_code(FFI_OK, out.code, "no deadline at offset 24");
    fenced_free(raw, "the header");
    host_close(host);
}

CONFORM_CASE(header_words, .id = "i6.self-report-true.header-flags-and-opcode",
             .clauses = "i6.self-report-true i2.opcode-closed",
             .why = "flags and reserved are two words of equal width: swapped, "
                    "the flag becomes an opcode and the opcode a flag.",
             .steps = "An echo with 1 at offset 32 and 0 at 36 of a fenced "
                      "header; then 0 at 32 and 1 at 36.",
             .expected = "The echo; then FFI_ERR with opcode 1.")
{
    static const uint8_t echo[4] = {0, 'a', 'b', 'i'};
    struct host *host = host_open(1);
    uint8_t *raw = raw_header(DIAGNOSTIC, 0, 0);
    struct outcome out = call_raw(host, raw, echo, sizeof echo);
    expect_code(FFI_OK, out.code, "flag 1 at offset 32");
    expect_bytes(echo, sizeof echo, out.bytes, out.len,
                 "an echo by flag 1 at offset 32");
    fenced_free(raw, "the header");
    raw = raw_header(0, 1, 0);
    out = call_raw(host, raw, echo, sizeof echo);
    expect_code(FFI_ERR, out.code, "opcode 1 at offset 36");
    expect_text(TEXT_BEGINS, "gusset: no engine handler registered", out.msg,
                out.msg_len, "opcode 1 at offset 36");
    expect_text(TEXT_CONTAINS, "opcode 1", out.msg, out.msg_len,
                "opcode 1 at offset 36");
    fenced_free(raw, "the header");
    host_close(host);
}
