/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_alloc_stats: its algebra, and what it has to count. */

#include "../jobs.h"

#include <stdatomic.h>

#define MIB UINT64_C(1048576)
#define SLACK (64 * UINT64_C(1024))

static AllocStats
stats_now(void)
{
    AllocStats stats;
    memset(&stats, 0xee, sizeof stats);
    api.alloc_stats(&stats);
    expect_u64_at_most(stats.peak_bytes, stats.live_bytes,
                       "live_bytes, against peak_bytes");
    return stats;
}

static AllocStats
stats_after(const AllocStats *before)
{
    AllocStats now = stats_now();
    expect_u64_at_least(before->peak_bytes, now.peak_bytes,
                        "peak_bytes never falls");
    expect_u64_at_least(before->alloc_count, now.alloc_count,
                        "alloc_count never falls");
    return now;
}

CONFORM_CASE(stats_steps, .id = "l.stats-algebra.up-and-down",
             .clauses = "l.stats-algebra l.stats-complete",
             .why = "a count that misses, doubles or drifts: a host that "
                    "plans its memory by it ends in the OOM killer",
             .steps = "50 times a 1 MiB buffer; then twenty steps of 20 MiB "
                      "up to five buffers and down; counters compared at "
                      "each step.",
             .expected = "1 MiB moves live by 1 MiB (64 KiB slack); free moves "
                         "it back exactly; no drift; live <= peak; peak and "
                         "count never fall.",
             .mutant = "stats-drift")
{
    struct host *host = host_open(1);
    host_buffer_free(host, host_buffer(host, NULL, MIB, NULL));
    AllocStats base = stats_now(), last = base;
    for (int i = 0; i < 50; i++) {
        uint64_t id = host_buffer(host, NULL, MIB, NULL);
        AllocStats up = stats_after(&last);
        expect_u64_at_least(base.live_bytes + MIB, up.live_bytes,
                            "live_bytes with 1 MiB more");
        expect_u64_at_most(base.live_bytes + MIB + SLACK, up.live_bytes,
                           "live_bytes with 1 MiB more");
        expect_u64_at_least(last.alloc_count + 1, up.alloc_count,
                            "alloc_count after an allocation");
        host_buffer_free(host, id);
        last = stats_after(&up);
        expect_u64(base.live_bytes, last.live_bytes,
                   "live_bytes after the free");
    }
    uint64_t ids[5];
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 5; i++) {
            ids[i] = host_buffer(host, NULL, 20 * MIB, NULL);
            last = stats_after(&last);
            expect_u64_at_least(base.live_bytes + (i + 1) * 20 * MIB,
                                last.live_bytes, "live_bytes, step %d up",
                                (int)i + 1);
        }
        for (uint64_t i = 0; i < 5; i++) {
            host_buffer_free(host, ids[i]);
            last = stats_after(&last);
        }
        expect_u64(base.live_bytes, last.live_bytes,
                   "live_bytes after five steps up and down");
    }
    expect_u64_at_least(base.live_bytes + 100 * MIB, last.peak_bytes,
                        "peak_bytes after 100 MiB");
    host_close(host);
}

struct prober {
    atomic_bool stop;
    uint64_t calls;
};

static void
probe_stats(void *argument)
{
    struct prober *prober = argument;
    AllocStats last = stats_now();
    while (!atomic_load(&prober->stop)) {
        last = stats_after(&last);
        prober->calls++;
    }
}

CONFORM_CASE(stats_call, .id = "l.stats-algebra.call-allocates-nothing",
             .clauses = "l.stats-algebra",
             .why = "a statistic that disturbs what it measures, blocks "
                    "behind a worker, or is torn when read in between",
             .steps = "10 000 calls on an idle handle; NULL; then calls on "
                      "one thread while another allocates and frees, and "
                      "while the pipe is full.",
             .expected = "Counters unchanged by the calls; live <= peak in "
                         "every reading.",
             .mutant = "stats-call-allocates")
{
    struct host *host = host_open_with(1, CONFORM_PIPE);
    AllocStats before = stats_now();
    for (int i = 0; i < 10000; i++) {
        AllocStats stats;
        api.alloc_stats(&stats);
    }
    api.alloc_stats(NULL);
    AllocStats after = stats_now();
    expect_u64(before.alloc_count, after.alloc_count,
               "alloc_count after 10 000 calls");
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after them");
    static struct prober prober;
    struct conform_thread *thread =
        conform_thread_start(probe_stats, &prober, 0);
    size_t filled = pipe_fill(host_write_fd(host));
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    uint64_t ticket = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
    for (int i = 0; i < 500; i++) {
        size_t len = 1 + (size_t)conform_random(100000);
        host_buffer_free(host, host_buffer(host, NULL, len, NULL));
    }
    atomic_store(&prober.stop, true);
    conform_thread_join(thread);
    conform_evidence("calls-beside", "%llu", (unsigned long long)prober.calls);
    pipe_unfill(host_read_fd(host), filled);
    (void)host_wait(host, ticket);
    host_close(host);
}

CONFORM_CASE(stats_complete, .id = "l.stats-complete.every-buffer",
             .clauses = "l.stats-complete",
             .why = "memory that the library holds and does not count: a "
                    "result nobody took, a copy handed out by take",
             .steps = "live_bytes around buf_alloc of 1 to 1 MiB, a stored "
                      "result of 1 MiB (echo of a buffer) before and after "
                      "take, a generated output, a taken copy of 100 bytes; "
                      "then all is freed.",
             .expected = "Each raises live_bytes by at least its length while "
                         "held; at the end it is back.",
             .mutant = "results-not-counted")
{
    static const size_t sizes[] = {1, 63, 64, 100, 4096, 4097, 1048576};
    struct host *host = host_open_with(1, CONFORM_PIPE);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint8_t *small = conform_pattern(100, MODE_ECHO, 1);
    (void)host_call(host, DIAGNOSTIC, small, 100);
    expect_code(FFI_OK, api.shutdown(5000), "nothing in flight");
    expect_code(FFI_OK, api.init(), "gusset_init");
    uint64_t base = stats_now().live_bytes;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t id = host_buffer(host, NULL, sizes[i], NULL);
        expect_u64_at_least(base + sizes[i], stats_now().live_bytes,
                            "live_bytes with a buffer of %zu", sizes[i]);
        host_buffer_free(host, id);
        expect_u64(base, stats_now().live_bytes, "live_bytes after its free");
    }

    uint64_t input = host_buffer(host, NULL, MIB, NULL);
    uint64_t ticket = host_submit_buffer(host, &header, input);
    (void)host_wait(host, ticket);
    host_buffer_free(host, input);
    expect_u64_at_least(base + MIB, stats_now().live_bytes,
                        "live_bytes with a stored result of 1 MiB");
    uint64_t id;
    uint8_t *bytes;
    size_t len;
    expect_code(FFI_OK,
                api.take(host_handle(host), ticket, &id, &bytes, &len, NULL),
                "take");
    expect_u64_at_least(base + MIB, stats_now().live_bytes,
                        "live_bytes with a taken result of 1 MiB");
    host_buffer_free(host, id & ~GUSSET_TAKE_OWNED_FLAG);

    uint8_t generate[6] = {16};
    put_u32le(generate + 1, (uint32_t)MIB);
    ticket = host_submit(host, DIAGNOSTIC, generate, sizeof generate);
    (void)host_wait(host, ticket);
    expect_u64_at_least(base + MIB, stats_now().live_bytes,
                        "live_bytes with a generated output of 1 MiB");
    (void)host_take(host, ticket);

    ticket = host_submit(host, DIAGNOSTIC, small, 100);
    (void)host_wait(host, ticket);
    expect_code(FFI_OK,
                api.take(host_handle(host), ticket, &id, &bytes, &len, NULL),
                "take");
    expect_u64_at_least(base + 100, stats_now().live_bytes,
                        "live_bytes with a taken copy of 100 bytes");
    host_buffer_free(host, id & ~GUSSET_TAKE_OWNED_FLAG);
    expect_code(FFI_OK, api.shutdown(5000), "nothing in flight");
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect_u64(base, stats_now().live_bytes, "live_bytes at the end");
    host_close(host);
}

CONFORM_CASE(stats_small, .id = "l.stats-small.stored-results-and-messages",
             .clauses = "l.stats-small",
             .why = "many small results nobody takes: each too small to be "
                    "counted, together a leak that no statistic shows",
             .steps = "200 results of 100 bytes and 200 failures, none taken; "
                      "live_bytes before and after; then all are taken.",
             .expected = "At least 20 000 bytes more for the results, some "
                         "for the messages, and all of it gone at the end.",
             .mutant = NULL)
{
    enum { COUNT = 200 };
    static uint64_t tickets[2 * COUNT];
    uint8_t *echo = conform_pattern(100, MODE_ECHO, 2);
    struct host *host = host_open_with(1, CONFORM_PIPE);
    uint64_t live[4] = {0};
    for (int round = 0; round < 2; round++) {
        /* The first round lets the library grow what it keeps. */
        live[0] = stats_now().live_bytes;
        for (int i = 0; i < 2 * COUNT; i++) {
            CallHeader header = job_header(i < COUNT ? DIAGNOSTIC : 0, 0);
            tickets[i] = host_submit_header(host, &header, echo, 100);
            (void)host_wait(host, tickets[i]);
            if (i + 1 == COUNT)
                live[1] = stats_now().live_bytes;
        }
        live[2] = stats_now().live_bytes;
        for (int i = 0; i < 2 * COUNT; i++)
            (void)host_take(host, tickets[i]);
        live[3] = stats_now().live_bytes;
    }
    expect_u64_at_least(live[0] + COUNT * 100, live[1],
                        "live_bytes with 200 stored results of 100 bytes");
    expect_u64_at_least(live[1] + COUNT, live[2],
                        "live_bytes with 200 stored messages more");
    expect_u64(live[0], live[3], "live_bytes after all were taken");
    host_close(host);
}
