/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of the record format: what is in the pipe, byte for byte, and when a
 * result may come inline. A bare record is always legal
 * [i4.bare-always-allowed], so the format cases judge whichever came; how
 * often it is inline is the business of i4.inline-used alone.
 */

#include "raw.h"

#include <stdio.h>

static const size_t record_sizes[] = {48, 0, 1, 7, 8, 9, 40, 47, 48, 49};
#define SIZE_COUNT (sizeof record_sizes / sizeof *record_sizes)

/* An echo that begins with mode 0; empty input gives an empty result. */
static uint8_t *
echo_of(size_t len, uint64_t seed)
{
    uint8_t *bytes = conform_pattern(len == 0 ? 1 : len, MODE_ECHO, seed);
    for (size_t i = 1; i < len; i++)
        bytes[i] |= 0x80; /* no byte looks like padding */
    return bytes;
}

static void
expect_bare_then_take(struct host *host, uint64_t ticket, const uint8_t *input,
                      size_t len)
{
    struct outcome taken = host_take(host, ticket);
    expect_code(FFI_OK, taken.code, "take after the bare record of %zu bytes",
                len);
    expect_bytes(input, len, taken.bytes, taken.len,
                 "the taken result of %zu bytes", len);
}

/*
 * Judges the next record, read in pieces of `chunk`; returns 1 when it was
 * inline. The bytes of the pipe must be this record and nothing else.
 */
static uint32_t
expect_record(struct host *host, uint64_t ticket, const uint8_t *input,
              size_t len, size_t chunk)
{
    uint64_t words[8];
    int fd = host_read_fd(host);
    raw_await(fd);
    size_t there = pipe_pending(fd);
    raw_read(fd, words, 8, chunk);
    if (words[0] == ticket) {
        expect_u64(8, there, "bytes that came at once for a bare record");
        expect_bare_then_take(host, ticket, input, len);
        return 0;
    }
    expect_u64(ticket | GUSSET_INLINE_RECORD_FLAG, words[0],
               "word 0 of the record of a %zu byte result", len);
    expect_u64(raw_record_bytes(len), there,
               "bytes that came at once for %zu inline bytes", len);
    expect_u64_at_most(GUSSET_INLINE_RESULT_MAX, len,
                       "bytes of an inline result");
    raw_read(fd, words + 1, raw_record_bytes(len) - 8, chunk);
    expect_u64(len, words[1], "the length in the record");
    uint8_t padded[GUSSET_INLINE_RESULT_MAX] = {0};
    memcpy(padded, input, len);
    expect_bytes(padded, raw_record_bytes(len) - 16, words + 2,
                 raw_record_bytes(len) - 16,
                 "the bytes and their padding with zeros, %zu bytes", len);
    return 1;
}

CONFORM_CASE(pipe_record, .id = "i4.pipe-record.every-size",
             .clauses = "i4.pipe-record i4.bare-always-allowed",
             .why = "framing that is off by one, padding that leaks old "
                    "bytes, a record written in two pieces",
             .steps = "With the inline flag, echoes of 48, 0, 1, 7, 8, 9, 40, "
                      "47, 48 and 49 bytes, one at a time, each record read "
                      "whole and in pieces of 1, 3, 7 and 13 bytes.",
             .expected = "A bare ticket with the result in take, or ticket "
                         "with bit 63, length, bytes, zeros up to a multiple "
                         "of 8; over 48 bytes always bare; all its bytes at "
                         "once, none more.",
             .mutant = "padding-not-zero")
{
    static const size_t chunks[] = {64, 1, 3, 7, 13};
    struct host *host = host_open(1);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    uint32_t inlined = 0, records = 0;
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        for (size_t i = 0; i < SIZE_COUNT; i++) {
            size_t len = record_sizes[i];
            uint8_t *input = echo_of(len, i);
            uint64_t ticket =
                raw_submit(host_handle(host), &header, input, len);
            inlined += expect_record(host, ticket, input, len, chunks[c]);
            records++;
        }
    }
    conform_evidence("inline-records", "%u of %u (49 bytes never are)", inlined,
                     records);
    expect_u64(0, pipe_pending(host_read_fd(host)), "bytes left in the pipe");
    host_close(host);
}

CONFORM_CASE(inline_only_if_asked, .id = "i4.inline-only-if-asked.alternating",
             .clauses = "i4.inline-only-if-asked i4.pipe-record",
             .why = "a flag remembered from another job: a host that never "
                    "asked loses the framing",
             .steps = "Echoes of 0 to 48 bytes, with and without bit 1 in "
                      "turn, two in flight on two workers.",
             .expected = "Without bit 1 a bare ticket each time, and the "
                         "result in take.",
             .mutant = "inline-unasked", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    for (size_t len = 0; len <= GUSSET_INLINE_RESULT_MAX; len++) {
        uint8_t *input = echo_of(len, len);
        uint64_t asked = host_submit(host, DIAGNOSTIC | INLINE, input, len);
        uint64_t not_asked = host_submit(host, DIAGNOSTIC, input, len);
        struct completion bare = host_wait(host, not_asked);
        expect(!bare.inlined, "bit 1 was clear, %zu bytes: a bare record", len);
        struct outcome taken = host_take(host, not_asked);
        expect_success_is(&taken, input, len,
                          "the result that was not asked "
                          "for inline");
        struct outcome other = job_finish(host, asked);
        expect_success_is(&other, input, len, "the result asked for inline");
    }
    host_close(host);
}

CONFORM_CASE(failure_is_bare, .id = "i4.pipe-record.failure-is-bare",
             .clauses = "i4.pipe-record i2.closed-by-default",
             .why = "the text of an error delivered as if it were the bytes "
                    "of a result",
             .steps = "With the inline flag: a job without an engine, one of "
                      "an unknown opcode, one past its deadline, one "
                      "cancelled, and a panic.",
             .expected = "A bare ticket for each, the failure in take.",
             .mutant = "inline-record-for-error", .transports = CONFORM_BOTH)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    static const uint8_t panic[1] = {MODE_PANIC};
    struct host *host = host_open(1);
    uint64_t tickets[5];
    CallHeader none = job_header(INLINE, 0);
    CallHeader unknown = job_header(INLINE, 0);
    CallHeader expiring = job_header(DIAGNOSTIC | INLINE, 1);
    CallHeader plain = job_header(DIAGNOSTIC | INLINE, 0);
    unknown.reserved = 0x7eadbeef;
    tickets[0] = host_submit_header(host, &none, endless, 2);
    tickets[1] = host_submit_patiently(host, &unknown, endless, 2);
    tickets[2] = host_submit_patiently(host, &expiring, endless, 2);
    tickets[3] = host_submit_patiently(host, &plain, endless, 2);
    expect_code(FFI_OK, api.cancel(host_handle(host), tickets[3], NULL),
                "cancel");
    tickets[4] = host_submit_patiently(host, &plain, panic, sizeof panic);
    for (int i = 0; i < 5; i++) {
        struct completion done = host_wait(host, tickets[i]);
        expect(!done.inlined, "failure %d of 5 comes as a bare record", i);
        struct outcome outcome = host_take(host, tickets[i]);
        expect_code(i == 4 ? FFI_PANIC : FFI_ERR, outcome.code,
                    "take of failure %d", i);
    }
    host_close(host);
}

CONFORM_CASE(inline_final, .id = "i4.inline-is-final.take-fails",
             .clauses = "i4.inline-is-final i1.take-once",
             .why = "a result kept after it went out with the record: memory "
                    "that no host will ever collect",
             .steps = "50 inline echoes of 48 bytes; take of each ticket "
                      "after its inline record.",
             .expected = "FFI_ERR, ticket N not found or already taken; "
                         "live_bytes does not grow.",
             .mutant = "inline-stored", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    uint8_t *input = echo_of(GUSSET_INLINE_RESULT_MAX, 3);
    uint32_t inlined = 0;
    struct conform_census before = {0};
    for (int i = 0; i < 60; i++) {
        if (i == 10)
            before = conform_census_now(0);
        uint64_t ticket = host_submit(host, DIAGNOSTIC | INLINE, input,
                                      GUSSET_INLINE_RESULT_MAX);
        struct completion done = host_wait(host, ticket);
        if (!done.inlined) {
            (void)host_take(host, ticket);
            continue;
        }
        inlined++;
        char text[64];
        (void)snprintf(text, sizeof text,
                       "ticket %llu not found or already taken",
                       (unsigned long long)ticket);
        struct outcome again = host_take(host, ticket);
        expect_code(FFI_ERR, again.code, "take after an inline record");
        expect_text(TEXT_CONTAINS, text, again.msg, again.msg_len,
                    "the text of that take");
    }
    struct conform_census after = conform_census_now(0);
    expect_u64_at_most(before.live_bytes, after.live_bytes,
                       "live_bytes after 50 more inline results");
    conform_evidence("inline", "%u of 60", inlined);
    host_close(host);
}

/* How many of the three small successes came inline. */
static uint32_t
inline_share(struct host *host)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    static const uint8_t ids[1] = {MODE_IDS};
    static const uint8_t squares[4] = {MODE_SQUARES, 1, 2, 3};
    uint8_t *full = echo_of(GUSSET_INLINE_RESULT_MAX, 9);
    uint32_t inlined = 0;
    inlined += host_call(host, DIAGNOSTIC | INLINE, echo, 2).inlined;
    inlined += host_call(host, DIAGNOSTIC | INLINE, full, 48).inlined;
    inlined += host_call(host, DIAGNOSTIC | INLINE, ids, 1).inlined;
    inlined += host_call(host, DIAGNOSTIC | INLINE, squares, 4).inlined;
    return inlined;
}

CONFORM_CASE(inline_used, .id = "i4.inline-used.modes-0-7-10",
             .clauses = "i4.inline-used",
             .why = "an inline path that exists but is never taken: every "
                    "small result then costs a take",
             .steps = "25 rounds of echoes of 2 and 48 bytes, ids and a sum "
                      "of squares with the inline flag; pipe and ring have "
                      "room.",
             .expected = "All 100 come inline; the share is reported.",
             .mutant = "inline-never-used", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    uint32_t inlined = 0;
    for (int i = 0; i < 25; i++)
        inlined += inline_share(host);
    conform_evidence("inline-share", "%u of 100", inlined);
    expect_u64(100, inlined, "small successes that came inline");
    host_close(host);
}

CONFORM_CASE(records_never_interleave, .id = "i4.pipe-record.no-interleaving",
             .clauses = "i4.pipe-record i4.exactly-once",
             .why = "two workers that write records in pieces, so that they "
                    "mix when they finish together",
             .steps = "Four workers, 200 mixed echoes of 0 to 80 bytes, with "
                      "and without the inline flag; the stream is read in "
                      "pieces of 1, 3, 7, 13, 64 and 509 bytes.",
             .expected = "Whole records only, each accepted ticket once, "
                         "inline bytes as submitted.",
             .mutant = "double-completion")
{
    static const size_t chunks[] = {1, 3, 7, 13, 64, 509};
    enum { JOBS = 12 };
    struct host *host = host_open(4);
    for (size_t round = 0; round < 6 * 3; round++) {
        uint64_t tickets[JOBS];
        uint8_t *inputs[JOBS];
        size_t lens[JOBS];
        for (int i = 0; i < JOBS; i++) {
            CallHeader header =
                job_header(i % 3 ? DIAGNOSTIC | INLINE : DIAGNOSTIC, 0);
            lens[i] = conform_random(81);
            inputs[i] = echo_of(lens[i], round * JOBS + (size_t)i);
            tickets[i] =
                raw_submit(host_handle(host), &header, inputs[i], lens[i]);
        }
        bool seen[JOBS] = {false};
        for (int n = 0; n < JOBS; n++) {
            uint64_t words[8] = {0};
            size_t chunk = chunks[round % 6];
            raw_read(host_read_fd(host), words, 8, chunk);
            uint64_t ticket = words[0] & ~GUSSET_INLINE_RECORD_FLAG;
            int i = 0;
            while (i < JOBS && tickets[i] != ticket)
                i++;
            expect(i < JOBS && !seen[i],
                   "record %d: word 0 is %#llx, an "
                   "accepted ticket for the first time",
                   n, (unsigned long long)words[0]);
            seen[i] = true;
            if (words[0] == ticket) {
                expect_bare_then_take(host, ticket, inputs[i], lens[i]);
                continue;
            }
            expect_u64_at_most(GUSSET_INLINE_RESULT_MAX, lens[i],
                               "bytes of an inline result");
            raw_read(host_read_fd(host), words + 1,
                     raw_record_bytes(lens[i]) - 8, chunk);
            expect_u64(lens[i], words[1], "the length in the record");
            expect_bytes(inputs[i], lens[i], words + 2, lens[i],
                         "the inline bytes");
        }
    }
    expect_u64(0, pipe_pending(host_read_fd(host)), "bytes left over");
    host_close(host);
}
