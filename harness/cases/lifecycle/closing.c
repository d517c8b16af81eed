/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A handle that is being closed, as the rest of the process sees it. */

#include "../completions/raw.h"

#include <stdatomic.h>

static struct {
    GussetHandle *handle;
    int32_t code;
    atomic_bool returned;
} closing;

static void
close_it(void *unused)
{
    (void)unused;
    closing.code = api.handle_close(closing.handle, NULL);
    atomic_store(&closing.returned, true);
}

/*
 * Closes a handle over a job of 600 ms while shutdown is asked again and
 * again; false: the job had not begun when the close cancelled it.
 */
static bool
drain_while_closing(uint32_t *errors)
{
    static const uint8_t sleeper[] = {MODE_SLEEP, 60, MODE_ECHO, 7};
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    struct completion done;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    expect_code(FFI_OK, api.handle_open(1, fds[1], &closing.handle, NULL),
                "open");
    uint64_t ticket = raw_submit(closing.handle, &header, sleeper, 4);
    job_pause_us(20000); /* gives the worker a chance to start; judged below */
    atomic_store(&closing.returned, false);
    struct conform_thread *thread = conform_thread_start(close_it, NULL, 0);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (*errors = 0; api.shutdown(10) != FFI_OK; ++*errors)
        expect(conform_now_ns() < give_up, "shutdown is FFI_OK at last");
    expect(pipe_pending(fds[0]) > 0,
           "shutdown is FFI_OK, yet the unit of the handle that is being "
           "closed is still in flight: no completion is in the pipe; close "
           "has %sreturned",
           atomic_load(&closing.returned) ? "" : "not ");
    conform_thread_join(thread);
    expect_code(FFI_OK, closing.code, "close");
    expect_code(FFI_OK, api.shutdown(0), "shutdown after the close");
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect_i64(1, pipe_read_record(fds[0], &done), "the completion");
    expect_u64(ticket, done.ticket, "its ticket");
    bool ran = done.inlined; /* cancelled units come as bare tickets */
    expect_i64(0, pipe_read_record(fds[0], &done), "end of file after it");
    close(fds[0]);
    return ran;
}

CONFORM_CASE(closing_counts, .id = "l.shutdown-drains.handle-being-closed",
             .clauses = "l.shutdown-drains l.close-cancels",
             .why = "a handle that leaves the list when its close begins: "
                    "shutdown calls the process drained while an engine runs",
             .steps = "One job of 600 ms that never checks; close on another "
                      "thread; shutdown(10) until it is FFI_OK.",
             .expected = "FFI_ERR as long as the completion is not in the "
                         "pipe; FFI_OK after that, and EOF behind it.",
             .mutant = "closing-handle-not-in-flight", .tags = CONFORM_SLEEPS)
{
    uint32_t errors = 0;
    for (int attempt = 0; attempt < 20; attempt++) {
        if (!drain_while_closing(&errors))
            continue;
        conform_evidence("shutdowns-that-expired", "%u", errors);
        expect_u64_at_least(1, errors, "shutdown(10) over a job of 600 ms");
        return;
    }
    conform_broken("no job was running 20 ms after its submit, 20 times");
}
