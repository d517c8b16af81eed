/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_shutdown: what it refuses, what it waits for, what goes on.
 */

#include "../completions/raw.h"

#include <stdatomic.h>

#define REFUSED_TEXT "gusset runtime is shutting down"

static const uint8_t echo[3] = {MODE_ECHO, 1, 9};

static void
expect_submit_refused(GussetHandle *handle, const char *what)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t ticket = 77;
    FfiStatus status = conform_dirty_status();
    struct outcome refused = conform_settle(
        api.submit(handle, &header, echo, sizeof echo, 0, &ticket, &status),
        &status);
    expect_code(FFI_ERR, refused.code, "submit after shutdown, %s", what);
    expect_text(TEXT_CONTAINS, REFUSED_TEXT, refused.msg, refused.msg_len,
                "the text of that refusal");
    expect_u64(77, ticket, "out_ticket of that refusal");
}

/* A handle opened under the latch may open or be refused, never work. */
static void
expect_late_open_useless(void)
{
    GussetHandle *handle = NULL;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    if (api.handle_open(1, fds[1], &handle, NULL) == FFI_OK) {
        conform_evidence("open-under-the-latch", "opens");
        expect_submit_refused(handle, "a handle opened after it");
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
    } else {
        conform_evidence("open-under-the-latch", "is refused");
        close(fds[1]);
    }
    close(fds[0]);
}

CONFORM_CASE(refuses_until_init, .id = "l.shutdown-refuses.until-init",
             .clauses = "l.shutdown-refuses l.init-idempotent",
             .why = "a shutdown that only says FFI_OK, a latch of one handle, "
                    "or one that an open lifts",
             .steps = "Two handles; shutdown; submit on both and on one "
                      "opened after it, also after shutdown is called again; "
                      "init; submit.",
             .expected = "FFI_ERR, gusset runtime is shutting down, each "
                         "time; after init both handles work.",
             .mutant = "shutdown-accepts-work", .transports = CONFORM_BOTH)
{
    struct host *first = host_open(1), *second = host_open(2);
    for (int round = 0; round < 3; round++) {
        expect_handle_healthy(first, "an echo before the shutdown");
        for (int call = 0; call < 2; call++) {
            expect_code(FFI_OK, api.shutdown(1000), "an idle shutdown");
            expect_submit_refused(host_handle(first), "the first handle");
            expect_submit_refused(host_handle(second), "the second handle");
            expect_late_open_useless();
            expect_submit_refused(host_handle(first), "and after another open");
        }
        expect_code(FFI_OK, api.init(), "gusset_init");
        expect_handle_healthy(first, "an echo after init");
        expect_handle_healthy(second, "an echo after init");
    }
    host_close(first);
    host_close(second);
}

CONFORM_CASE(rest_goes_on, .id = "l.shutdown-refuses.the-rest-goes-on",
             .clauses = "l.shutdown-refuses i4.ring-attach",
             .why = "a latch that also stops a host from collecting and "
                    "closing what it has",
             .steps = "Results of 3, 4096 and 5000 bytes are ready; shutdown; "
                      "take them, cancel, cancel_all, buf_alloc, buf_free, "
                      "handle_ring, close, all under the latch.",
             .expected = "All work as before; the bytes are whole.",
             .mutant = "shutdown-refuses-buffers")
{
    static const size_t sizes[3] = {3, 4096, 5000};
    struct host *host = host_open_with(1, CONFORM_PIPE);
    uint8_t *inputs[3];
    uint64_t tickets[3], id = 0;
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int i = 0; i < 3; i++) {
        inputs[i] = conform_pattern(sizes[i], MODE_ECHO, 7);
        uint64_t input = host_buffer(host, inputs[i], sizes[i], NULL);
        tickets[i] = host_submit_buffer(host, &header, input);
        struct completion done = host_wait(host, tickets[i]);
        expect(!done.inlined, "bit 1 was clear");
        host_buffer_free(host, input);
    }
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = host_take(host, tickets[i]);
        expect_success_is(&outcome, inputs[i], sizes[i], "a ready result");
    }
    expect_code(FFI_OK, api.cancel(host_handle(host), tickets[0], NULL),
                "cancel");
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    uint8_t *address;
    id = host_buffer(host, inputs[2], 5000, &address);
    expect_bytes(inputs[2], 5000, address, 5000, "a buffer under the latch");
    host_buffer_free(host, id);
    host_attach_ring(host);
    host_close(host);
    expect_code(FFI_OK, api.init(), "gusset_init");
}

CONFORM_CASE(drains_all, .id = "l.shutdown-drains.every-handle",
             .clauses = "l.shutdown-drains i3.shutdown-text",
             .why = "a shutdown that only waits, or that reaches one handle "
                    "or only the running jobs",
             .steps = "Three handles (pools of 1, 2 and 3) full with "
                      "cooperative jobs of 2.55 s, running and queued; "
                      "shutdown(2000).",
             .expected = "FFI_OK within the budget; all 18 jobs completed as "
                         "cancelled: Shutdown.",
             .mutant = "shutdown-does-not-cancel", .transports = CONFORM_BOTH)
{
    struct host *hosts[3];
    uint64_t tickets[3][9];
    for (uint32_t i = 0; i < 3; i++) {
        hosts[i] = host_open(i + 1);
        job_occupy(hosts[i], i + 1, MODE_COOPERATIVE, 255, tickets[i]);
    }
    uint64_t from = conform_now_ns();
    expect_code(FFI_OK, api.shutdown(2000),
                "shutdown over 18 cooperative jobs");
    conform_evidence("drained-in-ms", "%llu",
                     (unsigned long long)((conform_now_ns() - from) / MS));
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t n = 0; n < 3 * (i + 1); n++) {
            struct outcome outcome = job_finish(hosts[i], tickets[i][n]);
            expect_failure_is(&outcome, SHUTDOWN_TEXT, "a drained job");
        }
    }
    expect_code(FFI_OK, api.init(), "gusset_init");
    for (uint32_t i = 0; i < 3; i++)
        host_close(hosts[i]);
}

struct idle_call {
    uint32_t budget_ms;
    int32_t code;
    atomic_bool returned;
};

static void
call_shutdown(void *argument)
{
    struct idle_call *call = argument;
    call->code = api.shutdown(call->budget_ms);
    atomic_store(&call->returned, true);
}

static bool
call_has_returned(void *argument)
{
    struct idle_call *call = argument;
    return atomic_load(&call->returned);
}

/* On a thread of its own, so that 49 days fail after patience. */
static void
expect_idle_shutdown(uint32_t budget_ms)
{
    static struct idle_call call;
    call.budget_ms = budget_ms;
    atomic_store(&call.returned, false);
    struct conform_thread *thread =
        conform_thread_start(call_shutdown, &call, 0);
    expect(conform_eventually(call_has_returned, &call),
           "shutdown(%u) returns at once when nothing is in flight", budget_ms);
    conform_thread_join(thread);
    expect_code(FFI_OK, call.code, "shutdown(%u) with nothing in flight",
                budget_ms);
    expect_code(FFI_OK, api.init(), "gusset_init");
}

CONFORM_CASE(drains_idle, .id = "l.shutdown-drains.idle-any-budget",
             .clauses = "l.shutdown-drains",
             .why = "a budget of 2^32-1 ms that wraps or is slept through, a "
                    "budget of 0 that is an error",
             .steps = "Without a handle, with an idle one, and after 20 "
                      "echoes: shutdown of 0, 1, 2^31 and 2^32-1, each "
                      "followed by init.",
             .expected = "FFI_OK at once (the last 49 days would be seen).",
             .mutant = "idle-shutdown-waits", .transports = CONFORM_BOTH)
{
    static const uint32_t budgets[] = {0, 1, 0x80000000u, UINT32_MAX};
    struct host *host = NULL;
    for (int state = 0; state < 3; state++) {
        if (state == 1)
            host = host_open(2);
        for (int i = 0; state == 2 && i < 20; i++)
            expect_handle_healthy(host, "an echo");
        if (state == 2) /* in flight may lag the completion for a moment */
            expect_code(FFI_OK, api.shutdown(5000), "the first shutdown");
        for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++)
            expect_idle_shutdown(budgets[i]);
    }
    host_close(host);
}

enum expiry { EXPIRED, NOT_STARTED, TOO_LATE };

/* One non-cooperative job of 600 ms under shutdown(50). */
static enum expiry
expire_once(struct host *host, uint64_t *took)
{
    static const uint8_t sleeper[5] = {MODE_SLEEP, 60, MODE_ECHO, 1, 2};
    (void)conform_drain_log();
    uint64_t earliest_end = conform_now_ns() + 600 * MS;
    uint64_t ticket = host_submit(host, DIAGNOSTIC, sleeper, sizeof sleeper);
    job_pause_us(20000); /* gives the worker a chance to start; judged below */
    uint64_t from = conform_now_ns();
    int32_t code = api.shutdown(50);
    *took = conform_now_ns() - from;
    bool still_running = conform_now_ns() < earliest_end;
    const char *log = conform_drain_log();
    struct outcome outcome = job_finish(host, ticket);
    int32_t later = api.shutdown(5000);
    expect_code(FFI_OK, api.init(), "gusset_init");
    if (outcome.code != FFI_OK)
        return NOT_STARTED;
    if (!still_running)
        return TOO_LATE;
    expect_code(FFI_ERR, code, "shutdown(50) over a job of 600 ms");
    const char *line = "gusset: shutdown drain budget of 50 ms expired with 1 "
                       "work unit(s) still in flight\n";
    const char *found = strstr(log, line);
    expect(found != NULL, "the log has the line %s; it is: %s", line, log);
    expect(found == NULL ||
               strstr(found + strlen(line), "drain budget") == NULL,
           "the log has it once; it is: %s", log);
    expect_code(FFI_OK, later, "shutdown after the job ended");
    return EXPIRED;
}

CONFORM_CASE(drain_expires, .id = "l.shutdown-drains.budget-expires",
             .clauses = "l.shutdown-drains l.log-lines",
             .why = "a clean drain reported over a job that still runs, a "
                    "wait without bound, a number that is wrong",
             .steps = "One job of 600 ms that never checks; shutdown(50); "
                      "read the log; when it ended, shutdown again.",
             .expected = "FFI_ERR after at least 50 ms and soon; one log line "
                         "with 50 ms and 1 work unit; then FFI_OK.",
             .mutant = "shutdown-forgets-in-flight", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    struct host *host = host_open(1);
    uint32_t late = 0;
    for (int attempt = 0; attempt < 20; attempt++) {
        uint64_t took = 0;
        enum expiry expiry = expire_once(host, &took);
        late += expiry == TOO_LATE;
        expect_u64_at_most(4, late,
                           "times that shutdown(50) came back when a job of "
                           "600 ms was over");
        if (expiry != EXPIRED)
            continue;
        conform_evidence("shutdown-50-took-us", "%llu",
                         (unsigned long long)took / 1000);
        expect_u64_at_least(50 * MS - MS, took, "ns of shutdown(50)");
        host_close(host);
        return;
    }
    conform_broken("no job was running 20 ms after its submit, 20 times");
}

CONFORM_CASE(drain_undelivered, .id = "l.shutdown-drains.undelivered-counts",
             .clauses = "l.shutdown-drains i4.stalled-reader",
             .why = "a drain called clean while a worker waits for room in "
                    "the pipe: the completion is lost at exit",
             .steps = "Pipe (and ring) full; one job has run; shutdown(0) and "
                      "shutdown(20); empty the pipe; read; shutdown.",
             .expected = "FFI_ERR twice, with a log line of 1 work unit; "
                         "then FFI_OK.",
             .mutant = "shutdown-forgets-in-flight", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t logging[2] = {MODE_LOG, 1};
    struct host *host = host_open(1);
    struct conform_ring *ring = host_ring(host);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint64_t i = 0; ring != NULL && i < ring->capacity; i++) {
        (void)host_submit(host, DIAGNOSTIC, echo, sizeof echo);
        while (ring_sequence(ring, i) != i + 1)
            expect(conform_now_ns() < give_up, "the ring fills");
    }
    size_t filled = pipe_fill(host_write_fd(host));
    (void)conform_drain_log();
    uint64_t ticket = host_submit(host, DIAGNOSTIC, logging, sizeof logging);
    while (strstr(conform_drain_log(), "worker log event 0") == NULL)
        expect(conform_now_ns() < give_up, "the job runs");
    expect_code(FFI_ERR, api.shutdown(0), "shutdown(0), pipe full");
    (void)conform_drain_log();
    expect_code(FFI_ERR, api.shutdown(20), "shutdown(20), pipe full");
    const char *log = conform_drain_log();
    expect_text(TEXT_CONTAINS, "budget of 20 ms expired with 1 work unit(s)",
                log, strlen(log), "the log");
    pipe_unfill(host_read_fd(host), filled);
    struct outcome outcome = job_finish(host, ticket);
    expect_success_is(&outcome, "\016\001", 2, "the result that waited");
    expect_code(FFI_OK, api.shutdown(5000), "shutdown after the delivery");
    expect_code(FFI_OK, api.init(), "gusset_init");
    host_close(host);
}
