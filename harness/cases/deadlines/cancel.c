/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of cancellation: whom it reaches, whom it must not, and how soon. */

#include "../jobs.h"

#include <stdlib.h>

static const uint8_t cooperative_done[2] = {MODE_COOPERATIVE, 0};
static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};

CONFORM_CASE(cancel_running, .id = "i3.cancel.running-and-queued",
             .clauses = "i3.cancel i3.exact-texts",
             .why = "a cancel that reaches only waiting units, or only the "
                    "running one",
             .steps = "One worker: three cooperative jobs of 2.55 s, one "
                      "running and two queued; each is cancelled.",
             .expected = "All three end as cancelled: Explicit; an echo "
                         "works.",
             .mutant = "cancel-ignored", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    uint64_t tickets[3];
    job_occupy(host, 1, MODE_COOPERATIVE, 255, tickets);
    for (int i = 0; i < 3; i++) {
        FfiStatus status = conform_dirty_status();
        struct outcome called = conform_settle(
            api.cancel(host_handle(host), tickets[i], &status), &status);
        expect_code(FFI_OK, called.code, "gusset_cancel");
    }
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        expect_failure_is(&outcome, EXPLICIT_TEXT, "a cancelled job");
    }
    expect_handle_healthy(host, "an echo after three cancels");
    host_close(host);
}

CONFORM_CASE(cancel_outranks, .id = "i3.cancel-outranks.unexpired-deadline",
             .clauses = "i3.cancel-outranks",
             .why = "a reason chosen by which field is set rather than by "
                    "what happened",
             .steps = "One running and two queued cooperative jobs with a "
                      "deadline of 60 s are cancelled.",
             .expected = "cancelled: Explicit for each.",
             .mutant = "deadline-outranks-cancel", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 60000 * MS);
    uint64_t tickets[3];
    for (int i = 0; i < 3; i++)
        tickets[i] = host_submit_patiently(host, &header, endless, 2);
    for (int i = 0; i < 3; i++)
        expect_code(FFI_OK, api.cancel(host_handle(host), tickets[i], NULL),
                    "gusset_cancel");
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        expect_failure_is(&outcome, EXPLICIT_TEXT,
                          "a cancelled job with an unexpired deadline");
    }
    host_close(host);
}

/* Cancels a queued `input`; false when the sleeper before it may be over. */
static bool
cancel_behind_sleeper(struct host *host, const void *input, size_t len,
                      struct outcome *outcome)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 10};
    uint64_t earliest_end = conform_now_ns() + 100 * MS;
    (void)host_submit(host, DIAGNOSTIC, sleeper, sizeof sleeper);
    uint64_t ticket = host_submit(host, DIAGNOSTIC | INLINE, input, len);
    expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                "cancel of the queued job");
    bool in_time = conform_now_ns() < earliest_end;
    *outcome = job_finish(host, ticket);
    return in_time;
}

CONFORM_CASE(queued_cancel, .id = "i3.queued-never-runs.cancelled-panic",
             .clauses = "i3.queued-never-runs i3.cancel",
             .why = "running work that nobody wants any more, with all its "
                    "effects",
             .steps = "One worker sleeps 100 ms; behind it a panic (mode 1), "
                      "cancelled while it waits; then the same with a job "
                      "that writes log lines.",
             .expected = "cancelled: Explicit both times, the handle is not "
                         "poisoned, the log is empty.",
             .mutant = "cancelled-unit-runs", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    static const uint8_t logging[2] = {MODE_LOG, 3};
    for (int attempt = 0; attempt < 20; attempt++) {
        struct host *host = host_open(1);
        struct outcome first, second;
        (void)conform_drain_log();
        if (!cancel_behind_sleeper(host, panic, sizeof panic, &first)) {
            host_close(host);
            continue;
        }
        expect_failure_is(&first, EXPLICIT_TEXT, "a panic cancelled in time");
        expect_handle_healthy(host, "an echo after a panic that never ran");
        bool in_time =
            cancel_behind_sleeper(host, logging, sizeof logging, &second);
        const char *log = conform_drain_log();
        host_close(host);
        if (!in_time)
            continue;
        expect_failure_is(&second, EXPLICIT_TEXT, "a log job cancelled");
        expect_text(TEXT_LACKS, "worker log event", log, strlen(log),
                    "the log after a log job that never ran");
        return;
    }
    conform_broken("two submits and a cancel took over 100 ms, 20 times");
}

CONFORM_CASE(success_beats, .id = "i3.success-beats-late-cancel.sleeper",
             .clauses = "i3.success-beats-late-cancel",
             .why = "a finished result thrown away because a flag was set "
                    "meanwhile",
             .steps = "One worker: three non-cooperative jobs of 60 ms that "
                      "then echo; once one of them runs, all are cancelled.",
             .expected = "At least the running one returns its bytes; the "
                         "others do, or are cancelled: Explicit.",
             .mutant = "late-cancel-wins", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t input[5] = {MODE_SLEEP, 6, MODE_ECHO, 0xab, 0xcd};
    struct host *host = host_open(1);
    uint64_t tickets[3];
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (int i = 0; i < 3; i++)
        tickets[i] = host_submit_patiently(host, &header, input, sizeof input);
    for (int i = 0; i < 3; i++)
        expect_code(FFI_OK, api.cancel(host_handle(host), tickets[i], NULL),
                    "gusset_cancel");
    uint32_t successes = 0;
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        if (outcome.code == FFI_OK) {
            successes++;
            expect_bytes(input + 2, 3, outcome.bytes, outcome.len,
                         "the bytes of a job that was cancelled too late");
        } else {
            expect_failure_is(&outcome, EXPLICIT_TEXT, "a queued job");
        }
    }
    expect_u64_at_least(1, successes,
                        "results of jobs cancelled while they "
                        "ran without checking");
    host_close(host);
}

static void
expect_cancel_ok(struct host *host, uint64_t ticket, const char *what)
{
    FfiStatus status = conform_dirty_status();
    struct outcome called =
        conform_settle(api.cancel(host_handle(host), ticket, &status), &status);
    expect_code(FFI_OK, called.code, "cancel of %s", what);
    expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                "cancel of %s without a status", what);
}

CONFORM_CASE(cancel_harmless, .id = "i3.cancel-harmless.every-ticket-kind",
             .clauses = "i3.cancel-harmless",
             .why = "an error for a harmless race, or a cancel that hits "
                    "another job: a reused slot, a foreign handle, a masked "
                    "bit",
             .steps = "While a job runs here and one on another handle: "
                      "cancel finished, taken, inline, foreign, never-issued, "
                      "0 and 2^64-1 tickets, and the running ticket with bit "
                      "63 set.",
             .expected = "FFI_OK each time; both running jobs and the "
                         "finished result come out whole.",
             .mutant = "cancel-error-for-unknown", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t echo[3] = {MODE_ECHO, 7, 8};
    static const uint8_t running[2] = {MODE_COOPERATIVE, 5};
    struct host *host = host_open(1), *other = host_open(1);
    uint64_t finished = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
    struct completion done = host_wait(host, finished);
    struct outcome taken = host_call(host, DIAGNOSTIC, echo, sizeof echo);
    struct outcome inlined =
        host_call(host, DIAGNOSTIC | INLINE, echo, sizeof echo);

    uint64_t here = host_submit(host, DIAGNOSTIC, running, sizeof running);
    uint64_t there = host_submit(other, DIAGNOSTIC, running, sizeof running);
    expect_cancel_ok(host, finished, "a finished ticket");
    expect_cancel_ok(host, taken.ticket, "a taken ticket");
    expect_cancel_ok(host, inlined.ticket, "an inline ticket");
    expect_cancel_ok(host, there, "another handle's ticket");
    expect_cancel_ok(other, here, "another handle's ticket, the other way");
    expect_cancel_ok(host, 0, "ticket 0");
    expect_cancel_ok(host, UINT64_MAX, "ticket 2^64-1");
    expect_cancel_ok(host, here | GUSSET_INLINE_RECORD_FLAG,
                     "a running ticket with bit 63");
    expect_cancel_ok(host, (UINT64_C(1) << 62) + 5, "a never-issued ticket");
    expect_cancel_ok(host, (UINT64_C(1) << 40) + 5, "a never-issued ticket");

    struct outcome kept = job_finish(host, here);
    struct outcome kept_there = job_finish(other, there);
    struct outcome result = host_outcome(host, &done);
    expect_success_is(&kept, cooperative_done, 2, "the running job");
    expect_success_is(&kept_there, cooperative_done, 2,
                      "the running job of the other handle");
    expect_success_is(&result, echo, sizeof echo, "the finished result");
    host_close(host);
    host_close(other);
}

CONFORM_CASE(cancel_reused_slot, .id = "i3.cancel-harmless.old-tickets",
             .clauses = "i3.cancel-harmless i4.tickets",
             .why = "a ticket that names a slot only: cancelling an old one "
                    "then stops the job that sits there now",
             .steps = "200 echoes are called and taken on two workers; then "
                      "two cooperative jobs run while every old ticket is "
                      "cancelled.",
             .expected = "Both return their results.",
             .mutant = "cancel-hits-the-slot", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    enum { OLD = 200 };
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    static const uint8_t running[2] = {MODE_COOPERATIVE, 5};
    struct host *host = host_open(2);
    uint64_t old[OLD];
    for (int i = 0; i < OLD; i++) {
        struct outcome outcome = host_call(
            host, i % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, echo, sizeof echo);
        old[i] = outcome.ticket;
    }
    uint64_t first = host_submit(host, DIAGNOSTIC, running, sizeof running);
    uint64_t second = host_submit(host, DIAGNOSTIC, running, sizeof running);
    for (int i = 0; i < OLD; i++)
        expect_code(FFI_OK, api.cancel(host_handle(host), old[i], NULL),
                    "cancel of an old ticket");
    struct outcome one = job_finish(host, first);
    struct outcome two = job_finish(host, second);
    expect_success_is(&one, cooperative_done, 2, "the first running job");
    expect_success_is(&two, cooperative_done, 2, "the second running job");
    host_close(host);
}

CONFORM_CASE(cancel_all, .id = "i3.cancel-all.this-handle-and-until-now",
             .clauses = "i3.cancel-all",
             .why = "a partial sweep, a sweep over other handles, or a latch "
                    "that also stops what is submitted later",
             .steps = "Two workers full with six long cooperative jobs, "
                      "another handle runs one; cancel_all here; then "
                      "cooperative jobs of 30 ms are submitted here at once.",
             .expected = "The six are cancelled: Explicit; the later jobs and "
                         "the other handle's return results.",
             .mutant = "cancel-all-hits-later", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t elsewhere[2] = {MODE_COOPERATIVE, 8};
    static const uint8_t brief[2] = {MODE_COOPERATIVE, 3};
    struct host *host = host_open(2), *other = host_open(1);
    uint64_t swept[6], later[3];
    job_occupy(host, 2, MODE_COOPERATIVE, 255, swept);
    uint64_t untouched =
        host_submit(other, DIAGNOSTIC, elsewhere, sizeof elsewhere);
    FfiStatus status = conform_dirty_status();
    struct outcome called =
        conform_settle(api.cancel_all(host_handle(host), &status), &status);
    expect_code(FFI_OK, called.code, "gusset_cancel_all");
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int i = 0; i < 3; i++)
        later[i] = host_submit_patiently(host, &header, brief, sizeof brief);
    for (int i = 0; i < 6; i++) {
        struct outcome outcome = job_finish(host, swept[i]);
        expect_failure_is(&outcome, EXPLICIT_TEXT, "a job before cancel_all");
    }
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, later[i]);
        expect_success_is(&outcome, cooperative_done, 2,
                          "a job submitted after cancel_all");
    }
    struct outcome outcome = job_finish(other, untouched);
    expect_success_is(&outcome, cooperative_done, 2,
                      "a job of the other handle");
    host_close(host);
    host_close(other);
}

/* Nanoseconds from cancel_all over a full pool to the last completion. */
static uint64_t
time_to_stop(uint64_t deadline_ns)
{
    struct host *host = host_open(1);
    uint64_t tickets[3];
    CallHeader header = job_header(DIAGNOSTIC, deadline_ns);
    for (int i = 0; i < 3; i++)
        tickets[i] = host_submit_patiently(host, &header, endless, 2);
    uint64_t from = conform_now_ns() + deadline_ns;
    if (deadline_ns == 0)
        expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL),
                    "gusset_cancel_all");
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        expect_code(FFI_ERR, outcome.code, "a job to be stopped");
    }
    uint64_t now = conform_now_ns();
    host_close(host);
    return now > from ? now - from : 0;
}

CONFORM_CASE(prompt, .id = "i3.prompt.two-steps", .clauses = "i3.prompt",
             .why = "a stop that is noticed late: by a sweep, at the end of "
                    "the job, or at the next submit",
             .steps = "Six times: one running and two queued jobs of 2.55 s "
                      "are cancelled, or run into a deadline of 20 ms; the "
                      "time until all three are read, best of six.",
             .expected = "At most two steps of 10 ms plus the noise of the "
                         "machine.",
             .mutant = "cancel-seen-late", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    uint64_t bound = 20 * MS + conform_noise_ns();
    for (int kind = 0; kind < 2; kind++) {
        uint64_t best = UINT64_MAX;
        for (int round = 0; round < 6 && best > bound; round++) {
            uint64_t took = time_to_stop(kind == 0 ? 0 : 20 * MS);
            best = took < best ? took : best;
        }
        conform_evidence(kind == 0 ? "cancel-to-completion-us"
                                   : "deadline-to-completion-us",
                         "%llu", (unsigned long long)(best / 1000));
        expect_u64_at_most(bound, best, "ns from %s to the completion",
                           kind == 0 ? "the cancel" : "the deadline");
    }
}
