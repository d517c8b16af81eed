/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Timeouts that are far, and of which little is left when they are counted in
 * a coarser unit and kept in too few bits. The powers of two of a nanosecond
 * itself are in edges.c.
 */

#include "../jobs.h"

#include <stdio.h>

/* A hundredth of a microsecond up to a second; one that is no power of ten. */
static const uint64_t units[] = {100, 1000, 1024, 1000000, 1000000000};
static const uint32_t widths[] = {15, 16, 24, 31, 32, 33, 48, 52, 53};

/* Less than the 10 ms to the second check of the job. */
static const int64_t offsets[] = {-1, 0, 1, 1000, 1000000, 5000000};

enum {
    UNITS = sizeof units / sizeof units[0],
    WIDTHS = sizeof widths / sizeof widths[0],
    OFFSETS = sizeof offsets / sizeof offsets[0],
    MOST = UNITS * WIDTHS * OFFSETS
};

/* The far ones among unit x 2^width + offset; returns their number. */
static uint32_t
far_timeouts(uint64_t *timeouts)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < MOST; n++) {
        uint64_t unit = units[n % UNITS], product;
        uint32_t width = widths[n / UNITS % WIDTHS];
        int64_t offset = offsets[n / UNITS / WIDTHS];
        if (__builtin_mul_overflow(unit, UINT64_C(1) << width, &product))
            continue;
        if (product > 60000 * MS && product < UINT64_MAX - 5000000)
            timeouts[count++] = product + (uint64_t)offset;
    }
    return count;
}

CONFORM_CASE(coarser_units, .id = "i3.deadline.far-in-every-unit",
             .clauses = "i3.deadline i3.relative i3.huge-never-wraps",
             .why = "a timeout of an hour that is kept as 32 bits of "
                    "microseconds ends the job at once",
             .steps = "Cooperative jobs of two steps with timeouts of 2^k "
                      "(k 15 to 53) times 0.1, 1 and 1.024 us, 1 ms and 1 s, "
                      "each -1 ns, +0, +1 ns, +1 us, +1 ms and +5 ms, as far "
                      "as they are over a minute, on 64 workers.",
             .expected = "The result, each time.",
             .mutant = "timeout-cut-to-32-bit-microseconds",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    enum { BATCH = 128 };
    static const uint8_t input[2] = {MODE_COOPERATIVE, 2};
    static const uint8_t result[2] = {MODE_COOPERATIVE, 0};
    uint64_t timeouts[MOST];
    uint32_t count = far_timeouts(timeouts);
    struct host *host = host_open(64);
    for (uint32_t first = 0; first < count; first += BATCH) {
        uint64_t tickets[BATCH];
        uint32_t batch = count - first < BATCH ? count - first : BATCH;
        for (uint32_t i = 0; i < batch; i++) {
            CallHeader header = job_header(
                i % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, timeouts[first + i]);
            tickets[i] =
                host_submit_patiently(host, &header, input, sizeof input);
        }
        for (uint32_t i = 0; i < batch; i++) {
            char what[64];
            struct outcome outcome = job_finish(host, tickets[i]);
            (void)snprintf(what, sizeof what, "a far timeout, %llu ns",
                           (unsigned long long)timeouts[first + i]);
            expect_success_is(&outcome, result, 2, what);
        }
    }
    conform_evidence("timeouts", "%u", count);
    host_close(host);
}
