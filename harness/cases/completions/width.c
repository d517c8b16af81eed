/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of how many units run at once, in which order, and without delay. */

#include "raw.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "gusset_engine.h"

enum { WAVES_POOL = 4, WAVES_JUDGED = 30, WAVES_ROUNDS = 60 };

/* Nanoseconds that 3 x pool sleepers of 40 ms take, first submit to last. */
static uint64_t
time_of_three_waves(uint32_t pool)
{
    uint64_t tickets[3 * WAVES_POOL];
    struct host *host = host_open(pool);
    uint64_t from = conform_now_ns();
    job_occupy(host, pool, MODE_SLEEP, 4, tickets);
    for (uint32_t i = 0; i < 3 * pool; i++)
        (void)host_next(host);
    uint64_t took = conform_now_ns() - from;
    host_close(host);
    return took;
}

/* What a worker does in three waves, on a thread of the host. */
static void
control_waves(void *slot)
{
    uint64_t *took = slot;
    uint64_t from = conform_now_ns();
    for (int wave = 0; wave < 3; wave++) {
        struct timespec nap = {.tv_sec = 0, .tv_nsec = 40 * MS};
        (void)nanosleep(&nap, NULL);
    }
    *took = conform_now_ns() - from;
}

/* The same on the library and on control threads beside it; *quiet: none of
 * these was kept away as long as one worker fewer would take. */
static uint64_t
waves_beside_controls(uint32_t pool, uint64_t bound, bool *quiet)
{
    static uint64_t control[WAVES_POOL];
    struct conform_thread *threads[WAVES_POOL];
    for (uint32_t i = 0; i < pool; i++)
        threads[i] = conform_thread_start(control_waves, &control[i], 0);
    uint64_t took = time_of_three_waves(pool);
    *quiet = true;
    for (uint32_t i = 0; i < pool; i++) {
        conform_thread_join(threads[i]);
        *quiet = *quiet && control[i] < bound;
    }
    return took;
}

CONFORM_CASE(width_by_time, .id = "i4.width.three-waves", .clauses = "i4.width",
             .why = "a pool that runs more than it says (and oversubscribes "
                    "the engine), or fewer than it has",
             .steps = "Pools of 2 and 4, each with 3 x pool sleepers of 40 "
                      "ms, beside as many control threads that sleep as long; "
                      "until one round is quick enough, or thirty were not in "
                      "which no control thread was kept away.",
             .expected = "Never less than 120 ms, three full waves; at best "
                         "less than one worker fewer would need.",
             .mutant = "pool-one-short", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS, .timeout_ms = 120000)
{
    for (uint32_t pool = 2; pool <= WAVES_POOL; pool += 2) {
        /* One worker fewer needs 40 ms more, so it must not pass as noise. */
        uint64_t bound = (pool == 2 ? 240 : 160) * MS - 5 * MS;
        uint64_t best = UINT64_MAX;
        uint32_t judged = 0, round = 0;
        for (; best >= bound && judged < WAVES_JUDGED; round++) {
            bool quiet;
            if (round == WAVES_ROUNDS)
                conform_skip("the machine is too busy: control threads were "
                             "kept away in %u of %u rounds",
                             round - judged, round);
            uint64_t took = waves_beside_controls(pool, bound, &quiet);
            expect_u64_at_least(120 * MS, took,
                                "ns of three waves of 40 ms on %u workers",
                                pool);
            best = took < best ? took : best;
            judged += quiet;
        }
        conform_evidence("three-waves-ms", "pool %u: %llu, round %u", pool,
                         (unsigned long long)(best / MS), round);
        expect_u64_at_most(bound, best,
                           "ns of three waves of 40 ms on %u workers, best",
                           pool);
    }
}

#define OPCODE 0x4933u

static atomic_uint inside;
static atomic_uint most_inside;
static atomic_uint wanted_inside;
static atomic_bool gate_open;

/* Counts who is inside and waits there until the gate opens. */
static int32_t
counting_handler(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    uint32_t now = atomic_fetch_add(&inside, 1) + 1;
    uint32_t most = atomic_load(&most_inside);
    while (now > most &&
           !atomic_compare_exchange_weak(&most_inside, &most, now))
        continue;
    while (!atomic_load(&gate_open)) {
        struct timespec pause = {.tv_sec = 0, .tv_nsec = 500000};
        (void)nanosleep(&pause, NULL);
    }
    atomic_fetch_sub(&inside, 1);
    return GSE_OK;
}

static bool
all_inside(void *unused)
{
    (void)unused;
    return atomic_load(&inside) >= atomic_load(&wanted_inside);
}

CONFORM_CASE(width_counted, .id = "i4.width.counted-inside",
             .clauses = "i4.width",
             .why = "one worker too many or too few while the queue holds "
                    "work",
             .steps = "Pools of 1, 2 and 5: a handler counts how many calls "
                      "are inside it and holds them until the pool is full; "
                      "3 x pool jobs, then another 3 x pool let through.",
             .expected = "Exactly pool calls at once, never more; never more "
                         "than pool library threads.",
             .mutant = "pool-one-over", .needs = "engine",
             .transports = CONFORM_BOTH)
{
    static const uint32_t pools[] = {1, 2, 5};
    CallHeader header = job_header(0, 0);
    header.reserved = OPCODE;
    expect_i64(GSE_OK, gse_register_opcode(OPCODE, counting_handler, NULL),
               "registration of the handler");
    for (size_t p = 0; p < sizeof pools / sizeof *pools; p++) {
        uint32_t pool = pools[p];
        int32_t ids[16];
        atomic_store(&most_inside, 0);
        atomic_store(&gate_open, false);
        atomic_store(&wanted_inside, pool);
        struct host *host = host_open(pool);
        for (uint32_t i = 0; i < 3 * pool; i++)
            (void)host_submit_patiently(host, &header, NULL, 0);
        expect(conform_eventually(all_inside, NULL),
               "%u calls are inside the engine, of a pool of %u",
               atomic_load(&inside), pool);
        expect_u64_at_most(pool, conform_library_threads(ids, 16),
                           "library threads of a pool of %u", pool);
        atomic_store(&gate_open, true);
        for (uint32_t i = 0; i < 3 * pool; i++)
            (void)host_submit_patiently(host, &header, NULL, 0);
        for (uint32_t i = 0; i < 6 * pool; i++)
            (void)host_next(host);
        expect_u64(pool, atomic_load(&most_inside),
                   "most calls inside the engine at once");
        host_close(host);
    }
    gse_clear();
}

CONFORM_CASE(queue_order, .id = "i4.queue-order.first-in-first-out",
             .clauses = "i4.queue-order",
             .why = "a queue that lets late units overtake: the oldest "
                    "request waits longest",
             .steps = "One worker sleeps 30 ms; behind it a job that writes "
                      "one log line and one that writes two.",
             .expected = "Log events 0, 0, 1 in this order.", .mutant = NULL,
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 3};
    static const uint8_t one[2] = {MODE_LOG, 1}, two[2] = {MODE_LOG, 2};
    struct host *host = host_open(1);
    (void)conform_drain_log();
    (void)host_submit(host, DIAGNOSTIC, sleeper, sizeof sleeper);
    (void)host_submit(host, DIAGNOSTIC, one, sizeof one);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    (void)host_submit_patiently(host, &header, two, sizeof two);
    for (int i = 0; i < 3; i++)
        (void)host_next(host);
    const char *log = conform_drain_log();
    const char *expected = "worker log event 0\nworker log event 0\n"
                           "worker log event 1\n";
    expect_bytes(expected, strlen(expected), log, strlen(log),
                 "the log of one line, then two");
    host_close(host);
}

struct wakeup_caller {
    struct host *host;
    struct conform_barrier *barrier;
    uint32_t rounds;
};

/* One job at a time, after a pause in which workers go to sleep, or do not. */
static void
call_with_gaps(void *argument)
{
    struct wakeup_caller *caller = argument;
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    conform_barrier_wait(caller->barrier);
    for (uint32_t i = 0; i < caller->rounds; i++) {
        uint64_t until = conform_now_ns() + conform_random(150000);
        (void)host_submit(caller->host, DIAGNOSTIC | INLINE, echo, sizeof echo);
        (void)host_next(caller->host);
        while (conform_now_ns() < until)
            sched_yield();
    }
}

CONFORM_CASE(wakeup_none_stuck, .id = "i4.no-lost-wakeup.none-stuck",
             .clauses = "i4.no-lost-wakeup i4.exactly-once",
             .why = "a submit that finds the worker about to sleep and wakes "
                    "nobody: the unit waits until somebody else submits",
             .steps = "Two threads, each with a handle of its own (pools of 1 "
                      "and 3), submit one job at a time with random pauses "
                      "of 0 to 150 us; 2 000 rounds.",
             .expected = "No job stays behind: each completes within "
                         "patience without another submit.",
             .mutant = "lost-wakeup", .transports = CONFORM_BOTH)
{
    static struct wakeup_caller callers[2];
    struct conform_thread *threads[2];
    struct conform_barrier *barrier = conform_barrier_new(2);
    for (int i = 0; i < 2; i++) {
        callers[i].host = host_open(i == 0 ? 1 : 3);
        callers[i].barrier = barrier;
        callers[i].rounds = conform_rounds(1000, 100000);
        threads[i] = conform_thread_start(call_with_gaps, &callers[i], 0);
    }
    for (int i = 0; i < 2; i++)
        conform_thread_join(threads[i]);
    for (int i = 0; i < 2; i++)
        host_close(callers[i].host);
    conform_barrier_free(barrier);
}

/* What is known of a worker that polls for a while and then sleeps. */
struct sleep_edge {
    struct host *host;
    GussetHandle *handle;
    uint64_t position;
    uint64_t bound_ns; /* a slower answer came from a worker that slept */
};

/* One echo over a polled ring; nanoseconds from before submit to the record. */
static uint64_t
edge_call(struct sleep_edge *edge)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    static const CallHeader header = {.flags = DIAGNOSTIC | INLINE};
    struct conform_ring *ring = host_ring(edge->host);
    uint64_t ticket;
    struct completion done;
    uint64_t from = conform_now_ns();
    expect_code(
        FFI_OK,
        api.submit(edge->handle, &header, echo, sizeof echo, 0, &ticket, NULL),
        "submit to an idle handle");
    for (uint32_t spins = 1; !ring_read(ring, &done); spins++) {
        if (spins % 4096 != 0)
            continue;
        expect(conform_now_ns() - from < conform_patience_ns(),
               "round %llu: a unit is taken within patience, no other submit "
               "comes to its help",
               (unsigned long long)edge->position);
        sched_yield();
    }
    edge->position++;
    return conform_now_ns() - from;
}

static uint64_t
edge_call_after(struct sleep_edge *edge, uint64_t gap_ns)
{
    uint64_t from = conform_now_ns();
    while (conform_now_ns() - from < gap_ns)
        continue;
    return edge_call(edge);
}

/* The median of a few answers after the same gap. */
static uint64_t
edge_median(struct sleep_edge *edge, uint64_t gap_ns)
{
    uint64_t took[15];
    for (int i = 0; i < 15; i++) {
        uint64_t value = edge_call_after(edge, gap_ns);
        int at = i;
        for (; at > 0 && took[at - 1] > value; at--)
            took[at] = took[at - 1];
        took[at] = value;
    }
    return took[7];
}

CONFORM_CASE(wakeup_edge, .id = "i4.no-lost-wakeup.at-the-edge-of-sleep",
             .clauses = "i4.no-lost-wakeup i4.exactly-once",
             .why = "a worker that looked for the last time before the push "
                    "and went to sleep after it: the unit waits until "
                    "somebody else submits",
             .steps = "One worker, one job at a time over a polled ring; the "
                      "pause before each submit is steered to where an "
                      "answer is as often from a polling worker as from a "
                      "sleeping one; 3 000 rounds.",
             .expected = "Each job is taken within patience without another "
                         "submit.",
             .mutant = "lost-wakeup", .timeout_ms = 60000)
{
    struct sleep_edge edge = {.host = host_open_with(1, CONFORM_RING)};
    edge.handle = host_handle(edge.host);
    cpu_set_t allowed = raw_spread_over_cpus();
    uint64_t awake = edge_median(&edge, 0);
    uint64_t asleep = edge_median(&edge, 2 * MS);
    /* A wake-up costs several times what a polling worker needs. */
    edge.bound_ns = asleep / 2 < 3 * awake ? asleep / 2 : 3 * awake;
    uint64_t gap = 1000, slept = 0;
    uint32_t rounds = conform_rounds(3000, 400000);
    /* A crowded machine makes each round slow; it need not make all. */
    uint64_t enough = conform_now_ns() + rounds * UINT64_C(1000000);
    uint32_t round = 0;
    for (; round < rounds && (round < 800 || conform_now_ns() < enough);
         round++) {
        uint64_t step = round < 200 ? 1000 : 60;
        uint64_t took = edge_call_after(&edge, gap + conform_random(60));
        if (took > edge.bound_ns) {
            slept++;
            gap -= gap > step ? step : gap;
        } else if (gap < 300000) {
            gap += step;
        }
    }
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
    conform_evidence("answer-ns", "awake %llu, asleep %llu",
                     (unsigned long long)awake, (unsigned long long)asleep);
    conform_evidence("edge", "gap %llu ns, slept in %llu rounds of %u",
                     (unsigned long long)gap, (unsigned long long)slept, round);
    host_close(edge.host);
}

enum { HANDLES = 8, CPUS = 16 };

/* A thread on each CPU that notes when the machine was away from it. */
struct control {
    cpu_set_t cpu;
    atomic_uint naps;
};
static struct control controls[CPUS];
static atomic_ullong worst_oversleep;
static atomic_bool control_stop;

static void
control_cpu(void *argument)
{
    struct control *control = argument;
    (void)sched_setaffinity(0, sizeof control->cpu, &control->cpu);
    while (!atomic_load(&control_stop)) {
        struct timespec nap = {.tv_sec = 0, .tv_nsec = 2000000};
        uint64_t from = conform_now_ns();
        (void)nanosleep(&nap, NULL);
        uint64_t late = conform_now_ns() - from - 2 * MS;
        unsigned long long worst = atomic_load(&worst_oversleep);
        while (late > worst &&
               !atomic_compare_exchange_weak(&worst_oversleep, &worst, late))
            continue;
        atomic_fetch_add(&control->naps, 1);
    }
}

/* Returns when each control has begun and ended a nap: none still oversleeps.
 */
static void
await_controls(uint32_t count)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint32_t i = 0; i < count; i++) {
        uint32_t naps = atomic_load(&controls[i].naps);
        while (atomic_load(&controls[i].naps) < naps + 2) {
            if (conform_now_ns() > give_up)
                conform_broken("a control thread sleeps for ever");
            job_pause_us(500);
        }
    }
}

/* Two jobs of 50 ms with a gap on each handle; the longest pair, in ns. */
static uint64_t
longest_pair(struct host **hosts)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 5};
    uint64_t from[HANDLES], longest = 0;
    for (uint32_t i = 0; i < HANDLES; i++) {
        /* Half of them so close that the first is being woken for. */
        uint64_t gap = conform_random(i % 2 ? 200000 : 3000);
        from[i] = conform_now_ns();
        (void)host_submit(hosts[i], DIAGNOSTIC, sleeper, sizeof sleeper);
        while (conform_now_ns() < from[i] + gap)
            continue;
        (void)host_submit(hosts[i], DIAGNOSTIC, sleeper, sizeof sleeper);
    }
    for (uint32_t i = 0; i < HANDLES; i++) {
        (void)host_next(hosts[i]);
        (void)host_next(hosts[i]);
        uint64_t took = conform_now_ns() - from[i];
        longest = took > longest ? took : longest;
    }
    return longest;
}

/*
 * Of the rounds in which no control slept through, so many must be quick before
 * so many are slow: the machine may be away where no control looked, but not
 * twice as often as not.
 */
static void
judge_pairs(struct host **hosts, uint32_t cpus, uint32_t quick_enough)
{
    uint32_t quick = 0, slow = 0, round = 0;
    for (; round < 15 * quick_enough && quick < quick_enough; round++) {
        await_controls(cpus);
        atomic_store(&worst_oversleep, 0);
        uint64_t longest = longest_pair(hosts);
        await_controls(cpus);
        if (atomic_load(&worst_oversleep) >= 8 * MS)
            continue;
        quick += longest < 75 * MS;
        slow += longest >= 75 * MS;
        expect(slow < 2 * quick_enough,
               "two 50 ms jobs on two idle workers overlap: they took %llu ms "
               "in round %u, over 75 ms in %u rounds and less in %u",
               (unsigned long long)(longest / MS), round, slow, quick);
    }
    conform_evidence("judged-rounds", "quick %u, slow %u, of %u", quick, slow,
                     round);
}

CONFORM_CASE(wakeup_overlap, .id = "i4.no-lost-wakeup.two-jobs-overlap",
             .clauses = "i4.no-lost-wakeup",
             .why = "a push during another worker's fast take that wakes "
                    "nobody: two jobs then run one after the other beside an "
                    "idle worker",
             .steps = "On eight handles with two idle workers each: two 50 "
                      "ms jobs 0 to 200 us apart, in several rounds; a control "
                      "thread on each CPU notes when the machine was away.",
             .expected = "Together they take less than 75 ms in four rounds in "
                         "which no control thread slept through, before they "
                         "take longer in eight such rounds.",
             .mutant = "one-wake-up-for-two lost-wakeup",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    struct conform_thread *threads[CPUS];
    struct host *hosts[HANDLES];
    cpu_set_t allowed;
    uint32_t cpus = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        conform_broken("sched_getaffinity: %s", strerror(errno));
    for (uint32_t i = 0; i < HANDLES; i++)
        hosts[i] = host_open(2);
    for (; cpus < CPUS && raw_nth_cpu(&allowed, cpus, &controls[cpus].cpu);
         cpus++)
        threads[cpus] = conform_thread_start(control_cpu, &controls[cpus], 0);
    judge_pairs(hosts, cpus, conform_rounds(4, 400));
    atomic_store(&control_stop, true);
    for (uint32_t i = 0; i < cpus; i++)
        conform_thread_join(threads[i]);
    for (uint32_t i = 0; i < HANDLES; i++)
        host_close(hosts[i]);
}
