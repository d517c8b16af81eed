/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of the one rule everything else leans on: every accepted ticket is
 * completed once and has one result. Tickets are compared as sets: a missing
 * one and a doubled one do not cancel out.
 */

#include "../jobs.h"

#include <stdatomic.h>
#include <stdlib.h>

enum ending {
    END_INLINE,
    END_TAKEN,
    END_ERROR,
    END_DEADLINE,
    END_CANCEL,
    END_NEVER_TAKEN,
    END_KINDS
};

struct planned {
    uint64_t ticket;
    enum ending ending;
    uint32_t seen;
    uint8_t input[60];
    size_t len;
};

/* Cancels are rarer: a running job notices only after a step of 10 ms. */
static enum ending
random_ending(void)
{
    enum ending ending = (enum ending)conform_random(END_KINDS);
    return ending == END_CANCEL && conform_random(6) != 0 ? END_TAKEN : ending;
}

/* Submits a job that is meant to end this way. */
static void
submit_planned(struct host *host, struct planned *job)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    size_t len = 1 + conform_random(sizeof job->input - 1);
    memset(job->input, 0, sizeof job->input);
    put_u64le(job->input + 1, conform_random(UINT64_MAX));
    job->input[0] = MODE_ECHO;
    job->seen = 0;
    if (job->ending == END_INLINE || job->ending == END_ERROR)
        header.flags |= INLINE;
    if (job->ending == END_ERROR)
        header.flags &= ~DIAGNOSTIC;
    if (job->ending == END_DEADLINE || job->ending == END_CANCEL) {
        job->input[0] = MODE_COOPERATIVE;
        job->input[1] = 255;
        len = 2;
    }
    if (job->ending == END_DEADLINE)
        header.timeout_ns = 1 + conform_random(1000);
    job->len = len;
    job->ticket = host_submit_patiently(host, &header, job->input, len);
    if (job->ending == END_CANCEL)
        expect_code(FFI_OK, api.cancel(host_handle(host), job->ticket, NULL),
                    "gusset_cancel");
}

static struct planned *
find_planned(struct planned *jobs, uint32_t count, uint64_t ticket)
{
    for (uint32_t i = 0; i < count; i++)
        if (jobs[i].ticket == ticket)
            return &jobs[i];
    return NULL;
}

/* Books one completion and judges its result by the way it was to end. */
static void
judge_completion(struct host *host, struct planned *jobs, uint32_t count,
                 const struct completion *done)
{
    struct planned *job = find_planned(jobs, count, done->ticket);
    expect(job != NULL, "completion of ticket %llu, which was accepted",
           (unsigned long long)done->ticket);
    expect_u64(0, job->seen++, "earlier completions of this ticket");
    if (job->ending == END_NEVER_TAKEN && !done->inlined)
        return;
    struct outcome outcome = host_outcome(host, done);
    bool success = job->ending == END_INLINE || job->ending == END_TAKEN ||
                   job->ending == END_NEVER_TAKEN;
    if (success)
        expect_success_is(&outcome, job->input, job->len, "an echo");
    else
        expect_code(FFI_ERR, outcome.code, "an unsuccessful end (kind %d)",
                    (int)job->ending);
    struct outcome again = host_take(host, done->ticket);
    expect_code(FFI_ERR, again.code, "a second result of one ticket");
}

CONFORM_CASE(every_end, .id = "i4.exactly-once.every-end",
             .clauses = "i4.exactly-once i1.take-once",
             .why = "a way of ending that forgets its completion, or that "
                    "reports twice: once for the stop, once for the end",
             .steps = "Two workers, 240 jobs in random order: inline and "
                      "taken successes, errors, deadlines, cancels, results "
                      "never taken, read in bursts so that a ring overflows; "
                      "then three running jobs are met by a shutdown, and a "
                      "panic ends the handle.",
             .expected = "The set of completions is the set of accepted "
                         "tickets, each once; each result comes out once.",
             .mutant = "double-completion", .transports = CONFORM_BOTH)
{
    enum { JOBS = 240 };
    static struct planned jobs[JOBS];
    static const uint8_t panic[1] = {MODE_PANIC};
    struct host *host = host_open(2);
    uint32_t read = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        struct completion done;
        jobs[i].ending = random_ending();
        submit_planned(host, &jobs[i]);
        if (conform_random(8) != 0)
            continue;
        while (host_poll(host, &done)) {
            judge_completion(host, jobs, i + 1, &done);
            read++;
        }
    }
    for (; read < JOBS; read++) {
        struct completion done = host_next(host);
        judge_completion(host, jobs, JOBS, &done);
    }
    uint64_t stopped[6];
    job_occupy(host, 2, MODE_COOPERATIVE, 255, stopped);
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    for (int i = 0; i < 6; i++) {
        struct outcome outcome = job_finish(host, stopped[i]);
        expect_failure_is(&outcome, SHUTDOWN_TEXT, "a job met by shutdown");
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    struct outcome outcome = host_call(host, DIAGNOSTIC, panic, 1);
    expect_code(FFI_PANIC, outcome.code, "the panic at the end");
    for (uint32_t i = 0; i < JOBS; i++)
        expect_u64(1, jobs[i].seen, "completions of job %u", i);
    host_close(host);
}

struct producer {
    struct host *host;
    struct conform_barrier *barrier;
    uint32_t jobs;
};

static void
produce(void *argument)
{
    struct producer *producer = argument;
    conform_barrier_wait(producer->barrier);
    for (uint32_t i = 0; i < producer->jobs; i++) {
        struct planned job = {.ending = random_ending()};
        submit_planned(producer->host, &job);
    }
}

CONFORM_CASE(many_producers, .id = "i4.exactly-once.many-producers",
             .clauses = "i4.exactly-once i4.pipe-record i4.ring-record",
             .why = "a publish race between workers, or a slot handed to two "
                    "submits",
             .steps = "Three threads submit 500 jobs of every ending each to "
                      "four workers; one reader falls behind at random.",
             .expected = "1 500 completions, each accepted ticket once (the "
                         "ledger), nothing left in pipe or ring.",
             .mutant = "double-completion lost-wakeup",
             .transports = CONFORM_BOTH)
{
    enum { THREADS = 3 };
    static struct producer producers[THREADS];
    struct conform_thread *threads[THREADS];
    struct host *host = host_open(4);
    struct conform_barrier *barrier = conform_barrier_new(THREADS);
    uint32_t each = conform_rounds(500, 50000);
    for (int i = 0; i < THREADS; i++) {
        producers[i] = (struct producer){host, barrier, each};
        threads[i] = conform_thread_start(produce, &producers[i], 0);
    }
    for (uint32_t n = 0; n < THREADS * each; n++) {
        if (conform_random(64) == 0)
            job_pause_us(conform_random(1000));
        struct completion done = host_next(host);
        if (!done.inlined && conform_random(2) == 0)
            (void)host_take(host, done.ticket);
    }
    for (int i = 0; i < THREADS; i++)
        conform_thread_join(threads[i]);
    struct completion extra;
    expect(!host_poll(host, &extra), "no completion beyond the accepted ones");
    conform_barrier_free(barrier);
    host_close(host);
}

CONFORM_CASE(panics_complete, .id = "i4.exactly-once.panic-among-queued",
             .clauses = "i4.exactly-once i4.completion-order",
             .why = "a panic that takes the units behind it down with it, or "
                    "its own completion",
             .steps = "One worker: a panic, then two echoes already queued; "
                      "20 times on new handles.",
             .expected = "Three completions each, every accepted ticket once; "
                         "the echoes keep their results.",
             .mutant = "double-completion", .transports = CONFORM_BOTH)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    static const uint8_t echo[3] = {MODE_ECHO, 4, 2};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int round = 0; round < 20; round++) {
        struct host *host = host_open(1);
        uint64_t first = host_submit(host, DIAGNOSTIC, panic, sizeof panic);
        uint64_t behind[2];
        uint32_t accepted = 0;
        while (accepted < 2) {
            struct outcome tried =
                host_try_submit(host, &header, echo, sizeof echo, 0);
            if (tried.code == FFI_OK)
                behind[accepted++] = tried.ticket;
            else if (strstr(tried.msg, "full") == NULL)
                break;
            expect(tried.code == FFI_OK || tried.code == FFI_ERR,
                   "accepted, or refused for a full queue");
        }
        struct outcome panicked = job_finish(host, first);
        expect_code(FFI_PANIC, panicked.code, "the panic");
        for (uint32_t i = 0; i < accepted; i++) {
            struct outcome outcome = job_finish(host, behind[i]);
            expect_success_is(&outcome, echo, sizeof echo,
                              "an echo accepted before the panic");
        }
        host_close(host);
    }
}
