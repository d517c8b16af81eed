/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the ids in a header: no byte of them depends on another one. */

#include "../jobs.h"

enum { TRACE_BYTES = 16, ID_BYTES = 24 };

/* All four combinations of absent ids; each byte alone, and each missing. */
enum { PATTERNS = 4 + 2 * ID_BYTES };

static const uint8_t ids_job[1] = {MODE_IDS};

static void
pattern(uint32_t n, uint8_t ids[ID_BYTES])
{
    bool alone = n < 4 + ID_BYTES;
    for (uint32_t i = 0; i < ID_BYTES; i++) {
        uint8_t byte = (uint8_t)(1 + conform_random(255));
        bool present = alone == (i == (n - 4) % ID_BYTES);
        if (n < 4)
            present = (n >> (i >= TRACE_BYTES) & 1) != 0;
        ids[i] = present ? byte : 0;
    }
}

static CallHeader
header_of(const uint8_t ids[ID_BYTES], uint32_t flags)
{
    CallHeader header = job_header(DIAGNOSTIC | flags, 0);
    memcpy(header.trace_id, ids, TRACE_BYTES);
    memcpy(header.span_id, ids + TRACE_BYTES, ID_BYTES - TRACE_BYTES);
    return header;
}

static void
expect_ids(const uint8_t ids[ID_BYTES], const struct outcome *outcome,
           uint32_t n, const char *what)
{
    expect_code(FFI_OK, outcome->code, "mode 7 with pattern %u", n);
    expect_bytes(ids, TRACE_BYTES, outcome->bytes,
                 outcome->len < TRACE_BYTES ? outcome->len : TRACE_BYTES,
                 "the trace id of pattern %u, %s", n, what);
    expect_bytes(ids + TRACE_BYTES, ID_BYTES - TRACE_BYTES,
                 outcome->bytes + TRACE_BYTES, outcome->len - TRACE_BYTES,
                 "the span id of pattern %u, %s", n, what);
}

/* One after the other: each on a slot that held full ids before. */
static void
one_by_one(struct host *host, uint32_t flags)
{
    for (uint32_t n = 0; n < PATTERNS; n++) {
        uint8_t full[ID_BYTES], ids[ID_BYTES];
        pattern(3, full);
        pattern(n, ids);
        CallHeader header = header_of(full, flags);
        struct outcome outcome = host_call_header(host, &header, ids_job, 1);
        expect_ids(full, &outcome, 3, "full ids");
        header = header_of(ids, flags);
        outcome = host_call_header(host, &header, ids_job, 1);
        expect_ids(ids, &outcome, n, "after full ids");
    }
}

/* All of them before the first is read: most overflow a ring. */
static void
all_at_once(struct host *host, uint32_t flags)
{
    uint8_t ids[PATTERNS][ID_BYTES];
    uint64_t tickets[PATTERNS];
    for (uint32_t n = 0; n < PATTERNS; n++) {
        pattern(n, ids[n]);
        CallHeader header = header_of(ids[n], flags);
        tickets[n] = host_submit_patiently(host, &header, ids_job, 1);
    }
    for (uint32_t n = 0; n < PATTERNS; n++) {
        struct outcome outcome = job_finish(host, tickets[n]);
        expect_ids(ids[n], &outcome, n, "with nobody reading");
    }
}

CONFORM_CASE(header_fields, .id = "i4.header-verbatim.bytes-are-independent",
             .clauses = "i4.header-verbatim",
             .why = "an id that is dropped or kept because of another one: a "
                    "span without a trace, the ids of the slot's last job "
                    "where this one has none",
             .steps = "Mode 7, one worker: trace and span absent or not in "
                      "all four combinations, each byte alone, each byte "
                      "alone missing; behind a job with full ids, and all of "
                      "them before one is read; bare and inline.",
             .expected = "The 24 bytes of the submission each time.",
             .mutant = "span-dropped-without-trace", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    for (uint32_t flags = 0; flags <= INLINE; flags += INLINE) {
        one_by_one(host, flags);
        all_at_once(host, flags);
    }
    host_close(host);
}
