/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A deadline and a cancel reach a job however its input came, and wherever the
 * library keeps it.
 */

#include "../jobs.h"

#include <stdio.h>

/* A job of 2.55 s that checks, its input in `len` bytes inline or by buffer. */
static uint64_t
submit_long(struct host *host, size_t len, bool by_buffer, uint64_t timeout_ns,
            uint64_t *id)
{
    CallHeader header = job_header(DIAGNOSTIC, timeout_ns);
    uint8_t *input = conform_pattern(len, MODE_COOPERATIVE, len);
    input[1] = 255;
    *id = 0;
    if (!by_buffer)
        return host_submit_header(host, &header, input, len);
    *id = host_buffer(host, input, len, NULL);
    return host_submit_buffer(host, &header, *id);
}

CONFORM_CASE(deadline_every_input, .id = "i3.deadline.every-input",
             .clauses = "i3.deadline i3.relative",
             .why = "a deadline that one of the ways into the queue forgets: "
                    "a zero-copy call then never ends",
             .steps = "Jobs of 2.55 s that check, with a deadline of 30 ms: "
                      "2 to 4096 bytes inline, 2 to 1 Mi by buffer; one at a "
                      "time.",
             .expected = "cancelled: DeadlineExceeded, each.",
             .mutant = "deadline-forgotten-for-buffers",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const size_t sizes[] = {2,    47,   48,   49,    320,
                                   4095, 4096, 4097, 65536, 1 << 20};
    struct host *host = host_open(1);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        size_t len = sizes[i / 2];
        bool by_buffer = i % 2 == 1;
        uint64_t id;
        if (!by_buffer && len > GUSSET_MAX_INLINE_INPUT)
            continue;
        uint64_t ticket = submit_long(host, len, by_buffer, 30 * MS, &id);
        struct outcome outcome = job_finish(host, ticket);
        char what[80];
        (void)snprintf(what, sizeof what, "a deadline, %zu bytes %s", len,
                       by_buffer ? "by buffer" : "inline");
        expect_failure_is(&outcome, DEADLINE_TEXT, what);
        if (by_buffer)
            host_buffer_free(host, id);
    }
    host_close(host);
}

CONFORM_CASE(cancel_beside_results, .id = "i3.cancel.beside-untaken-results",
             .clauses = "i3.cancel",
             .why = "a cancel that looks only where jobs lay when the handle "
                    "was opened",
             .steps = "With 0, 1, 17, 40 and 300 results that nobody took: a "
                      "running and a queued job of 2.55 s that check, each "
                      "cancelled.",
             .expected = "cancelled: Explicit, each; then the results, whole.",
             .mutant = "cancel-of-the-first-segment",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    static const uint32_t counts[] = {0, 1, 17, 40, 300};
    static const uint8_t echo[] = {MODE_ECHO, 3, 1};
    static uint64_t kept[300];
    struct host *host = host_open(1);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint32_t have = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        for (; have < counts[i]; have++) {
            kept[have] =
                host_submit_patiently(host, &header, echo, sizeof echo);
            (void)host_wait(host, kept[have]);
        }
        uint64_t id, tickets[2];
        for (int j = 0; j < 2; j++)
            tickets[j] = submit_long(host, 2, false, 0, &id);
        for (int j = 0; j < 2; j++)
            expect_code(FFI_OK, api.cancel(host_handle(host), tickets[j], NULL),
                        "cancel");
        for (int j = 0; j < 2; j++) {
            struct outcome outcome = job_finish(host, tickets[j]);
            char what[80];
            (void)snprintf(what, sizeof what,
                           "cancel of job %d beside %u results", j, counts[i]);
            expect_failure_is(&outcome, EXPLICIT_TEXT, what);
        }
    }
    for (uint32_t i = 0; i < have; i++) {
        struct outcome outcome = host_take(host, kept[i]);
        expect_success_is(&outcome, echo, sizeof echo, "a result kept");
    }
    host_close(host);
}
