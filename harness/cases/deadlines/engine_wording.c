/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of what an engine's own words become after a failed check. */

#include "../jobs.h"

#include <stdatomic.h>
#include <time.h>

#include "gusset_engine.h"

#define OPCODE 0x4931u

/* Byte 0 of the input; the error text is the rest. */
enum { FAIL_AT_ONCE, FAIL_AFTER_CHECK, FAIL_AFTER_GATE };

static atomic_uint handler_started;
static atomic_uint gate_open;

static void
sleep_a_millisecond(void)
{
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL);
}

static int32_t
wording_handler(gse_call *call, void *user)
{
    (void)user;
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    atomic_fetch_add(&handler_started, 1);
    if (len == 0)
        return GSE_OK;
    if (input[0] == FAIL_AFTER_CHECK)
        while (gse_check(call) == GSE_OK)
            sleep_a_millisecond();
    if (input[0] == FAIL_AFTER_GATE)
        while (!atomic_load(&gate_open))
            sleep_a_millisecond();
    gse_output_error(call, input + 1, len - 1);
    return GSE_FAILED;
}

static bool
handler_has_started(void *unused)
{
    (void)unused;
    return atomic_load(&handler_started) != 0;
}

/* Starts a job of the handler with this text and waits until it runs. */
static uint64_t
start_handler(struct host *host, uint8_t kind, const char *text,
              uint64_t timeout_ns)
{
    uint8_t input[128];
    size_t len = strlen(text);
    input[0] = kind;
    memcpy(input + 1, text, len);
    CallHeader header = job_header(INLINE, timeout_ns);
    header.reserved = OPCODE;
    atomic_store(&handler_started, 0);
    uint64_t ticket = host_submit_header(host, &header, input, len + 1);
    if (timeout_ns == 0)
        expect(conform_eventually(handler_has_started, NULL),
               "the handler of an opcode runs");
    return ticket;
}

CONFORM_CASE(wording_canonical, .id = "i3.engine-wording.own-words-replaced",
             .clauses = "i3.engine-wording i3.deadline i3.cancel",
             .why = "an engine that notices its own cancellation and words "
                    "it freely: the host would take it for an engine error",
             .steps = "A handler checks until a check fails, then fails with "
                      "words of its own; stopped once by a cancel, once by a "
                      "deadline, once by a shutdown.",
             .expected = "The three canonical texts.",
             .mutant = "own-words-kept", .needs = "engine",
             .transports = CONFORM_BOTH)
{
    expect_i64(GSE_OK, gse_register_opcode(OPCODE, wording_handler, NULL),
               "registration of the handler");
    struct host *host = host_open(1);
    uint64_t ticket =
        start_handler(host, FAIL_AFTER_CHECK, "I was told to stop", 0);
    expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL), "cancel");
    struct outcome outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, EXPLICIT_TEXT, "stopped by a cancel");

    ticket = start_handler(host, FAIL_AFTER_CHECK, "out of time", 10 * MS);
    outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, DEADLINE_TEXT, "stopped by a deadline");

    ticket = start_handler(host, FAIL_AFTER_CHECK, "going down", 0);
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, SHUTDOWN_TEXT, "stopped by a shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    host_close(host);
    gse_clear();
}

CONFORM_CASE(wording_kept, .id = "i3.engine-wording.mere-words-kept",
             .clauses = "i3.engine-wording i3.two-reasons",
             .why = "a reason guessed from the words of an error: a prefix "
                    "or substring match makes a plain failure a "
                    "cancellation",
             .steps = "A handler fails at once with texts that contain, begin "
                      "with or equal the canonical ones; no cancel, deadline "
                      "or shutdown; a far deadline too.",
             .expected = "FFI_ERR with exactly the engine's text.",
             .mutant = "words-taken-for-a-cancel", .needs = "engine",
             .transports = CONFORM_BOTH)
{
    static const char *const texts[] = {
        "not cancelled: DeadlineExceeded, really",
        "cancelled: Explicit (so it says)", "cancelled: Shutdown",
        "cancelled: DeadlineExceeded", "cancelled: "};
    expect_i64(GSE_OK, gse_register_opcode(OPCODE, wording_handler, NULL),
               "registration of the handler");
    struct host *host = host_open(1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t ticket =
            start_handler(host, FAIL_AT_ONCE, texts[i], i % 2 ? 0 : 60000 * MS);
        struct outcome outcome = job_finish(host, ticket);
        expect_failure_is(&outcome, texts[i], "an engine error");
    }
    host_close(host);
    gse_clear();
}

CONFORM_CASE(wording_late, .id = "i3.two-reasons.late-engine-error",
             .clauses = "i3.two-reasons",
             .why = "an engine error that arrives after a cancel and ends as "
                    "neither of the two",
             .steps = "A handler that never checks is cancelled while it "
                      "runs, then fails with its own text.",
             .expected = "Exactly the engine's text or exactly cancelled: "
                         "Explicit; which is free and is reported.",
             .mutant = NULL, .needs = "engine", .transports = CONFORM_BOTH)
{
    static const char text[] = "the disk is full";
    expect_i64(GSE_OK, gse_register_opcode(OPCODE, wording_handler, NULL),
               "registration of the handler");
    struct host *host = host_open(1);
    atomic_store(&gate_open, 0);
    uint64_t ticket = start_handler(host, FAIL_AFTER_GATE, text, 0);
    expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL), "cancel");
    atomic_store(&gate_open, 1);
    struct outcome outcome = job_finish(host, ticket);
    bool own = outcome.msg_len == strlen(text) &&
               memcmp(outcome.msg, text, strlen(text)) == 0;
    expect_failure_is(&outcome, own ? text : EXPLICIT_TEXT,
                      "an engine error after a cancel");
    conform_evidence("late-engine-error", "%s", outcome.msg);
    host_close(host);
    gse_clear();
}
