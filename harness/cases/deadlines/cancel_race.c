/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of cancel_all against submits at the same moment, and of the results
 * and failures that no later stop may touch.
 */

#include "../jobs.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static const uint8_t cooperative_done[2] = {MODE_COOPERATIVE, 0};

/* ---- cancel_all in the middle of submits -------------------------------- */

enum { JOBS = 12, STEPS = 4 };

struct sweeper {
    struct host *host;
    struct conform_barrier *start;
    _Atomic uint32_t submitted; /* so far in this round */
    uint32_t after;             /* sweep once so many are */
    uint64_t began;
    uint64_t ended;
};

static void
sweep_once(void *argument)
{
    struct sweeper *sweeper = argument;
    conform_barrier_wait(sweeper->start);
    while (atomic_load(&sweeper->submitted) < sweeper->after)
        sched_yield();
    sweeper->began = conform_now_ns();
    expect_code(FFI_OK, api.cancel_all(host_handle(sweeper->host), NULL),
                "gusset_cancel_all");
    sweeper->ended = conform_now_ns();
}

struct job {
    uint64_t ticket;
    uint64_t began;
    uint64_t ended;
};

/*
 * Accepted before the sweep began, the job is hit, unless the sweep came when
 * it may have made its last check; submitted after the sweep it never is.
 */
static void
judge_swept(const struct sweeper *sweeper, const struct job *job,
            const struct outcome *outcome, uint32_t *before, uint32_t *after)
{
    uint64_t last_check = job->began + (STEPS - 1) * 10 * MS;
    if (job->ended < sweeper->began && sweeper->ended < last_check) {
        (*before)++;
        expect_failure_is(outcome, EXPLICIT_TEXT,
                          "a job accepted before cancel_all began");
    } else if (job->began > sweeper->ended) {
        (*after)++;
        expect_success_is(outcome, cooperative_done, 2,
                          "a job submitted after cancel_all had returned");
    } else if (outcome->code == FFI_OK) {
        expect_success_is(outcome, cooperative_done, 2, "a job beside it");
    } else {
        expect_failure_is(outcome, EXPLICIT_TEXT, "a job beside it");
    }
}

static void
race_once(struct host *host, uint32_t *before, uint32_t *after)
{
    static struct sweeper sweeper;
    static const uint8_t input[2] = {MODE_COOPERATIVE, STEPS};
    struct job jobs[JOBS];
    memset(&sweeper, 0, sizeof sweeper);
    sweeper.host = host;
    sweeper.start = conform_barrier_new(2);
    sweeper.after = (uint32_t)conform_random(JOBS);
    struct conform_thread *thread =
        conform_thread_start(sweep_once, &sweeper, 0);
    conform_barrier_wait(sweeper.start);
    for (uint32_t i = 0; i < JOBS; i++) {
        CallHeader header =
            job_header(i % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, 0);
        jobs[i].began = conform_now_ns();
        jobs[i].ticket =
            host_submit_patiently(host, &header, input, sizeof input);
        jobs[i].ended = conform_now_ns();
        atomic_store(&sweeper.submitted, i + 1);
    }
    conform_thread_join(thread);
    conform_barrier_free(sweeper.start);
    for (uint32_t i = 0; i < JOBS; i++) {
        struct outcome outcome = job_finish(host, jobs[i].ticket);
        judge_swept(&sweeper, &jobs[i], &outcome, before, after);
    }
}

CONFORM_CASE(cancel_all_race, .id = "i3.cancel-all.amid-submits",
             .clauses = "i3.cancel-all",
             .why = "a sweep over a list that is being added to: one unit is "
                    "passed over, or the next ones are hit as well",
             .steps = "12 cooperative jobs of 40 ms are submitted to 6 "
                      "workers, one after the other, while another thread "
                      "calls cancel_all at a random one of them; 10 rounds.",
             .expected = "Accepted before the sweep: cancelled: Explicit. "
                         "Submitted after it: the result. At the same time: "
                         "either.",
             .mutant = "cancel-all-forgets-the-queue",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    struct host *host = host_open(6);
    uint32_t before = 0;
    uint32_t after = 0;
    uint32_t rounds = conform_rounds(10, 200);
    for (uint32_t round = 0; round < rounds; round++)
        race_once(host, &before, &after);
    conform_evidence("jobs", "%u before, %u after a sweep", before, after);
    expect_u64_at_least(1, before + after, "jobs that say something");
    host_close(host);
}

/* ---- What is finished stays finished ------------------------------------ */

enum stop { BY_CANCEL, BY_CANCEL_ALL, BY_SHUTDOWN, STOPS };

static void
stop(struct host *host, enum stop how, uint64_t ticket)
{
    if (how == BY_CANCEL)
        expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                    "gusset_cancel");
    if (how == BY_CANCEL_ALL)
        expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL),
                    "gusset_cancel_all");
    if (how == BY_SHUTDOWN)
        expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
}

/* The same, but a shutdown does not wait. */
static void
stop_unpatiently(struct host *host, enum stop how, uint64_t ticket)
{
    if (how != BY_SHUTDOWN)
        stop(host, how, ticket);
    else
        (void)api.shutdown(0);
}

/*
 * One attempt; the number of results. What had left the queue need not have
 * entered the engine yet, so that an attempt may yield none.
 */
static uint32_t
late_successes(enum stop how, uint64_t head_start_us)
{
    static const uint8_t input[5] = {MODE_SLEEP, 6, MODE_ECHO, 0xab, 0xcd};
    struct host *host = host_open(2);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    uint64_t tickets[6];
    uint32_t successes = 0;
    for (int i = 0; i < 6; i++)
        tickets[i] = host_submit_patiently(host, &header, input, sizeof input);
    job_pause_us(head_start_us);
    for (int i = 0; i < 6; i++) {
        if (i == 0 || how == BY_CANCEL)
            stop(host, how, tickets[i]);
    }
    for (int i = 0; i < 6; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        successes += outcome.code == FFI_OK;
        if (outcome.code == FFI_OK)
            expect_success_is(&outcome, input + 2, 3, "a late success");
        else
            expect_failure_is(
                &outcome, how == BY_SHUTDOWN ? SHUTDOWN_TEXT : EXPLICIT_TEXT,
                "a queued job");
    }
    if (how == BY_SHUTDOWN)
        expect_code(FFI_OK, api.init(), "gusset_init");
    host_close(host);
    return successes;
}

CONFORM_CASE(success_beats_all, .id = "i3.success-beats-late-cancel.each-stop",
             .clauses = "i3.success-beats-late-cancel l.shutdown-drains",
             .why = "a result that arrives after cancel_all or during a "
                    "shutdown is thrown away, although the work is done",
             .steps = "Two workers, six non-cooperative jobs of 60 ms that "
                      "then echo; once the queue has let two of them go: "
                      "cancel, cancel_all or a shutdown. Again, up to five "
                      "times, where none of them had begun.",
             .expected = "Some return their bytes; the others do, or are "
                         "cancelled with the text of that stop.",
             .mutant = "late-cancel-wins late-shutdown-wins",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    for (enum stop how = 0; how < STOPS; how++) {
        uint32_t successes = 0;
        for (uint64_t attempt = 0; attempt < 5 && successes == 0; attempt++)
            successes = late_successes(how, attempt * 5000);
        expect_u64_at_least(1, successes, "results of jobs that ran, stop %u",
                            (unsigned)how);
    }
}

/* Jobs that are over when the stop comes, and what each ended with. */
static const struct {
    const char *what;
    uint32_t flags;
    uint32_t opcode;
    uint8_t input[2];
    size_t len;
    bool fails;
} finished[] = {
    {"a success", DIAGNOSTIC, 0, {0, 7}, 2, false},
    {"an engine error", DIAGNOSTIC, 0, {16, 0}, 1, true},
    {"no engine", 0, 0, {1, 0}, 1, true},
    {"no opcode", INLINE, 77, {1, 0}, 1, true},
};
#define FINISHED (sizeof finished / sizeof *finished)

CONFORM_CASE(finished_stays, .id = "i3.two-reasons.only-after-the-stop",
             .clauses = "i3.two-reasons i3.cancel-harmless",
             .why = "a failure that was over before the stop is reported as "
                    "somebody's cancel: nobody learns what it was",
             .steps = "A success, an engine error, a unit without an engine "
                      "and one of an unknown opcode end; then cancel each, "
                      "cancel_all, and a shutdown; only then are they taken.",
             .expected = "Each job's own end.", .mutant = "stop-at-take-wins",
             .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    struct completion done[FINISHED];
    for (size_t i = 0; i < FINISHED; i++) {
        CallHeader header = job_header(finished[i].flags, 0);
        header.reserved = finished[i].opcode;
        uint64_t ticket = host_submit_header(host, &header, finished[i].input,
                                             finished[i].len);
        done[i] = host_wait(host, ticket);
        stop(host, BY_CANCEL, ticket);
    }
    stop(host, BY_CANCEL_ALL, 0);
    stop(host, BY_SHUTDOWN, 0);
    for (size_t i = 0; i < FINISHED; i++) {
        struct outcome outcome = host_outcome(host, &done[i]);
        if (!finished[i].fails) {
            expect_success_is(&outcome, finished[i].input, finished[i].len,
                              finished[i].what);
            continue;
        }
        expect_code(FFI_ERR, outcome.code, "%s", finished[i].what);
        expect_text(TEXT_LACKS, "cancelled: ", outcome.msg, outcome.msg_len,
                    "%s, over before the stop", finished[i].what);
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    host_close(host);
}

/* ---- What waits never runs ---------------------------------------------- */

/* A panic and a log job, in the input and in a buffer, behind a sleeper. */
struct waiting {
    struct host *host;
    uint64_t tickets[4];
};

static void
put_behind_sleeper(struct waiting *waiting)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 10};
    static const uint8_t inputs[2][2] = {{MODE_PANIC, 0}, {MODE_LOG, 3}};
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    waiting->host = host_open(4);
    for (int i = 0; i < 4; i++)
        (void)host_submit(waiting->host, DIAGNOSTIC, sleeper, sizeof sleeper);
    for (int i = 0; i < 4; i++) {
        const uint8_t *input = inputs[i % 2];
        if (i < 2) {
            waiting->tickets[i] =
                host_submit_patiently(waiting->host, &header, input, 2);
            continue;
        }
        uint64_t id = host_buffer(waiting->host, input, 2, NULL);
        waiting->tickets[i] = host_submit_buffer(waiting->host, &header, id);
        host_buffer_free(waiting->host, id);
    }
}

/* False: this thread was too slow for anything to be concluded. */
static bool
stop_what_waits(enum stop how)
{
    struct waiting waiting;
    (void)conform_drain_log();
    uint64_t earliest_end = conform_now_ns() + 100 * MS;
    put_behind_sleeper(&waiting);
    for (int i = 0; i < 4; i++) {
        if (i == 0 || how == BY_CANCEL)
            stop_unpatiently(waiting.host, how, waiting.tickets[i]);
    }
    bool in_time = conform_now_ns() < earliest_end;
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = job_finish(waiting.host, waiting.tickets[i]);
        if (in_time)
            expect_failure_is(
                &outcome, how == BY_SHUTDOWN ? SHUTDOWN_TEXT : EXPLICIT_TEXT,
                "a unit that waited");
    }
    const char *log = conform_drain_log();
    if (in_time)
        expect_text(TEXT_LACKS, "worker log event", log, strlen(log),
                    "the log after log jobs that never ran");
    if (how == BY_SHUTDOWN)
        expect_code(FFI_OK, api.init(), "gusset_init");
    if (in_time)
        expect_handle_healthy(waiting.host, "after panics that never ran");
    host_close(waiting.host);
    return in_time;
}

CONFORM_CASE(queued_never_runs, .id = "i3.queued-never-runs.each-stop",
             .clauses = "i3.queued-never-runs i3.cancel i3.cancel-all "
                        "i3.shutdown-text",
             .why = "a stop that is only seen by engines that check lets all "
                    "the others in the queue do their work, wanted or not",
             .steps = "Four workers sleep 100 ms; behind them panics and log "
                      "jobs, given inline and by buffer; stopped by cancel, "
                      "cancel_all and a shutdown.",
             .expected = "The text of that stop, no log line, the handle is "
                         "not poisoned.",
             .mutant = "shutdown-lets-the-queue-run cancelled-unit-runs",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    for (enum stop how = 0; how < STOPS; how++) {
        int attempt = 0;
        while (!stop_what_waits(how)) {
            if (++attempt == 20)
                conform_broken("eight calls took over 100 ms, 20 times");
        }
    }
}
