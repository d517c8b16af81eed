/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A submit that is stopped before each of its instructions by a shutdown. */

#include "../jobs.h"
#include "step.h"

static struct {
    struct host *host;
    GussetHandle *handle;
    uint64_t ticket;
    int32_t code, drained;
} scene;

static void
rearm(void *unused)
{
    (void)unused;
    expect_code(FFI_OK, api.init(), "init");
}

static void
submit_long(void *unused)
{
    static const uint8_t longer[] = {MODE_COOPERATIVE, 255};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    (void)unused;
    /* Past the guard, whose instructions are not to be stepped. */
    scene.code = api_raw.submit(scene.handle, &header, longer, sizeof longer, 0,
                                &scene.ticket, NULL);
}

static void
shut_down(void *unused)
{
    (void)unused;
    scene.drained = api.shutdown(2000);
}

static void
judge_the_race(void *unused)
{
    (void)unused;
    expect_code(FFI_OK, scene.drained, "shutdown(2000) beside a submit");
    if (scene.code != FFI_OK)
        return;
    host_adopt(scene.host, scene.ticket);
    struct outcome outcome = job_finish(scene.host, scene.ticket);
    expect_failure_is(&outcome, SHUTDOWN_TEXT,
                      "a job accepted beside a shutdown");
}

CONFORM_CASE(stepped_submit, .id = "l.shutdown-race.stepped-submit",
             .clauses = "l.shutdown-race l.shutdown-drains",
             .why = "a submit that looks whether a shutdown stands and only "
                    "then counts itself: it runs on after a clean drain",
             .steps = "A submit of a job of 2.55 s that checks is stopped "
                      "before each of its instructions; meanwhile "
                      "shutdown(2000).",
             .expected = "FFI_OK from the shutdown; the submit is refused, or "
                         "its job is cancelled: Shutdown.",
             .mutant = "epoch-taken-late", .timeout_ms = 60000)
{
    const struct conform_steps steps = {rearm, submit_long, shut_down,
                                        judge_the_race, NULL};
    scene.host = host_open_with(1, CONFORM_PIPE);
    scene.handle = host_handle(scene.host);
    conform_step_through(&steps);
    expect_code(FFI_OK, api.init(), "init");
    host_close(scene.host);
}
