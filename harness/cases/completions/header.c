/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the header that an engine sees: its own, byte for byte. */

#include "../jobs.h"

#include "gusset_engine.h"

static const uint8_t ids_job[1] = {MODE_IDS};

static void
random_ids(uint8_t ids[24])
{
    for (int i = 0; i < 24; i++)
        ids[i] = (uint8_t)conform_random(256);
}

struct header_caller {
    struct host *host;
    struct conform_barrier *barrier;
    uint64_t tickets[64];
    uint8_t ids[64][24];
};

static void
submit_with_ids(void *argument)
{
    struct header_caller *caller = argument;
    conform_barrier_wait(caller->barrier);
    for (int i = 0; i < 64; i++) {
        CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
        if (i % 4 == 3)
            memset(caller->ids[i], 0, 24);
        else
            random_ids(caller->ids[i]);
        memcpy(header.trace_id, caller->ids[i], 16);
        memcpy(header.span_id, caller->ids[i] + 16, 8);
        caller->tickets[i] =
            host_submit_patiently(caller->host, &header, ids_job, 1);
        memset(&header, 0xee, sizeof header);
    }
}

static void
expect_own_ids(struct host *host, struct header_caller *callers,
               const struct completion *done)
{
    for (int c = 0; c < 4; c++) {
        for (int i = 0; i < 64; i++) {
            if (callers[c].tickets[i] != done->ticket)
                continue;
            struct outcome outcome = host_outcome(host, done);
            expect_success_is(&outcome, callers[c].ids[i], 24,
                              "trace id and span id of this submission");
            return;
        }
    }
    expect_unreachable("no caller has ticket %llu",
                       (unsigned long long)done->ticket);
}

CONFORM_CASE(header_verbatim, .id = "i4.header-verbatim.concurrent-ids",
             .clauses = "i4.header-verbatim i1.input-copied",
             .why = "ids of another job: every trace of the service is then "
                    "attributed to somebody else's request",
             .steps = "Four threads submit 64 mode 7 jobs each with random "
                      "ids, every fourth all zero, and overwrite their "
                      "header at once; four workers.",
             .expected = "Each result is the 24 bytes of its own submission.",
             .mutant = "header-of-other-job", .transports = CONFORM_BOTH)
{
    static struct header_caller callers[4];
    struct conform_thread *threads[4];
    struct completion done[4 * 64];
    struct host *host = host_open(4);
    struct conform_barrier *barrier = conform_barrier_new(4);
    for (int c = 0; c < 4; c++) {
        callers[c].host = host;
        callers[c].barrier = barrier;
        threads[c] = conform_thread_start(submit_with_ids, &callers[c], 0);
    }
    for (int n = 0; n < 4 * 64; n++)
        done[n] = host_next(host);
    for (int c = 0; c < 4; c++)
        conform_thread_join(threads[c]);
    for (int n = 0; n < 4 * 64; n++)
        expect_own_ids(host, callers, &done[n]);
    conform_barrier_free(barrier);
    host_close(host);
}

#define OPCODE 0x4932u

static int32_t
echo_header(gse_call *call, void *user)
{
    (void)user;
    return gse_output_bytes(call, gse_header(call), sizeof(CallHeader));
}

CONFORM_CASE(header_engine, .id = "i4.header-verbatim.opcode-and-flags",
             .clauses = "i4.header-verbatim",
             .why = "a header rebuilt on the way, with a field forgotten or "
                    "narrowed",
             .steps = "A handler that returns its header: random ids, flags "
                      "0 to 3 and a far deadline, then an empty header in "
                      "all but the opcode.",
             .expected = "Ids and opcode byte for byte.",
             .mutant = "opcode-not-passed", .needs = "engine",
             .transports = CONFORM_BOTH)
{
    expect_i64(GSE_OK, gse_register_opcode(OPCODE, echo_header, NULL),
               "registration of the handler");
    struct host *host = host_open(1);
    for (uint32_t i = 0; i < 16; i++) {
        CallHeader header = job_header(i % 4, 0);
        uint8_t ids[24] = {0};
        if (i % 2 == 0)
            random_ids(ids);
        memcpy(header.trace_id, ids, 16);
        memcpy(header.span_id, ids + 16, 8);
        header.reserved = OPCODE;
        struct outcome outcome = host_call_header(host, &header, NULL, 0);
        expect_code(FFI_OK, outcome.code, "a job of the handler");
        expect_u64(sizeof(CallHeader), outcome.len, "bytes of the header");
        CallHeader seen;
        memcpy(&seen, outcome.bytes, sizeof seen);
        expect_bytes(ids, 16, seen.trace_id, 16, "the trace id");
        expect_bytes(ids + 16, 8, seen.span_id, 8, "the span id");
        expect_u64(OPCODE, seen.reserved, "the opcode");
    }
    host_close(host);
    gse_clear();
}
