/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of shutdown and init against submits, and against each other. */

#include "../completions/raw.h"

#include <stdatomic.h>

static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};

enum { SUBMITTERS = 3, MOST = 64 };

struct submitter {
    struct host *host;
    struct conform_barrier *barrier;
    uint64_t accepted[MOST];
    uint32_t count;
    bool refused;
};

/* Submits long jobs until the latch refuses one. */
static void
submit_until_refused(void *argument)
{
    struct submitter *self = argument;
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    conform_barrier_wait(self->barrier);
    while (!self->refused) {
        struct outcome tried =
            host_try_submit(self->host, &header, endless, sizeof endless, 0);
        if (tried.code == FFI_OK && self->count < MOST)
            self->accepted[self->count++] = tried.ticket;
        if (tried.code != FFI_OK)
            self->refused = strstr(tried.msg, "shutting down") != NULL;
        expect(conform_now_ns() < give_up, "submit is refused by shutdown");
    }
}

static uint32_t
race_shutdown(uint32_t pause_spins)
{
    static struct submitter submitters[SUBMITTERS];
    struct conform_thread *threads[SUBMITTERS];
    struct host *host = host_open(2);
    struct conform_barrier *barrier = conform_barrier_new(SUBMITTERS + 1);
    for (int i = 0; i < SUBMITTERS; i++) {
        submitters[i] = (struct submitter){.host = host, .barrier = barrier};
        threads[i] =
            conform_thread_start(submit_until_refused, &submitters[i], 0);
    }
    conform_barrier_wait(barrier);
    for (uint32_t i = 0; i < pause_spins; i++)
        atomic_signal_fence(memory_order_seq_cst);
    uint64_t from = conform_now_ns();
    int32_t code = api.shutdown(2000);
    uint64_t took = conform_now_ns() - from;
    expect_code(FFI_OK, code,
                "shutdown(2000) against racing submits of 2.55 "
                "s jobs, after %llu ms",
                (unsigned long long)(took / MS));
    uint32_t accepted = 0;
    for (int i = 0; i < SUBMITTERS; i++)
        conform_thread_join(threads[i]);
    for (int i = 0; i < SUBMITTERS; i++) {
        for (uint32_t n = 0; n < submitters[i].count; n++) {
            struct outcome outcome =
                job_finish(host, submitters[i].accepted[n]);
            expect_failure_is(&outcome, SHUTDOWN_TEXT,
                              "a job accepted in the race");
        }
        accepted += submitters[i].count;
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    conform_barrier_free(barrier);
    host_close(host);
    return accepted;
}

CONFORM_CASE(shutdown_race, .id = "l.shutdown-race.refused-or-cancelled",
             .clauses = "l.shutdown-race l.shutdown-refuses",
             .why = "a submit that passed the latch and registered after the "
                    "sweep: it runs uncancelled and eats the budget",
             .steps = "5 times: three threads submit cooperative jobs of "
                      "2.55 s until refused while shutdown(2000) is called "
                      "at a random moment.",
             .expected = "FFI_OK each time; each accepted job is cancelled: "
                         "Shutdown.",
             .mutant = NULL, .transports = CONFORM_BOTH)
{
    uint32_t accepted = 0, rounds = conform_rounds(5, 1000);
    for (uint32_t i = 0; i < rounds; i++)
        accepted += race_shutdown((uint32_t)conform_random(400000));
    conform_evidence("accepted-in-races", "%u", accepted);
}

/* One submit and one shutdown that meet again and again. */
struct edge {
    struct host *host;
    cpu_set_t cpu; /* of the submitter */
    atomic_uint round;
    atomic_uint answered;
    atomic_bool stop;
    _Atomic int64_t delay; /* spins of the shutdown, if negative of submit */
    uint64_t ticket;
    int32_t code;
};

static void
spin(int64_t count)
{
    for (; count > 0; count--)
        atomic_signal_fence(memory_order_seq_cst);
}

static void
submit_each_round(void *argument)
{
    struct edge *edge = argument;
    CallHeader header = job_header(DIAGNOSTIC, 0);
    GussetHandle *handle = host_handle(edge->host);
    (void)sched_setaffinity(0, sizeof edge->cpu, &edge->cpu);
    for (uint32_t round = 1;; round++) {
        for (uint32_t spins = 1; atomic_load(&edge->round) < round; spins++) {
            if (atomic_load(&edge->stop))
                return;
            if (spins % 4096 == 0)
                sched_yield();
        }
        spin(-atomic_load(&edge->delay));
        edge->code = api.submit(handle, &header, endless, sizeof endless, 0,
                                &edge->ticket, NULL);
        atomic_store(&edge->answered, round);
    }
}

/* True when the submit was accepted. */
static bool
meet_once(struct edge *edge, uint32_t round)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    atomic_store(&edge->round, round);
    spin(atomic_load(&edge->delay) + (int64_t)conform_random(40));
    uint64_t from = conform_now_ns();
    int32_t code = api.shutdown(2000);
    uint64_t took = conform_now_ns() - from;
    while (atomic_load(&edge->answered) < round)
        expect(conform_now_ns() < give_up, "submit returns in a shutdown");
    bool accepted = edge->code == FFI_OK;
    if (accepted) {
        host_adopt(edge->host, edge->ticket);
        struct outcome outcome = job_finish(edge->host, edge->ticket);
        expect_failure_is(&outcome, SHUTDOWN_TEXT, "a job that met shutdown");
    } else {
        expect_code(FFI_ERR, edge->code, "a submit that met shutdown");
    }
    expect_code(FFI_OK, code,
                "shutdown(2000) that met the submit of a job of 2.55 s, after "
                "%llu ms; the submit was %s",
                (unsigned long long)(took / MS),
                accepted ? "accepted" : "refused");
    expect_code(FFI_OK, api.init(), "gusset_init");
    return accepted;
}

CONFORM_CASE(shutdown_edge, .id = "l.shutdown-race.at-the-edge",
             .clauses = "l.shutdown-race l.shutdown-refuses",
             .why = "a submit that saw no latch and gave its job the state "
                    "from after the sweep: nobody cancels it",
             .steps = "150 times: one thread submits a cooperative job of "
                      "2.55 s, this one calls shutdown(2000), steered to "
                      "where the submit is as often accepted as refused.",
             .expected = "FFI_OK each time; an accepted job is cancelled: "
                         "Shutdown.",
             .mutant = NULL, .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
             .timeout_ms = 60000)
{
    static struct edge edge;
    edge.host = host_open(2);
    cpu_set_t allowed = raw_stay_on_first_cpu();
    edge.cpu = allowed;
    (void)raw_nth_cpu(&allowed, 1, &edge.cpu);
    struct conform_thread *thread =
        conform_thread_start(submit_each_round, &edge, 0);
    uint32_t accepted = 0, rounds = conform_rounds(150, 10000);
    for (uint32_t round = 1; round <= rounds; round++) {
        bool late = meet_once(&edge, round);
        accepted += late;
        int64_t step = round < 40 ? 200 : 30;
        atomic_fetch_add(&edge.delay, late ? -step : step);
    }
    atomic_store(&edge.stop, true);
    conform_thread_join(thread);
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
    conform_evidence("accepted", "%u of %u, delay %lld", accepted, rounds,
                     (long long)atomic_load(&edge.delay));
    host_close(edge.host);
}

struct drainer {
    atomic_bool returned;
    int32_t code;
};

static void
drain_in_background(void *argument)
{
    struct drainer *drainer = argument;
    drainer->code = api.shutdown(5000);
    atomic_store(&drainer->returned, true);
}

/* Waits until a submit is refused by the latch: the shutdown has begun. */
static void
await_latch(struct host *host)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    static const uint8_t echo[2] = {MODE_ECHO, 0};
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (;;) {
        struct outcome tried =
            host_try_submit(host, &header, echo, sizeof echo, 0);
        if (tried.code != FFI_OK && strstr(tried.msg, "shutting down"))
            return;
        expect(conform_now_ns() < give_up, "the shutdown begins");
        job_pause_us(200);
    }
}

/*
 * Three jobs of 200 ms that never check, of which one runs; shutdown on
 * another thread; init once submits are refused. True when the drain was still
 * on when init was called.
 */
static bool
init_during_drain(struct host *host, struct host *watcher)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 20};
    static struct drainer drainer;
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int i = 0; i < 3; i++)
        (void)raw_submit(host_handle(host), &header, sleeper, sizeof sleeper);
    struct conform_thread *thread =
        conform_thread_start(drain_in_background, &drainer, 0);
    await_latch(watcher);
    bool had_to_wait = pipe_pending(host_read_fd(host)) < 24;
    expect_code(FFI_OK, api.init(), "init during a drain");
    expect_u64(24, pipe_pending(host_read_fd(host)),
               "bytes of the drained jobs' completions when init returned");
    conform_thread_join(thread);
    expect_code(FFI_OK, drainer.code, "the shutdown that init waited for");
    for (int i = 0; i < 3; i++) {
        struct completion done;
        expect_i64(1, pipe_read_record(host_read_fd(host), &done),
                   "a completion");
    }
    expect_handle_healthy(host, "an echo after both");
    return had_to_wait;
}

CONFORM_CASE(init_waits, .id = "l.shutdown-refuses.init-waits-for-drain",
             .clauses = "l.shutdown-refuses l.init-idempotent",
             .why = "an init that re-arms in the middle of a drain: new work "
                    "flows in under a shutdown that then never ends",
             .steps = "Jobs of 200 ms that never check, one of them running; "
                      "shutdown(5000) on one thread; init on another once "
                      "submits are refused; again if that came too late.",
             .expected = "When init returns every completion is in the pipe; "
                         "shutdown is FFI_OK; submits work.",
             .mutant = "init-does-not-wait", .tags = CONFORM_SLEEPS)
{
    struct host *host = host_open_with(1, CONFORM_PIPE);
    struct host *watcher = host_open_with(1, CONFORM_PIPE);
    int attempts = 1;
    while (!init_during_drain(host, watcher) && attempts < 10)
        attempts++;
    conform_evidence("attempts", "%d", attempts);
    host_close(watcher);
    host_close(host);
}

struct caller {
    struct conform_barrier *barrier;
    uint32_t rounds;
    uint32_t budget_ms; /* of shutdowns that expire; 0: nothing in flight */
    atomic_uint done;
    atomic_uint shutdowns;
};

static void
call_init_and_shutdown(void *argument)
{
    struct caller *caller = argument;
    conform_barrier_wait(caller->barrier);
    for (uint32_t i = 0; i < caller->rounds; i++) {
        if (conform_random(4) == 0) {
            expect_code(FFI_OK, api.init(), "init among shutdowns");
            continue;
        }
        atomic_fetch_add(&caller->shutdowns, 1);
        expect_code(caller->budget_ms == 0 ? FFI_OK : FFI_ERR,
                    api.shutdown(caller->budget_ms), "shutdown(%u) among inits",
                    caller->budget_ms);
    }
    atomic_fetch_add(&caller->done, 1);
}

static bool
all_callers_done(void *argument)
{
    struct caller *caller = argument;
    return atomic_load(&caller->done) == 4;
}

/* Four threads at once; each must get its turn in the end. */
static void
contend(uint32_t rounds, uint32_t budget_ms)
{
    static struct caller caller;
    caller.barrier = conform_barrier_new(4);
    caller.rounds = rounds;
    caller.budget_ms = budget_ms;
    atomic_store(&caller.done, 0);
    atomic_store(&caller.shutdowns, 0);
    uint64_t from = conform_now_ns();
    struct conform_thread *threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = conform_thread_start(call_init_and_shutdown, &caller, 0);
    expect(conform_eventually(all_callers_done, &caller),
           "four threads come to an end with %u calls each, %u are there",
           rounds, atomic_load(&caller.done));
    /* Each budget counts from its own turn, so they add up. */
    expect_u64_at_least(atomic_load(&caller.shutdowns) * budget_ms * MS,
                        conform_now_ns() - from,
                        "ns of %u expired shutdowns, one after the other",
                        atomic_load(&caller.shutdowns));
    for (int i = 0; i < 4; i++)
        conform_thread_join(threads[i]);
    conform_barrier_free(caller.barrier);
    expect_code(FFI_OK, api.init(), "the last init");
}

CONFORM_CASE(one_after_the_other, .id = "l.shutdown-drains.one-after-the-other",
             .clauses = "l.shutdown-drains l.init-idempotent",
             .why = "two shutdowns that wait for each other, a turn that is "
                    "never passed on, a budget eaten by another's",
             .steps = "Four threads call init and shutdown(30) in random "
                      "order while a completion waits for room, so that each "
                      "keeps the others waiting; then 500 times each with "
                      "nothing in flight.",
             .expected = "FFI_ERR as long as something is in flight, then "
                         "FFI_OK; the budgets add up; all come to an end; the "
                         "handles work.",
             .mutant = "shutdowns-overlap", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t logging[2] = {MODE_LOG, 1};
    struct host *stuck = host_open_with(1, CONFORM_PIPE);
    struct host *other = host_open(2);
    size_t filled = pipe_fill(host_write_fd(stuck));
    (void)conform_drain_log();
    uint64_t ticket = host_submit(stuck, DIAGNOSTIC, logging, sizeof logging);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (strstr(conform_drain_log(), "worker log event 0") == NULL)
        expect(conform_now_ns() < give_up, "the job runs");
    contend(3, 30);
    pipe_unfill(host_read_fd(stuck), filled);
    (void)host_wait(stuck, ticket);
    expect_code(FFI_OK, api.shutdown(5000), "shutdown after the delivery");
    contend(conform_rounds(500, 20000), 0);
    expect_handle_healthy(stuck, "an echo at the end");
    expect_handle_healthy(other, "an echo at the end");
    host_close(stuck);
    host_close(other);
}

static void
call_init(void *argument)
{
    struct caller *caller = argument;
    conform_barrier_wait(caller->barrier);
    for (uint32_t i = 0; i < caller->rounds; i++)
        expect_code(FFI_OK, api.init(), "init number %u", i);
}

CONFORM_CASE(init_idempotent, .id = "l.init-idempotent.never-once-many",
             .clauses = "l.init-idempotent",
             .why = "an init that must be called, must not be called twice, "
                    "or disturbs running work",
             .steps = "An open without any init; then init 100 times from "
                      "three threads while echoes go through.",
             .expected = "FFI_OK each time, every echo answered.",
             .mutant = "second-init-is-an-error", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    expect_handle_healthy(host, "an echo without any init");
    static struct caller caller;
    caller.barrier = conform_barrier_new(4);
    caller.rounds = 100;
    struct conform_thread *threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = conform_thread_start(call_init, &caller, 0);
    conform_barrier_wait(caller.barrier);
    for (int i = 0; i < 50; i++)
        expect_handle_healthy(host, "an echo beside inits");
    for (int i = 0; i < 3; i++)
        conform_thread_join(threads[i]);
    conform_barrier_free(caller.barrier);
    host_close(host);
}

CONFORM_CASE(open_never_rearms, .id = "l.init-idempotent.open-never-rearms",
             .clauses = "l.init-idempotent l.shutdown-refuses",
             .why = "an open that lifts the latch: a library that opens "
                    "handles lazily then starts work in a process that winds "
                    "down",
             .steps =
                 "shutdown; open and close handles (three, and one refused "
                 "for its arguments); submit on the "
                 "old handle after each; init; submit.",
             .expected = "Refused after each open; accepted after init.",
             .mutant = "open-rearms", .transports = CONFORM_BOTH)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct host *host = host_open(1);
    expect_code(FFI_OK, api.shutdown(0), "an idle shutdown");
    for (int i = 0; i < 4; i++) {
        GussetHandle *handle = NULL;
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) != 0)
            conform_broken("pipe2: %s", strerror(errno));
        if (api.handle_open(i == 3 ? 1025 : 1, fds[1], &handle, NULL) == FFI_OK)
            expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        else
            close(fds[1]);
        close(fds[0]);
        struct outcome tried =
            host_try_submit(host, &header, echo, sizeof echo, 0);
        expect_code(FFI_ERR, tried.code, "submit after shutdown and open %d",
                    i);
        expect_text(TEXT_CONTAINS, "shutting down", tried.msg, tried.msg_len,
                    "the text of that refusal");
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect_handle_healthy(host, "an echo after init");
    host_close(host);
}
