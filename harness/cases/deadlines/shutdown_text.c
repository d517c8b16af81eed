/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the text that a job stopped by gusset_shutdown reports. */

#include "../jobs.h"

CONFORM_CASE(shutdown_text, .id = "i3.shutdown-text.running-and-queued",
             .clauses = "i3.shutdown-text i3.exact-texts",
             .why = "a shutdown blamed on the caller: its text must not be "
                    "that of a cancel",
             .steps = "One running and two queued cooperative jobs; shutdown; "
                      "all three are taken before the next init.",
             .expected = "cancelled: Shutdown, byte for byte, three times.",
             .mutant = "shutdown-text-explicit", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    uint64_t tickets[3];
    job_occupy(host, 1, MODE_COOPERATIVE, 255, tickets);
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown(5000)");
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        expect_failure_is(&outcome, SHUTDOWN_TEXT,
                          "a job stopped by a shutdown");
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect_handle_healthy(host, "an echo after init");
    host_close(host);
}

CONFORM_CASE(shutdown_text_late, .id = "i3.shutdown-text.taken-after-init",
             .clauses = "i3.shutdown-text",
             .why = "a result that turns into something else when the latch "
                    "is lifted before it is taken",
             .steps = "Three cooperative jobs; shutdown; init; only then are "
                      "they taken. A job finished before the shutdown is "
                      "taken too.",
             .expected = "cancelled: Shutdown or cancelled: Explicit; the "
                         "finished one keeps its bytes.",
             .mutant = NULL, .transports = CONFORM_BOTH)
{
    static const uint8_t echo[4] = {MODE_ECHO, 9, 8, 7};
    struct host *host = host_open(1);
    uint64_t finished = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
    struct completion done = host_wait(host, finished);
    uint64_t tickets[3];
    job_occupy(host, 1, MODE_COOPERATIVE, 255, tickets);
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown(5000)");
    expect_code(FFI_OK, api.init(), "gusset_init");
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        bool explicit =
            outcome.msg_len == strlen(EXPLICIT_TEXT) &&
            memcmp(outcome.msg, EXPLICIT_TEXT, outcome.msg_len) == 0;
        expect_failure_is(&outcome, explicit ? EXPLICIT_TEXT : SHUTDOWN_TEXT,
                          "a job stopped by a shutdown, taken after init");
    }
    struct outcome kept = host_outcome(host, &done);
    expect_success_is(&kept, echo, sizeof echo,
                      "a result from before the shutdown");
    host_close(host);
}
