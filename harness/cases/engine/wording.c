/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What an engine's own words become after a cancel, a deadline, a shutdown. */
#include "engine.h"

static uint64_t
late_error(struct host *host, uint64_t timeout_ns, const char *text)
{
    return te_submit(host, INLINE, timeout_ns, TE_LATE_ERROR, text,
                     strlen(text));
}

static bool
says(const struct outcome *outcome, const char *text)
{
    return outcome->msg_len == strlen(text) &&
           memcmp(outcome->msg, text, outcome->msg_len) == 0;
}

/* One of the texts (NULL-terminated), as a plain failure. */
static void
expect_one_of(const struct outcome *outcome, const char *const *texts,
              const char *what)
{
    size_t i = 0;
    while (texts[i + 1] != NULL && !says(outcome, texts[i]))
        i++;
    expect_failure_is(outcome, texts[i], what);
    conform_evidence(what, "%s", texts[i]);
}

static void
shut_down(void)
{
    expect_code(FFI_OK, api.shutdown(60000), "gusset_shutdown");
}

CONFORM_CASE(wording_canonical, .id = "i3.engine-wording.own-words-replaced",
             .clauses = "i3.engine-wording i3.deadline i3.cancel "
                        "i3.shutdown-text i3.exact-texts",
             .why = "An engine that notices its own cancellation and words it "
                    "freely: the host would take it for an engine error.",
             .steps = "A unit checks until a check fails, then fails with "
                      "words of its own (mode 8); stopped once by a cancel, "
                      "once by cancel_all, once by a deadline, once by a "
                      "shutdown.",
             .expected = "The three canonical texts, no place; the handle "
                         "healthy.",
             .mutant = "own-words-kept", .needs = "test-engine",
             .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    uint64_t ticket = te_hold(host, "I was told to stop");
    te_release(host, ticket);
    struct outcome outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, EXPLICIT_TEXT, "stopped by a cancel");

    ticket = te_hold(host, "cancelled: DeadlineExceeded");
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, EXPLICIT_TEXT, "stopped by a cancel_all");

    ticket = te_submit(host, INLINE, 30 * MS, TE_UNTIL, "out of time", 11);
    outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, DEADLINE_TEXT, "stopped by a deadline");
    te_expect_healthy(host, "after three stopped units");

    ticket = te_hold(host, "going down");
    shut_down();
    outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, SHUTDOWN_TEXT, "stopped by a shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    te_expect_healthy(host, "after the init");
    host_close(host);
}

CONFORM_CASE(wording_kept, .id = "i3.engine-wording.mere-words-kept",
             .clauses = "i3.engine-wording i3.two-reasons",
             .why = "A reason guessed from the words of an error: a prefix or "
                    "substring match makes a plain failure a cancellation.",
             .steps = "A unit fails at once (mode 0) or after 100 ms (mode 9) "
                      "with texts that contain, begin with or equal the "
                      "canonical ones; no cancel, deadline or shutdown; a far "
                      "deadline too.",
             .expected = "FFI_ERR with exactly the engine's text.",
             .mutant = "words-taken-for-a-cancel", .needs = "test-engine",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const char *const texts[] = {
        "not cancelled: DeadlineExceeded, really",
        "cancelled: Explicit (so it says)",
        "cancelled: Shutdown",
        "cancelled: DeadlineExceeded",
        "cancelled: Explicit",
        "cancelled: "};
    const size_t count = sizeof texts / sizeof *texts;
    uint64_t late[sizeof texts / sizeof *texts];
    struct host *host = host_open(3);
    for (size_t i = 0; i < count; i++)
        late[i] = late_error(host, i % 2 ? 0 : 600000 * MS, texts[i]);
    for (size_t i = 0; i < count; i++) {
        struct outcome outcome = job_finish(host, late[i]);
        expect_failure_is(&outcome, texts[i], "an engine error after 100 ms");
        uint64_t ticket = te_submit(host, INLINE, i % 2 ? 0 : 600000 * MS,
                                    TE_ERROR, texts[i], strlen(texts[i]));
        outcome = job_finish(host, ticket);
        expect_failure_is(&outcome, texts[i], "an engine error");
    }
    host_close(host);
}

CONFORM_CASE(wording_late, .id = "i3.two-reasons.late-engine-error",
             .clauses = "i3.two-reasons i3.engine-wording",
             .why = "An engine error that arrives after a cancel, a deadline "
                    "or a shutdown and ends as none of the two, or as the "
                    "wrong one.",
             .steps = "Units that never check fail with their own text (mode "
                      "9): cancelled while they run, past their deadline, "
                      "during a shutdown.",
             .expected = "Exactly the engine's text or exactly the text of "
                         "that cancellation; which is free and is reported.",
             .mutant = "late-error-as-the-wrong-reason", .needs = "test-engine",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const char own[] = "the disk is full";
    static const char *const cancelled[] = {own, EXPLICIT_TEXT, NULL};
    static const char *const expired[] = {own, DEADLINE_TEXT, NULL};
    static const char *const down[] = {own, SHUTDOWN_TEXT, NULL};
    struct host *host = host_open(1);
    uint64_t ticket = late_error(host, 0, own);
    te_release(host, ticket);
    struct outcome outcome = job_finish(host, ticket);
    expect_one_of(&outcome, cancelled, "late-after-cancel");
    ticket = late_error(host, 20 * MS, own);
    outcome = job_finish(host, ticket);
    expect_one_of(&outcome, expired, "late-after-deadline");
    ticket = late_error(host, 0, own);
    shut_down();
    outcome = job_finish(host, ticket);
    expect_one_of(&outcome, down, "late-after-shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    te_expect_healthy(host, "after three late errors");
    host_close(host);
}

CONFORM_CASE(wording_two, .id = "i3.two-reasons.test-engine",
             .clauses = "i3.two-reasons i3.cancel-outranks "
                        "i3.engine-wording",
             .why = "Two true reasons that make a third text, or none.",
             .steps = "A unit inside the engine (mode 8) with a far deadline "
                      "is cancelled; one past its deadline is cancelled and "
                      "shut down as well; one is cancelled, then shut down.",
             .expected = "`Explicit` for the first; for the others the text "
                         "of any reason that is true, never the engine's "
                         "own.",
             .mutant = "deadline-outranks-cancel", .needs = "test-engine",
             .transports = CONFORM_BOTH)
{
    static const char own[] = "my own words";
    static const char *const all[] = {EXPLICIT_TEXT, DEADLINE_TEXT,
                                      SHUTDOWN_TEXT, NULL};
    static const char *const two[] = {EXPLICIT_TEXT, SHUTDOWN_TEXT, NULL};
    struct host *host = host_open(2);
    uint64_t ticket =
        te_submit(host, 0, 600000 * MS, TE_UNTIL, own, sizeof own - 1);
    te_release(host, ticket);
    struct outcome outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, EXPLICIT_TEXT, "a cancel, a far deadline");

    ticket = te_submit(host, 0, 1, TE_UNTIL, own, sizeof own - 1);
    uint64_t second = te_hold(host, own);
    te_release(host, ticket);
    te_release(host, second);
    shut_down();
    outcome = job_finish(host, ticket);
    expect_one_of(&outcome, all, "deadline-cancel-shutdown");
    outcome = job_finish(host, second);
    expect_one_of(&outcome, two, "cancel-shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    host_close(host);
}
