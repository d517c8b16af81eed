/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Engines that end their own thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "../zoo.h"
#include "gusset_engine.h"

#define POOL 2u

static int32_t
leaves(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    zoo_gate_wait();
    pthread_exit(NULL);
}

/* Cancels itself: acted upon at the next cancellation point, the wait. */
static int32_t
is_cancelled(gse_call *call, void *user)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    (void)user;
    zoo_gate_wait();
    pthread_cancel(pthread_self());
    nanosleep(&pause, NULL);
    gse_output_errorf(call, "the cancellation was not acted upon");
    return GSE_FAILED;
}

struct losses {
    struct host *host;
    uint64_t queued[POOL];
    uint32_t served;
};

/* A submit is what replaces a dead worker, also one that is refused. It may
 * come before the death is complete: hosts submit again, and so does this. */
static bool
queue_is_served(void *argument)
{
    struct losses *losses = argument;
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    struct completion done;
    host_try_submit(losses->host, &header, "\0", 1, 0);
    while (host_poll(losses->host, &done)) {
        struct outcome o = host_outcome(losses->host, &done);
        expect_code(FFI_OK, o.code, "an echo behind the losses");
        for (uint32_t i = 0; i < POOL; i++)
            losses->served += done.ticket == losses->queued[i];
    }
    return losses->served == POOL;
}

static bool
pool_is_whole(void *argument)
{
    int32_t tids[16];
    queue_is_served(argument);
    return conform_library_threads(tids, 16) == POOL;
}

static void
lose_a_worker(gse_handler handler, const char *what)
{
    AllocStats before, after;
    if (conform_claims("pthread_exit", "undefined"))
        conform_out_of_reach("the claims file says pthread_exit = undefined: "
                             "an engine must not end its thread");
    api.alloc_stats(&before);
    expect(gse_register_opcode(1, handler, NULL) == GSE_OK, "registration");
    struct host *host = host_open(POOL);
    struct losses losses = {.host = host};
    CallHeader leave = zoo_header(INLINE, 1);
    CallHeader echo = zoo_header(DIAGNOSTIC, 0);
    uint64_t leavers[POOL];
    zoo_gate_close();
    for (uint32_t i = 0; i < POOL; i++)
        leavers[i] = host_submit_patiently(host, &leave, NULL, 0);
    for (uint32_t i = 0; i < POOL; i++)
        losses.queued[i] = host_submit_patiently(host, &echo, "\0q", 2);
    zoo_gate_open();
    for (uint32_t i = 0; i < POOL; i++) {
        struct completion done = host_wait(host, leavers[i]);
        expect(!done.inlined, "%s: no success", what);
        struct outcome o = host_take(host, leavers[i]);
        expect(o.code == FFI_ERR || o.code == FFI_PANIC,
               "%s: the unit that its worker died in ends as %s", what,
               conform_code_name(o.code));
    }
    expect(conform_eventually(queue_is_served, &losses),
           "%s: %u queued units are served once submits replaced the workers",
           what, POOL);
    expect(conform_eventually(pool_is_whole, &losses), "%s: %u workers again",
           what, POOL);
    host_close(host);
    gse_clear();
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "%s: live_bytes", what);
    conform_fresh_handle_works();
}

CONFORM_CASE(
    thread_exit, .id = "i4.respawn.c-pthread-exit",
    .clauses = "i4.respawn i4.exactly-once i2.pool-survives",
    .why = "A worker that an engine ended takes its unit's ticket with it, "
           "and the pool shrinks for good.",
    .steps = "Pool 2, both workers in an engine that calls pthread_exit, two "
             "units in the queue; submit until the pool is whole.",
    .expected = "Claim replaced: both tickets end as FFI_ERR or FFI_PANIC; two "
                "workers again; the queued units are served; live_bytes back. "
                "Claim undefined: out of reach.",
    .needs = "engine claim:pthread_exit", .transports = CONFORM_BOTH,
    .mutant = "dead-worker-not-replaced")
{
    lose_a_worker(leaves, "pthread_exit");
}

CONFORM_CASE(
    thread_cancel, .id = "i4.respawn.c-pthread-cancel",
    .clauses = "i4.respawn i4.exactly-once i2.pool-survives",
    .why = "A worker that is cancelled in the middle of an engine is a "
           "worker less.",
    .steps = "Pool 2, both workers in an engine that cancels its own thread, "
             "two units in the queue; submit until the pool is whole.",
    .expected = "As after a pthread_exit.",
    .needs = "engine claim:pthread_exit", .mutant = "dead-worker-not-replaced",
    .transports = CONFORM_BOTH,
    .tags = CONFORM_NO_CENSUS) /* pthread_cancel installs a handler */
{
    if (UNDER_ADDRESS_SANITIZER || UNDER_THREAD_SANITIZER)
        conform_skip("sanitizers do not see that a cancelled thread has left "
                     "its frames and its system call");
    lose_a_worker(is_cancelled, "pthread_cancel");
}
