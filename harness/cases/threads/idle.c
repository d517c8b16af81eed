/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a handle costs while nothing happens, and what it says about itself.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "workers.h"

#define SECOND UINT64_C(1000000000)
#define BUSY_NS_PER_SECOND 1000000u /* the contract's 1 ms */

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        conform_broken("no clock %d", (int)clock);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/*
 * CPU time of the process but for this thread, since `since`. The two clocks
 * cannot be read at once: what passes in between is counted, never missed.
 */
struct used {
    uint64_t process;
    uint64_t own;
};

static struct used
used_now(void)
{
    struct used used;
    used.process = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    used.own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return used;
}

static uint64_t
others_ns(const struct used *since)
{
    uint64_t own = clock_ns(CLOCK_THREAD_CPUTIME_ID) - since->own;
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - since->process - own;
}

static void
rest(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    nanosleep(&time, NULL);
}

CONFORM_CASE(
    idle_quiet, .id = "i5.idle-quiet.one-second", .clauses = "i5.idle-quiet",
    .why = "Workers that poll while nothing happens cost a core for each "
           "idle service.",
    .steps = "Pool 4, some traffic, 1.1 s of idleness; then the CPU time of "
             "all threads but the case's own over one second. The clock is "
             "first seen to move while units run.",
    .expected = "Less than 1 ms.", .transports = CONFORM_BOTH,
    .tags = CONFORM_SLEEPS, .mutant = "idle-worker-polls")
{
    struct host *host = host_open(4);
    uint8_t spin[5] = {11};
    put_u32le(spin + 1, 2000000);
    struct used start = used_now();
    for (int i = 0; i < 8; i++)
        host_call(host, DIAGNOSTIC, spin, sizeof spin);
    expect_u64_at_least(1000000, others_ns(&start),
                        "CPU ns of 16 million iterations");
    rest(SECOND + SECOND / 10);
    start = used_now();
    rest(SECOND);
    uint64_t spent = others_ns(&start);
    conform_evidence("idle CPU", "%llu ns in a second",
                     (unsigned long long)spent);
    expect_u64_at_most(BUSY_NS_PER_SECOND - 1, spent,
                       "CPU ns of an idle handle in one second");
    struct outcome o = host_call(host, DIAGNOSTIC, "\0awake", 6);
    expect_code(FFI_OK, o.code, "an echo after the rest");
    host_close(host);
}

CONFORM_CASE(
    healthy_silent, .id = "i5.degraded-logged.healthy-open",
    .clauses = "i5.degraded-logged",
    .why = "A library that logs at every open hides the one line that says "
           "that a protection is missing.",
    .steps = "Show that the log works (mode 14) and drain it; open and close "
             "handles of 1, 4 and 16 workers, with traffic and a ring.",
    .expected = "The line of mode 14; then not one byte.",
    .transports = CONFORM_BOTH, .mutant = "open-logs")
{
    static const uint32_t pools[] = {1, 4, 16};
    conform_drain_log();
    struct host *host = host_open(1);
    struct outcome o = host_call(host, DIAGNOSTIC, "\16\1", 2);
    expect_code(FFI_OK, o.code, "mode 14");
    const char *log = conform_drain_log();
    expect_text(TEXT_CONTAINS, "worker log event 0", log, strlen(log),
                "the log works");
    host_close(host);
    for (size_t i = 0; i < 3; i++) {
        host = host_open(pools[i]);
        for (uint32_t n = 0; n < 2 * pools[i]; n++)
            host_call(host, DIAGNOSTIC, "\0", 1);
        log = conform_drain_log();
        expect_text(TEXT_IS, "", log, strlen(log),
                    "the log of a healthy open of %u", pools[i]);
        host_close(host);
        log = conform_drain_log();
        expect_text(TEXT_IS, "", log, strlen(log),
                    "the log of a healthy close of %u", pools[i]);
    }
}
