/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A host whose signal state is not the default one: what a library restores
 * to the default it has changed, too.
 */

#include "../jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static sigset_t expected_mask;

static void
expect_mask(const char *after)
{
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int number = 1; number <= SIGRTMAX; number++)
        expect_i64(
            sigismember(&expected_mask, number), sigismember(&now, number),
            "signal %d blocked in the host's thread after %s", number, after);
}

/* Every export on this thread, its mask looked at after each. */
static void
live_a_life(void)
{
    static const uint8_t echo[] = {MODE_ECHO, 4};
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL, *slots = NULL;
    uint64_t capacity = 0;
    expect_code(FFI_OK, api.init(), "init");
    expect_mask("init");
    struct host *host = host_open_with(2, CONFORM_PIPE);
    GussetHandle *handle = host_handle(host);
    expect_mask("handle_open");
    uint64_t id = host_buffer(host, echo, sizeof echo, NULL);
    expect_mask("buf_alloc");
    uint64_t ticket = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
    expect_mask("submit");
    (void)job_finish(host, ticket);
    expect_mask("take");
    expect_code(FFI_OK, api.cancel(handle, ticket, NULL), "cancel");
    expect_mask("cancel");
    expect_code(FFI_OK, api.cancel_all(handle, NULL), "cancel_all");
    expect_mask("cancel_all");
    expect_code(
        FFI_OK,
        api.handle_ring(handle, &ring, &shared, &slots, &capacity, NULL),
        "handle_ring");
    expect_mask("handle_ring");
    host_buffer_free(host, id);
    expect_mask("buf_free");
    (void)conform_drain_log();
    expect_mask("drain_logs");
    expect_code(FFI_OK, api.shutdown(5000), "shutdown");
    expect_mask("shutdown");
    expect_code(FFI_OK, api.init(), "init after shutdown");
    expect_mask("init after shutdown");
    expect_code(FFI_ERR, api.handle_open(2, -1, &(GussetHandle *){NULL}, NULL),
                "a refused open");
    expect_mask("a refused handle_open");
    host_close(host);
    expect_mask("handle_close");
    api.ring_release(ring);
    expect_mask("ring_release");
}

static void
life_under(int how, const sigset_t *set)
{
    sigset_t before;
    pthread_sigmask(how, set, &before);
    pthread_sigmask(SIG_SETMASK, NULL, &expected_mask);
    live_a_life();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

CONFORM_CASE(masked_host, .id = "i5.no-handlers.masked-host",
             .clauses = "i5.no-handlers",
             .why = "a mask that is set to what is usual in place of what it "
                    "was: a host that keeps SIGPIPE blocked dies of the next",
             .steps = "A whole life of a handle by a thread that blocks every "
                      "signal, then one by a thread that blocks each signal "
                      "alone, then one that blocks none; its mask after each "
                      "call.",
             .expected = "The mask is what the host made it.",
             .mutant = "open-unblocks-sigpipe", .timeout_ms = 60000)
{
    sigset_t set;
    sigfillset(&set);
    life_under(SIG_BLOCK, &set);
    for (int number = 1; number < 32; number++) {
        sigemptyset(&set);
        sigaddset(&set, number);
        life_under(SIG_SETMASK, &set);
    }
    sigemptyset(&set);
    life_under(SIG_SETMASK, &set);
}
