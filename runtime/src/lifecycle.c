/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Shutdown makes the epoch odd, init makes it even again; each
 * job remembers the epoch of its submission and is cancelled when it differs.
 * So a shutdown sweeps no jobs, and one that was ended by an init still
 * cancels what was there before.
 *
 * A submit that races a shutdown [l.shutdown-race]: submit counts itself in
 * flight, then loads the epoch; shutdown changes the epoch, then counts. All
 * four are SEQ, so either submit sees the new epoch and takes itself back, or
 * shutdown counts the unit, whose epoch is the old one: it is cancelled.
 *
 * Lock order: turn, handles, engine registry, log.
 */
#include "lifecycle.h"

#include "engine.h"
#include "firewall.h"
#include "handle.h"
#include "log.h"
#include "plat.h"

#define NS_PER_MS UINT64_C(1000000)

/* Read by every submit: not on a line that others write. */
_Alignas(GST_CACHE_LINE) _Atomic uint64_t gst__epoch;
_Atomic uint32_t gst__forks;

/* Shutdowns and inits run one after the other, in order of arrival. */
static _Atomic uint32_t turn_next;
static _Atomic uint32_t turn_now; /* futex */

static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by handles_lock. */
static GussetHandle *handles;
static uint32_t holds;
static bool fork_handlers;

static _Atomic uint32_t drain_waits; /* 1: a shutdown waits for units */
static _Atomic uint32_t drain_event; /* futex: units that ended meanwhile */

static void
take_turn(void)
{
    uint32_t mine = GST_ADD_RELAXED(&turn_next, 1);
    uint32_t now;

    /* Partner: the store in pass_turn. */
    while ((now = GST_LOAD_ACQUIRE(&turn_now)) != mine)
        gst__plat_wait(&turn_now, now, GST_FOREVER);
}

static void
pass_turn(void)
{
    GST_ADD_RELEASE(&turn_now, 1);
    gst__plat_wake(&turn_now, INT32_MAX);
}

/* Fork: the child gets its one thread, whole locks, and no handles. */

static void
before_fork(void)
{
    pthread_mutex_lock(&handles_lock);
    gst__engine_lock();
    gst__log_lock();
}

static void
after_fork_parent(void)
{
    gst__log_unlock();
    gst__engine_unlock();
    pthread_mutex_unlock(&handles_lock);
}

static void
after_fork_child(void)
{
    /* Inherited handles have no workers here: their calls refuse, their
     * memory stays as it is. */
    GST_ADD_RELAXED(&gst__forks, 1);
    handles = NULL;
    GST_STORE_RELAXED(&turn_now, GST_LOAD_RELAXED(&turn_next));
    GST_STORE_RELAXED(&drain_waits, 0);
    after_fork_parent();
}

/* handles_lock is held. */
static int
set_up(void)
{
    int error;

    if (!fork_handlers) {
        error =
            pthread_atfork(before_fork, after_fork_parent, after_fork_child);
        if (error != 0)
            return error;
        fork_handlers = true;
    }
    return holds == 0 ? gst__firewall_key_make() : 0;
}

int
gst__lifecycle_hold(void)
{
    int error;

    pthread_mutex_lock(&handles_lock);
    error = set_up();
    if (error == 0)
        holds++;
    pthread_mutex_unlock(&handles_lock);
    return error;
}

void
gst__lifecycle_release(void)
{
    pthread_mutex_lock(&handles_lock);
    if (--holds == 0)
        gst__firewall_key_delete();
    pthread_mutex_unlock(&handles_lock);
}

void
gst__lifecycle_add(GussetHandle *handle)
{
    pthread_mutex_lock(&handles_lock);
    handle->next = handles;
    handle->previous = NULL;
    if (handles != NULL)
        handles->previous = handle;
    handles = handle;
    pthread_mutex_unlock(&handles_lock);
}

void
gst__lifecycle_remove(GussetHandle *handle)
{
    pthread_mutex_lock(&handles_lock);
    if (handle->previous != NULL)
        handle->previous->next = handle->next;
    else
        handles = handle->next;
    if (handle->next != NULL)
        handle->next->previous = handle->previous;
    pthread_mutex_unlock(&handles_lock);
}

bool
gst__lifecycle_enter(GussetHandle *handle, uint64_t *epoch)
{
    /* A look first: what comes after a shutdown is not counted, not even for
     * a moment, or the next shutdown would wait for it. */
    if ((GST_LOAD_SEQ(&gst__epoch) & 1) != 0)
        return false;
    /* Partner: the loads in in_flight. */
    GST_ADD_SEQ(&handle->accepted, 1);
    /* Partner: the add in gst__lifecycle_shutdown. */
    *epoch = GST_LOAD_SEQ(&gst__epoch);
    if ((*epoch & 1) == 0)
        return true;
    gst__lifecycle_leave(handle);
    return false;
}

void
gst__lifecycle_leave(GussetHandle *handle)
{
    /* Partner: the loads in in_flight. */
    GST_ADD_SEQ(&handle->finished, 1);
    /* Partner: the store in drain. */
    if (GST_LOAD_SEQ(&drain_waits) == 0)
        return;
    GST_ADD_SEQ(&drain_event, 1);
    gst__plat_wake(&drain_event, 1);
}

/* Units accepted and neither delivered nor given up, on all handles. */
static uint64_t
in_flight(void)
{
    GussetHandle *handle;
    uint64_t sum = 0;

    pthread_mutex_lock(&handles_lock);
    for (handle = handles; handle != NULL; handle = handle->next) {
        /* finished first: it never passes accepted, so equality means that
         * nothing was in flight when accepted was read. */
        uint64_t finished = GST_LOAD_SEQ(&handle->finished);

        sum += GST_LOAD_SEQ(&handle->accepted) - finished;
    }
    pthread_mutex_unlock(&handles_lock);
    return sum;
}

/* Waits until nothing is in flight; returns what is at the deadline. */
static uint64_t
drain(uint64_t budget_ns)
{
    uint64_t start = gst__plat_now();
    uint64_t left;

    GST_STORE_SEQ(&drain_waits, 1);
    for (;;) {
        uint32_t event = GST_LOAD_SEQ(&drain_event);
        uint64_t waited;

        left = in_flight();
        waited = gst__plat_now() - start;
        if (left == 0 || waited >= budget_ns)
            break;
        gst__plat_wait(&drain_event, event, budget_ns - waited);
    }
    GST_STORE_SEQ(&drain_waits, 0);
    return left;
}

int32_t
gst__lifecycle_init(void)
{
    take_turn();
    /* Only the holder of the turn changes the epoch. */
    if ((GST_LOAD_SEQ(&gst__epoch) & 1) != 0)
        GST_ADD_SEQ(&gst__epoch, 1);
    pass_turn();
    return FFI_OK;
}

int32_t
gst__lifecycle_shutdown(uint32_t drain_ms)
{
    uint64_t left;

    take_turn();
    /* Partner: the loads in gst__lifecycle_enter and gst__job_reason. */
    if ((GST_LOAD_SEQ(&gst__epoch) & 1) == 0)
        GST_ADD_SEQ(&gst__epoch, 1);
    left = drain(drain_ms * NS_PER_MS);
    if (left > 0)
        gst__log("gusset: shutdown drain budget of %u ms expired with %llu "
                 "work unit(s) still in flight",
                 (unsigned)drain_ms, (unsigned long long)left);
    pass_turn();
    return left == 0 ? FFI_OK : FFI_ERR;
}
