/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of deadlines: what fires, when it counts from, and what never does. */

#include "../jobs.h"

static const uint8_t cooperative_done[2] = {MODE_COOPERATIVE, 0};

CONFORM_CASE(deadline_running, .id = "i3.deadline.cooperative-job-ends",
             .clauses = "i3.deadline i3.exact-texts",
             .why = "a deadline that the engine never sees, or that is "
                    "reported as somebody's cancel",
             .steps = "A cooperative job of 2.55 s with a deadline of 30 ms, "
                      "then an echo on the same handle.",
             .expected = "FFI_ERR, exactly cancelled: DeadlineExceeded, no "
                         "place; the echo works.",
             .mutant = "explicit-for-deadline", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t input[2] = {MODE_COOPERATIVE, 255};
    struct host *host = host_open(1);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 30 * MS);
    struct outcome outcome =
        host_call_header(host, &header, input, sizeof input);
    expect_failure_is(&outcome, DEADLINE_TEXT, "a job past its deadline");
    expect_handle_healthy(host, "an echo after a deadline");
    host_close(host);
}

CONFORM_CASE(deadline_first_of_many, .id = "i3.deadline.only-its-own-job",
             .clauses = "i3.deadline i3.zero-means-none",
             .why = "a deadline kept per worker or per slot, which then ends "
                    "a neighbour or the next job",
             .steps = "Two workers: a job with a deadline beside one without, "
                      "both cooperative, three times on the same slots.",
             .expected = "Each time exactly the one with the deadline ends as "
                         "DeadlineExceeded; the other returns its result.",
             .mutant = "deadline-of-the-handle", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    static const uint8_t brief[2] = {MODE_COOPERATIVE, 4};
    struct host *host = host_open(2);
    for (int round = 0; round < 3; round++) {
        CallHeader limited = job_header(DIAGNOSTIC, 15 * MS);
        CallHeader unlimited = job_header(DIAGNOSTIC, 0);
        uint64_t first = host_submit_header(host, &limited, endless, 2);
        uint64_t second = host_submit_header(host, &unlimited, brief, 2);
        struct outcome ended = job_finish(host, first);
        struct outcome kept = job_finish(host, second);
        expect_failure_is(&ended, DEADLINE_TEXT, "the job with a deadline");
        expect_success_is(&kept, cooperative_done, 2, "the job without");
    }
    host_close(host);
}

/*
 * One round: a sleeper holds the only worker for 200 ms, `input` waits behind
 * it with the deadline. False when this thread itself was too slow for the
 * wait to be as long as the deadline. The sleeper cannot end before the moment
 * of its submission plus its length.
 */
static bool
behind_sleeper(const void *input, size_t len, uint64_t timeout_ns,
               struct outcome *outcome, struct host **host)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 20};
    *host = host_open(1);
    uint64_t earliest_end = conform_now_ns() + 200 * MS;
    (void)host_submit(*host, DIAGNOSTIC, sleeper, sizeof sleeper);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, timeout_ns);
    uint64_t ticket = host_submit_header(*host, &header, input, len);
    bool waits_long_enough = conform_now_ns() + timeout_ns + MS < earliest_end;
    *outcome = job_finish(*host, ticket);
    return waits_long_enough;
}

static struct outcome
expired_behind_sleeper(const void *input, size_t len, uint64_t timeout_ns,
                       struct host **host)
{
    struct outcome outcome;
    for (int attempt = 0; attempt < 20; attempt++) {
        if (behind_sleeper(input, len, timeout_ns, &outcome, host))
            return outcome;
        host_close(*host);
    }
    conform_broken("two submits took longer than 150 ms, 20 times");
}

CONFORM_CASE(relative_queue, .id = "i3.relative.queue-time-counts",
             .clauses = "i3.relative i3.queued-never-runs",
             .why = "a deadline that starts when a worker picks the unit up: "
                    "a busy pool then makes every caller wait longer than it "
                    "said",
             .steps = "One worker sleeps 200 ms; an echo with a deadline of "
                      "40 ms waits behind it.",
             .expected = "The echo has expired in the queue: exactly "
                         "cancelled: DeadlineExceeded.",
             .mutant = "deadline-from-dequeue", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t echo[4] = {MODE_ECHO, 1, 2, 3};
    struct host *host;
    struct outcome outcome =
        expired_behind_sleeper(echo, sizeof echo, 40 * MS, &host);
    expect_failure_is(&outcome, DEADLINE_TEXT, "an echo expired in the queue");
    host_close(host);
}

CONFORM_CASE(expired_never_runs, .id = "i3.queued-never-runs.expired-panic",
             .clauses = "i3.queued-never-runs i3.tiny-fires",
             .why = "a unit whose deadline has passed in the queue and that "
                    "enters the engine all the same",
             .steps = "One worker sleeps 200 ms; a panic (mode 1) with a "
                      "deadline of 1 us waits behind it.",
             .expected = "cancelled: DeadlineExceeded, and the handle is not "
                         "poisoned.",
             .mutant = "expired-unit-runs tiny-timeout-ignored",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    struct host *host;
    struct outcome outcome =
        expired_behind_sleeper(panic, sizeof panic, 1000, &host);
    expect_failure_is(&outcome, DEADLINE_TEXT, "a panic expired in the queue");
    expect_handle_healthy(host, "an echo after a panic that must not run");
    host_close(host);
}

CONFORM_CASE(zero_none, .id = "i3.zero-means-none.also-after-a-deadline",
             .clauses = "i3.zero-means-none",
             .why = "timeout 0 read as already expired, or a slot that keeps "
                    "the deadline of its last job",
             .steps = "On one worker, in turn: a job with a deadline of 1 ns, "
                      "then cooperative jobs of 30 ms without a deadline, one "
                      "of them queued behind a sleeper of 20 ms.",
             .expected = "The jobs with timeout 0 return their result.",
             .mutant = "deadline-of-the-last-job", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t expiring[2] = {MODE_COOPERATIVE, 2};
    static const uint8_t sleeper[2] = {MODE_SLEEP, 2};
    static const uint8_t input[2] = {MODE_COOPERATIVE, 3};
    struct host *host = host_open(1);
    CallHeader none = job_header(DIAGNOSTIC, 0);
    for (int round = 0; round < 2; round++) {
        CallHeader tiny = job_header(DIAGNOSTIC, 1);
        struct outcome ended = host_call_header(host, &tiny, expiring, 2);
        expect_failure_is(&ended, DEADLINE_TEXT, "the job before, 1 ns");
        struct outcome direct = host_call_header(host, &none, input, 2);
        expect_success_is(&direct, cooperative_done, 2, "timeout 0");
    }
    (void)host_submit_header(host, &none, sleeper, sizeof sleeper);
    uint64_t queued = host_submit_header(host, &none, input, sizeof input);
    struct outcome outcome = job_finish(host, queued);
    expect_success_is(&outcome, cooperative_done, 2, "timeout 0, queued");
    host_close(host);
}

CONFORM_CASE(tiny_fires, .id = "i3.tiny-fires.one-to-thousand-ns",
             .clauses = "i3.tiny-fires i3.deadline",
             .why = "a tiny timeout rounded down to 0 by a coarser clock "
                    "unit, and so to no deadline at all",
             .steps = "Cooperative jobs of two steps with deadlines of 1, 2, "
                      "10, 100, 999 and 1000 ns.",
             .expected = "Each ends as cancelled: DeadlineExceeded at its "
                         "second check at the latest.",
             .mutant = "tiny-timeout-ignored", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint64_t timeouts[] = {1, 2, 10, 100, 999, 1000};
    static const uint8_t input[2] = {MODE_COOPERATIVE, 2};
    struct host *host = host_open(1);
    for (size_t i = 0; i < sizeof timeouts / sizeof *timeouts; i++) {
        CallHeader header = job_header(DIAGNOSTIC | INLINE, timeouts[i]);
        struct outcome outcome =
            host_call_header(host, &header, input, sizeof input);
        expect_failure_is(&outcome, DEADLINE_TEXT, "a tiny deadline");
    }
    host_close(host);
}

static const uint64_t huge_timeouts[] = {
    (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};
#define HUGE_COUNT (sizeof huge_timeouts / sizeof *huge_timeouts)

CONFORM_CASE(huge_never_wraps, .id = "i3.huge-never-wraps.running-and-queued",
             .clauses = "i3.huge-never-wraps",
             .why = "now + timeout that wraps around into the past",
             .steps = "Cooperative jobs of 20 ms with timeouts of 2^63-1, "
                      "2^63, 2^64-2 and 2^64-1, on an idle worker and queued "
                      "behind a sleeper.",
             .expected = "Every one returns its result.",
             .mutant = "huge-timeout-wraps", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t input[2] = {MODE_COOPERATIVE, 2};
    static const uint8_t sleeper[2] = {MODE_SLEEP, 1};
    struct host *host = host_open(1);
    for (size_t i = 0; i < HUGE_COUNT; i++) {
        CallHeader header = job_header(DIAGNOSTIC, huge_timeouts[i]);
        struct outcome direct =
            host_call_header(host, &header, input, sizeof input);
        expect_success_is(&direct, cooperative_done, 2,
                          "a huge timeout, idle worker");
        (void)host_submit(host, DIAGNOSTIC, sleeper, sizeof sleeper);
        uint64_t ticket =
            host_submit_header(host, &header, input, sizeof input);
        struct outcome queued = job_finish(host, ticket);
        expect_success_is(&queued, cooperative_done, 2,
                          "a huge timeout, queued");
    }
    host_close(host);
}

CONFORM_CASE(huge_cancellable, .id = "i3.huge-never-wraps.cancel-still-works",
             .clauses = "i3.huge-never-wraps i3.cancel-outranks",
             .why = "a huge deadline that hides the cancel, or is blamed for "
                    "it",
             .steps = "Long cooperative jobs with the four huge timeouts, "
                      "each cancelled.",
             .expected = "Each ends as cancelled: Explicit.",
             .mutant = "huge-timeout-outranks-cancel",
             .transports = CONFORM_PIPE)
{
    static const uint8_t input[2] = {MODE_COOPERATIVE, 255};
    struct host *host = host_open(1);
    for (size_t i = 0; i < HUGE_COUNT; i++) {
        CallHeader header = job_header(DIAGNOSTIC, huge_timeouts[i]);
        uint64_t ticket =
            host_submit_header(host, &header, input, sizeof input);
        expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                    "cancel of a job with a huge timeout");
        struct outcome outcome = job_finish(host, ticket);
        expect_failure_is(&outcome, EXPLICIT_TEXT,
                          "a cancelled job with a huge timeout");
    }
    host_close(host);
}

static struct outcome
text_of(struct host *host, uint64_t timeout_ns, bool cancel, bool shutdown)
{
    static const uint8_t input[2] = {MODE_COOPERATIVE, 255};
    CallHeader header = job_header(DIAGNOSTIC | INLINE, timeout_ns);
    uint64_t ticket = host_submit_header(host, &header, input, sizeof input);
    if (cancel)
        expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                    "cancel of the job");
    if (shutdown)
        expect_code(FFI_OK, api.shutdown(5000), "shutdown over the job");
    return job_finish(host, ticket);
}

CONFORM_CASE(exact_texts, .id = "i3.exact-texts.three-reasons",
             .clauses = "i3.exact-texts",
             .why = "a word, a full stop or a NUL more: hosts compare these "
                    "texts exactly, not by prefix",
             .steps = "One job ended by its deadline, one by cancel, one by "
                      "shutdown, each taken at once.",
             .expected = "The three texts with their exact lengths 27, 19 "
                         "and 19.",
             .mutant = "cancel-text-decorated explicit-for-deadline "
                       "shutdown-text-explicit",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    struct host *host = host_open(1);
    struct outcome deadline = text_of(host, 5 * MS, false, false);
    struct outcome explicit = text_of(host, 0, true, false);
    struct outcome shutdown = text_of(host, 0, false, true);
    expect_bytes("cancelled: DeadlineExceeded", 27, deadline.msg,
                 deadline.msg_len, "the text of a deadline");
    expect_bytes("cancelled: Explicit", 19, explicit.msg, explicit.msg_len,
                 "the text of a cancel");
    expect_bytes("cancelled: Shutdown", 19, shutdown.msg, shutdown.msg_len,
                 "the text of a shutdown");
    expect_code(FFI_OK, api.init(), "init after the shutdown");
    host_close(host);
}

/* True when the text is exactly one of two. */
static bool
is_either(const struct outcome *outcome, const char *one, const char *other)
{
    return (outcome->msg_len == strlen(one) &&
            memcmp(outcome->msg, one, outcome->msg_len) == 0) ||
           (outcome->msg_len == strlen(other) &&
            memcmp(outcome->msg, other, outcome->msg_len) == 0);
}

CONFORM_CASE(two_reasons, .id = "i3.two-reasons.either-text",
             .clauses = "i3.two-reasons i3.exact-texts",
             .why = "two true reasons that end in a third text, a mixture, a "
                    "success or a second completion",
             .steps = "A job whose deadline of 1 ns has passed is cancelled "
                      "while it runs; another is cancelled and then met by a "
                      "shutdown; a third has a passed deadline and a "
                      "shutdown.",
             .expected = "FFI_ERR with the exact text of one of the true "
                         "reasons; which one is free and is reported.",
             .mutant = NULL, .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    struct outcome first = text_of(host, 1, true, false);
    expect_code(FFI_ERR, first.code, "deadline and cancel");
    expect(is_either(&first, DEADLINE_TEXT, EXPLICIT_TEXT),
           "deadline and cancel: the text is %s", first.msg);
    struct outcome second = text_of(host, 0, true, true);
    expect_code(FFI_ERR, second.code, "cancel and shutdown");
    expect(is_either(&second, EXPLICIT_TEXT, SHUTDOWN_TEXT),
           "cancel and shutdown: the text is %s", second.msg);
    expect_code(FFI_OK, api.init(), "init");
    struct outcome third = text_of(host, 1, false, true);
    expect_code(FFI_ERR, third.code, "deadline and shutdown");
    expect(is_either(&third, DEADLINE_TEXT, SHUTDOWN_TEXT),
           "deadline and shutdown: the text is %s", third.msg);
    conform_evidence("two-reasons", "%s, %s, %s", first.msg, second.msg,
                     third.msg);
    expect_code(FFI_OK, api.init(), "init");
    host_close(host);
}
