/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One ordinary life of a handle on the pretended subject, which does one thing
 * wrong: no case below asks for the oracle that must notice it.
 */
#include "conform.h"
#include "subject.h"

static const uint8_t input[] = {0, 'l', 'i', 'f', 'e'};

/* Three jobs: taken, taken, never taken. Then the reports, then close. */
static void
live(enum glue_fault fault, uint32_t transport)
{
    uint8_t log[64];
    size_t written = 0;
    AllocStats stats;
    glue_fault = fault;
    struct host *host = host_open_with(2, transport);
    for (int i = 0; i < 2; i++) {
        expect_code(FFI_OK, host_call(host, DIAGNOSTIC, input, 5).code,
                    "job %d", i);
    }
    (void)host_submit(host, DIAGNOSTIC, input, sizeof input);
    (void)host_submit(host, DIAGNOSTIC, input, sizeof input);
    api.alloc_stats(&stats);
    api.drain_logs(log, sizeof log, &written);
    expect_u64(0, written, "log bytes");
    host_close(host);
    glue_fault = GLUE_NO_FAULT;
}

#define ORACLE_TAGGED(name, id_, fault, transport, tags_)            \
    CONFORM_CASE(name, .id = "glue." id_, .clauses = "glue",         \
                 .why = "a fault that the oracles miss",             \
                 .steps = "An ordinary life on a subject with it.",  \
                 .expected = "The verdict in harness/self/table.c.", \
                 .tags = CONFORM_COLD | (tags_))                     \
    {                                                                \
        live(fault, transport);                                      \
    }
#define ORACLE(name, id, fault) ORACLE_TAGGED(name, id, fault, CONFORM_PIPE, 0)
#define RING_ORACLE(name, id, fault) \
    ORACLE_TAGGED(name, id, fault, CONFORM_RING, 0)

ORACLE(life, "life", GLUE_NO_FAULT)
RING_ORACLE(life_on_ring, "life-on-a-ring", GLUE_NO_FAULT)

ORACLE(header_kept, "header-kept", GLUE_HEADER_KEPT)
ORACLE(input_kept, "input-kept", GLUE_INPUT_KEPT)
ORACLE(behind_header, "behind-the-header", GLUE_BEHIND_HEADER)
ORACLE(behind_input, "behind-the-input", GLUE_BEHIND_INPUT)
ORACLE(behind_status, "behind-the-status", GLUE_BEHIND_STATUS)
ORACLE(before_ticket, "before-the-ticket", GLUE_BEFORE_TICKET)
ORACLE(behind_stats, "behind-the-statistics", GLUE_BEHIND_STATS)
ORACLE(behind_log, "behind-the-log", GLUE_BEHIND_LOG)
ORACLE(out_late, "out-late", GLUE_OUT_LATE)
ORACLE(out_unwritten, "out-unwritten", GLUE_OUT_UNWRITTEN)
ORACLE(status_kept, "status-kept", GLUE_STATUS_KEPT)

/* The refusals are those of host_close: no case asks for a second take. */
ORACLE(out_on_error, "out-on-error", GLUE_OUT_ON_ERROR)
ORACLE(code_differs, "code-differs", GLUE_CODE_DIFFERS)

ORACLE(ticket_twice, "ticket-twice", GLUE_TICKET_TWICE)
ORACLE(completion_twice, "completion-twice", GLUE_COMPLETION_TWICE)
/* Waits for as long as a completion may take. */
ORACLE_TAGGED(completion_lost, "completion-lost", GLUE_COMPLETION_LOST,
              CONFORM_PIPE, CONFORM_SLEEPS)
ORACLE(completion_other, "completion-other", GLUE_COMPLETION_OTHER)
ORACLE(result_twice, "result-twice", GLUE_RESULT_TWICE)
RING_ORACLE(ring_capacity, "ring-capacity", GLUE_RING_CAPACITY)
RING_ORACLE(ring_sequence_word, "ring-sequence", GLUE_RING_SEQUENCE)
RING_ORACLE(ring_after_close, "ring-after-close", GLUE_RING_AFTER_CLOSE)

#define BY_HAND(name, id_)                                           \
    CONFORM_CASE(name, .id = "glue." id_, .clauses = "glue",         \
                 .why = "a fault that the oracles miss",             \
                 .steps = "By hand, past the ledger of a host.",     \
                 .expected = "The verdict in harness/self/table.c.", \
                 .tags = CONFORM_COLD)

BY_HAND(result_lost, "result-lost")
{
    struct host *host = host_open_with(2, CONFORM_PIPE);
    (void)host_submit(host, DIAGNOSTIC, input, sizeof input);
    (void)host_submit(host, DIAGNOSTIC, input, sizeof input);
    glue_fault = GLUE_RESULT_LOST;
    host_close(host);
}

BY_HAND(result_other, "result-other")
{
    struct host *host = host_open_with(2, CONFORM_PIPE);
    glue_fault = GLUE_RESULT_OTHER;
    expect_code(FFI_OK, host_take(host, 99).code, "a ticket never issued");
    host_close(host);
}
