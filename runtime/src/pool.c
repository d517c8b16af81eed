/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. A worker counts itself out of `holders` as its last act, after
 * its alternate stack is gone; from then on only pthread_join concerns it. The
 * closer holds one itself, so that the handle cannot go away under it. If the
 * close budget runs out the closer detaches the threads and leaves; whoever
 * counts holders down to none frees the handle.
 *
 * A worker whose engine ends it says so before it reports the unit, so that
 * the host's next submit replaces it. It may then still wait for room in the
 * pipe: its replacement joins it, not submit, which never blocks.
 */
#include "pool.h"

#include <errno.h>

#include "bug.h"
#include "handle.h"
#include "log.h"
#include "stats.h"
#include "unit.h"

/* Looks at the queue before a worker goes to sleep, some tens of
 * microseconds: longer than a host's turn-around, shorter than a wake-up. */
#define POLL_ROUNDS 2000

/* Fetches what the unit will need while the worker is still busy with the
 * park counters, which submitters read at the same moment. */
static void
prepare(struct GussetHandle *handle, uint32_t index)
{
    const char *slot = (const char *)gst__jobs_slot(&handle->jobs, index);
    struct GussetRing *ring = GST_LOAD_ACQUIRE(&handle->ring);

    __builtin_prefetch(slot, 1);
    __builtin_prefetch(slot + GST_CACHE_LINE, 1);
    if (ring != NULL)
        gst__ring_prepare(ring);
}

static bool
poll_queue(struct GussetHandle *handle, uint32_t *index)
{
    int round;

    for (round = 0; round < POLL_ROUNDS; round++) {
        if (gst__queue_pop(&handle->queue, index)) {
            prepare(handle, *index);
            return true;
        }
        gst__plat_pause();
    }
    return false;
}

/* Partner: the store in gst__handle_close. */
static bool
closing(struct GussetHandle *handle)
{
    return (GST_LOAD_SEQ(&handle->gate) & GST_GATE_CLOSING) != 0;
}

/*
 * Blocks until there is a unit. False: the handle is closing and the queue is
 * empty. The steps are those of park.h.
 */
static bool
next_unit(struct GussetHandle *handle, uint32_t *index)
{
    struct gst__park *park = &handle->park;
    bool poller;
    bool found;

    if (gst__queue_pop(&handle->queue, index))
        return true;
    poller = gst__park_poll_begin(park);
    for (;;) {
        found = false;
        if (poller) {
            found = poll_queue(handle, index);
            gst__park_poll_end(park);
        }
        if (!found) {
            gst__park_announce(park);
            found = gst__queue_pop(&handle->queue, index);
            if (!found && !closing(handle)) {
                gst__park_sleep(park);
                poller = true;
                continue;
            }
            gst__park_retract(park);
        }
        if (found && gst__queue_ready(&handle->queue))
            gst__park_wake(park);
        return found;
    }
}

static void
log_degraded(const struct gst__worker *worker, const char *what, int error)
{
    gst__log("gusset: worker %u started WITHOUT %s (error %d)", worker->number,
             what, error);
}

/* False: the worker cannot serve. Signals first: nothing runs before. */
static bool
set_up(struct gst__worker *worker)
{
    int ignored;
    int error = gst__plat_block_sigpipe();

    if (error != 0)
        log_degraded(worker, "SIGPIPE blocked", error);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    gst__plat_thread_name(worker->number);
    if (worker->default_stack)
        log_degraded(worker, "an explicit stack size", 0);
    error = gst__plat_altstack_install(&worker->altstack);
    if (error != 0)
        log_degraded(worker, "sigaltstack", error);
    return gst__firewall_bind(&worker->firewall) == 0;
}

static void
end_thread(struct gst__worker *worker)
{
    struct GussetHandle *handle = worker->handle;

    gst__firewall_bind(NULL);
    gst__plat_altstack_remove(&worker->altstack);
    gst__pool_drop(handle);
}

static void
mark_dead(struct gst__worker *worker)
{
    /* Partner: the load in revive. */
    GST_STORE_RELEASE(&worker->life, GST_WORKER_DEAD);
    GST_OR_SEQ(&worker->handle->gate, GST_GATE_DEAD);
}

/* Runs when the engine ended the thread. */
static void
died(void *argument)
{
    struct gst__worker *worker = argument;

    mark_dead(worker);
    gst__unit_died(worker);
    end_thread(worker);
}

static void
serve(struct gst__worker *worker)
{
    uint32_t index;

    pthread_cleanup_push(died, worker);
    while (next_unit(worker->handle, &index))
        gst__unit_run(worker, index);
    pthread_cleanup_pop(0);
}

static void *
worker_main(void *argument)
{
    struct gst__worker *worker = argument;
    struct gst__pool *pool = &worker->handle->pool;
    bool able;

    if (worker->has_predecessor) {
        pthread_join(worker->predecessor, NULL);
        gst__plat_altstack_unmap(&worker->altstack);
    }
    worker->firewall.frame = NULL;
    worker->call.slot = NULL;
    able = set_up(worker);
    if (!able)
        GST_ADD_SEQ(&pool->failed, 1);
    /* Partner: the load in wait_ready. */
    GST_ADD_SEQ(&pool->ready, 1);
    gst__plat_wake(&pool->ready, 1);
    if (able)
        serve(worker);
    else
        mark_dead(worker);
    end_thread(worker);
    return NULL;
}

/* A dead worker is replaced, any other gets its first thread. */
static int
start_worker(struct gst__worker *worker)
{
    struct gst__pool *pool = &worker->handle->pool;
    /* Partner: the store in mark_dead. */
    uint32_t life = GST_LOAD_ACQUIRE(&worker->life);
    int error;

    worker->has_predecessor = life == GST_WORKER_DEAD;
    worker->predecessor = worker->thread;
    GST_ADD_SEQ(&pool->holders, 1);
    /* First: the thread may be dead already when its creator goes on. */
    GST_STORE_RELAXED(&worker->life, GST_WORKER_RUNNING);
    error = gst__plat_thread_start(&worker->thread, worker_main, worker,
                                   &worker->default_stack);
    if (error != 0) {
        worker->thread = worker->predecessor;
        GST_STORE_RELAXED(&worker->life, life);
        GST_SUB_SEQ(&pool->holders, 1);
    }
    return error;
}

/* Waits until `count` threads have set themselves up or failed to. */
static void
wait_ready(struct gst__pool *pool, uint32_t count)
{
    uint32_t ready;

    while ((ready = GST_LOAD_SEQ(&pool->ready)) < count)
        gst__plat_wait(&pool->ready, ready, GST_FOREVER);
}

static void
join(struct gst__worker *worker)
{
    pthread_join(worker->thread, NULL);
    gst__plat_altstack_unmap(&worker->altstack);
    GST_STORE_RELAXED(&worker->life, GST_WORKER_NONE);
}

static void
join_all(struct gst__pool *pool)
{
    uint32_t i;

    for (i = 0; i < pool->size; i++) {
        struct gst__worker *worker = &pool->workers[i];

        if (GST_LOAD_ACQUIRE(&worker->life) != GST_WORKER_NONE)
            join(worker);
    }
}

int
gst__pool_start(struct GussetHandle *handle, uint32_t size)
{
    struct gst__pool *pool = &handle->pool;
    uint32_t started;
    int error = 0;

    pool->workers =
        gst__alloc_zeroed(size * sizeof *pool->workers, GST_CACHE_LINE);
    if (pool->workers == NULL)
        return ENOMEM;
    pool->size = size;
    GST_STORE_RELAXED(&pool->holders, 1);
    pthread_mutex_init(&pool->repair, NULL);
    for (started = 0; started < size && error == 0; started++) {
        pool->workers[started].handle = handle;
        pool->workers[started].number = started;
        error = start_worker(&pool->workers[started]);
    }
    if (error != 0)
        started--;
    wait_ready(pool, started);
    if (error == 0 && GST_LOAD_SEQ(&pool->failed) > 0)
        error = ENOMEM;
    if (error == 0)
        return 0;
    GST_OR_SEQ(&handle->gate, GST_GATE_CLOSING);
    gst__park_stop(&handle->park, size);
    join_all(pool);
    return error;
}

/* The repair lock is held. */
static int
revive(struct gst__worker *worker)
{
    int error;

    /* Partner: the store in mark_dead. */
    if (GST_LOAD_ACQUIRE(&worker->life) != GST_WORKER_DEAD)
        return 0;
    error = start_worker(worker);
    if (error == 0)
        gst__log("gusset: worker %u was replaced after its engine ended it",
                 worker->number);
    return error;
}

int
gst__pool_repair(struct GussetHandle *handle)
{
    struct gst__pool *pool = &handle->pool;
    int error = 0;
    uint32_t i;

    pthread_mutex_lock(&pool->repair);
    /* First: a worker that dies from here on sets the bit again. */
    GST_AND_SEQ(&handle->gate, ~GST_GATE_DEAD);
    for (i = 0; i < pool->size && error == 0; i++)
        error = revive(&pool->workers[i]);
    if (error != 0)
        GST_OR_SEQ(&handle->gate, GST_GATE_DEAD);
    pthread_mutex_unlock(&pool->repair);
    return error;
}

/* Waits for the threads' end; false: the budget ran out first. */
static bool
wait_ended(struct gst__pool *pool, uint64_t budget_ns)
{
    uint64_t start = gst__plat_now();
    uint32_t holders;

    /* Partner: the subtraction in gst__pool_drop. */
    while ((holders = GST_LOAD_SEQ(&pool->holders)) > 1) {
        uint64_t waited = gst__plat_now() - start;

        if (waited >= budget_ns)
            return false;
        gst__plat_wait(&pool->holders, holders, budget_ns - waited);
    }
    return true;
}

uint32_t
gst__pool_stop(struct GussetHandle *handle, uint64_t budget_ns)
{
    struct gst__pool *pool = &handle->pool;
    uint32_t running;
    uint32_t i;

    gst__park_stop(&handle->park, pool->size);
    if (wait_ended(pool, budget_ns)) {
        join_all(pool);
        return 0;
    }
    running = (GST_OR_SEQ(&pool->holders, GST_POOL_ORPHANED)) - 1;
    if (running == 0) {
        join_all(pool);
        return 0;
    }
    for (i = 0; i < pool->size; i++)
        if (GST_LOAD_ACQUIRE(&pool->workers[i].life) != GST_WORKER_NONE)
            pthread_detach(pool->workers[i].thread);
    return running;
}

void
gst__pool_drop(struct GussetHandle *handle)
{
    struct gst__pool *pool = &handle->pool;
    _Atomic uint32_t *holders = &pool->holders;
    uint32_t before = GST_SUB_SEQ(holders, 1);

    GST_ASSERT((before & ~GST_POOL_ORPHANED) > 0);
    if (before == (GST_POOL_ORPHANED | 1))
        gst__handle_destroy(handle);
    else if ((before & GST_POOL_ORPHANED) == 0)
        gst__plat_wake(holders, 1); /* the closer's join keeps it alive */
}

void
gst__pool_destroy(struct gst__pool *pool)
{
    gst__free(pool->workers);
    pthread_mutex_destroy(&pool->repair);
}
