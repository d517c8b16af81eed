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
             .mutant = "cancel-text-decorated", .transports = CONFORM_BOTH)
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

CONFORM_CASE(shutdown_text_after_budget,
             .id = "i3.shutdown-text.after-the-budget",
             .clauses = "i3.shutdown-text i3.exact-texts l.shutdown-drains",
             .why = "a stop that ends with the drain: what did not check in "
                    "time runs on as if nothing had been",
             .steps = "On two handles a job sleeps 150 ms without checking "
                      "and then works cooperatively for 2.5 s, a second one "
                      "waits behind it; shutdown with a budget of 0; once it "
                      "has returned, all four are waited for and taken.",
             .expected = "FFI_ERR from the shutdown; then cancelled: Shutdown "
                         "four times.",
             .mutant = "stop-ends-with-the-drain", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t deaf[4] = {MODE_SLEEP, 15, MODE_COOPERATIVE, 255};
    struct host *hosts[2] = {host_open(1), host_open(1)};
    uint64_t tickets[4];
    uint64_t deaf_until = conform_now_ns() + 150 * MS;
    for (int i = 0; i < 4; i++)
        tickets[i] = host_submit(hosts[i / 2], DIAGNOSTIC, deaf, sizeof deaf);
    job_pause_us(10000); /* so that they have begun, as a rule */
    int32_t code = api.shutdown(0);
    if (conform_now_ns() < deaf_until)
        expect_code(FFI_ERR, code, "gusset_shutdown(0) over deaf jobs");
    for (int i = 0; i < 4; i++) {
        struct outcome outcome = job_finish(hosts[i / 2], tickets[i]);
        expect_failure_is(&outcome, SHUTDOWN_TEXT,
                          "a job that outlived the budget of the shutdown");
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    (void)conform_drain_log();
    expect_handle_healthy(hosts[0], "an echo after init");
    host_close(hosts[0]);
    host_close(hosts[1]);
}
