/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of tickets and timeouts at the edges of every width. */

#include "../jobs.h"

#include <stdio.h>

static const uint8_t cooperative_done[2] = {MODE_COOPERATIVE, 0};

/* Edge n: 2^k - 1, 2^k, 2^k + 1 for k from 0 to 63. */
enum { EDGES = 3 * 64 };

static uint64_t
edge(uint32_t n)
{
    return (UINT64_C(1) << (n / 3)) + n % 3 - 1;
}

static void
cancel_unless(GussetHandle *handle, uint64_t ticket, const uint64_t *live)
{
    if (ticket == live[0] || ticket == live[1])
        return;
    expect_code(FFI_OK, api.cancel(handle, ticket, NULL), "cancel of %#llx",
                (unsigned long long)ticket);
}

CONFORM_CASE(cancel_edges, .id = "i3.cancel-harmless.power-of-two-edges",
             .clauses = "i3.cancel-harmless",
             .why = "a cancel that looks at a part of the ticket stops "
                    "somebody else's job",
             .steps = "One worker: a running and a queued cooperative job of "
                      "40 ms; cancel 2^k-1, 2^k and 2^k+1 for all k, with and "
                      "without bit 63, and both tickets with each one bit "
                      "changed.",
             .expected = "FFI_OK each time; both jobs return their results.",
             .mutant = "cancel-cuts-the-generation", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t input[2] = {MODE_COOPERATIVE, 4};
    struct host *host = host_open(1);
    GussetHandle *handle = host_handle(host);
    uint64_t live[2];
    for (int i = 0; i < 2; i++)
        live[i] = host_submit(host, DIAGNOSTIC, input, sizeof input);
    for (uint32_t n = 0; n < EDGES; n++) {
        cancel_unless(handle, edge(n), live);
        cancel_unless(handle, edge(n) | GUSSET_INLINE_RECORD_FLAG, live);
    }
    for (uint32_t bit = 0; bit < 64; bit++) {
        for (int i = 0; i < 2; i++)
            cancel_unless(handle, live[i] ^ UINT64_C(1) << bit, live);
    }
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = job_finish(host, live[i]);
        expect_success_is(&outcome, cooperative_done, 2,
                          i == 0 ? "the running job" : "the queued job");
    }
    host_close(host);
}

/* What a cooperative job of two steps must do under a timeout. */
enum fate { MUST_EXPIRE, MUST_SUCCEED, EITHER };

/*
 * Its second check comes 10 ms after the first at the earliest. What lies
 * between a step and a minute depends on the load of the machine.
 */
static enum fate
fate_of(uint64_t timeout_ns)
{
    if (timeout_ns == 0 || timeout_ns > 60000 * MS)
        return MUST_SUCCEED;
    return timeout_ns <= 9 * MS ? MUST_EXPIRE : EITHER;
}

static void
judge_timeout(struct host *host, uint64_t ticket, uint64_t timeout_ns)
{
    char what[64];
    struct outcome outcome = job_finish(host, ticket);
    enum fate fate = fate_of(timeout_ns);
    (void)snprintf(what, sizeof what, "timeout_ns %#llx",
                   (unsigned long long)timeout_ns);
    if (fate == MUST_EXPIRE || (fate == EITHER && outcome.code != FFI_OK))
        expect_failure_is(&outcome, DEADLINE_TEXT, what);
    else
        expect_success_is(&outcome, cooperative_done, 2, what);
}

CONFORM_CASE(timeout_edges, .id = "i3.huge-never-wraps.every-power-of-two",
             .clauses = "i3.huge-never-wraps i3.tiny-fires i3.deadline "
                        "i3.zero-means-none",
             .why = "a timeout that is cut to 32 or 63 bits, multiplied, or "
                    "counted in a coarser unit fires at once or never",
             .steps = "Cooperative jobs of two steps with every timeout of "
                      "2^k-1, 2^k and 2^k+1 ns, with and without the inline "
                      "flag, on 32 workers.",
             .expected = "Up to 9 ms: cancelled: DeadlineExceeded. 0 and over "
                         "a minute: the result. Between: one of the two.",
             .mutant = "timeout-cut-to-32-bits", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    enum { BATCH = 48 };
    static const uint8_t input[2] = {MODE_COOPERATIVE, 2};
    struct host *host = host_open(32);
    for (uint32_t first = 0; first < EDGES; first += BATCH) {
        uint64_t tickets[BATCH];
        for (uint32_t i = 0; i < BATCH; i++) {
            CallHeader header = job_header(
                i % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, edge(first + i));
            tickets[i] =
                host_submit_patiently(host, &header, input, sizeof input);
        }
        for (uint32_t i = 0; i < BATCH; i++)
            judge_timeout(host, tickets[i], edge(first + i));
    }
    host_close(host);
}

/* Of the edges that must expire or must not; the rest says nothing here. */
static uint32_t
sure_edges(uint64_t *timeouts)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < EDGES; n++) {
        if (fate_of(edge(n)) != EITHER)
            timeouts[count++] = edge(n);
    }
    return count;
}

CONFORM_CASE(timeout_edges_queued, .id = "i3.relative.every-power-of-two",
             .clauses = "i3.relative i3.queued-never-runs i3.tiny-fires "
                        "i3.huge-never-wraps i3.zero-means-none",
             .why = "a queued unit whose deadline is counted from another "
                    "moment, or in another unit, than a running one's",
             .steps = "100 workers sleep 60 ms; behind them, log jobs with "
                      "every timeout of 2^k-1, 2^k, 2^k+1 ns up to 9 ms or "
                      "over a minute, and none.",
             .expected = "The short ones end as cancelled: DeadlineExceeded "
                         "without a log line, the others run.",
             .mutant = "deadline-from-dequeue", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    enum { WORKERS = 100 }; /* the queue holds twice that */
    static const uint8_t sleeper[2] = {MODE_SLEEP, 6};
    static const uint8_t logging[2] = {MODE_LOG, 1};
    uint64_t timeouts[EDGES];
    uint64_t tickets[EDGES];
    uint32_t count = sure_edges(timeouts);
    struct host *host = host_open(WORKERS);
    uint64_t earliest_end = conform_now_ns() + 60 * MS;
    uint32_t expired = 0;
    uint32_t ran = 0;
    (void)conform_drain_log();
    for (int i = 0; i < WORKERS; i++)
        (void)host_submit(host, DIAGNOSTIC, sleeper, sizeof sleeper);
    for (uint32_t i = 0; i < count; i++) {
        CallHeader header =
            job_header(i % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, timeouts[i]);
        tickets[i] =
            host_submit_patiently(host, &header, logging, sizeof logging);
    }
    bool in_time = conform_now_ns() + 9 * MS < earliest_end;
    for (uint32_t i = 0; i < count; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        if (fate_of(timeouts[i]) == MUST_SUCCEED)
            expect_success_is(&outcome, logging, 2, "a unit with much time");
        else if (in_time || outcome.code != FFI_OK)
            expect_failure_is(&outcome, DEADLINE_TEXT, "an expired unit");
        expired += outcome.code != FFI_OK;
        ran += outcome.code == FFI_OK;
    }
    const char *log = conform_drain_log();
    uint32_t lines = 0;
    while ((log = strstr(log, "worker log event 0")) != NULL) {
        lines++;
        log++;
    }
    expect_u64(ran, lines, "log lines of the units that ran");
    conform_evidence("units", "%u expired, %u ran, in time %d", expired, ran,
                     in_time);
    host_close(host);
}
