/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * pool.h - the worker threads of one handle.
 */
#ifndef GST_POOL_H
#define GST_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine.h"
#include "firewall.h"
#include "plat.h"

struct GussetHandle;

enum gst__life {
    GST_WORKER_NONE, /* no thread */
    GST_WORKER_RUNNING,
    GST_WORKER_DEAD /* ends or ended inside a handler; to be replaced */
};

struct gst__worker {
    _Alignas(GST_CACHE_LINE) struct GussetHandle *handle;
    pthread_t thread;
    pthread_t predecessor; /* a dead worker that `thread` joins first */
    bool has_predecessor;
    uint32_t number;
    _Atomic uint32_t life; /* enum gst__life */
    bool default_stack;
    struct gst__altstack altstack;
    struct gst__firewall firewall;
    gse_call call; /* call.slot NULL: between units */
};

/*
 * Threads that have not ended, plus one for the closer; GST_POOL_ORPHANED
 * once the close budget has run out. Whoever counts it down to 0 frees the
 * handle.
 */
#define GST_POOL_ORPHANED (UINT32_C(1) << 31)

struct gst__pool {
    struct gst__worker *workers; /* counted memory */
    uint32_t size;
    _Atomic uint32_t holders;
    _Atomic uint32_t ready;  /* futex: threads that have set up, or failed */
    _Atomic uint32_t failed; /* of these, the failed ones */
    pthread_mutex_t repair;  /* one replacement of dead workers at a time */
};

/*
 * Starts the handle's workers and waits until each has set itself up. 0 or an
 * errno, and then no thread is left. The caller owns one hold.
 */
int gst__pool_start(struct GussetHandle *handle, uint32_t size);

/*
 * Replaces dead workers (gate bit GST_GATE_DEAD). 0, or an errno if one could
 * not be replaced: the next call tries again.
 */
int gst__pool_repair(struct GussetHandle *handle);

/*
 * After the gate's GST_GATE_CLOSING: wakes all workers, waits for their end,
 * at most budget_ns, and joins them. Returns how many still run; if any, the
 * handle is orphaned: the caller drops its hold with gst__pool_drop as its
 * last act.
 */
uint32_t gst__pool_stop(struct GussetHandle *handle, uint64_t budget_ns);

/* Drops a hold; the last one of an orphaned pool frees the handle. */
void gst__pool_drop(struct GussetHandle *handle);

/* Frees the memory; no thread is left. */
void gst__pool_destroy(struct gst__pool *pool);

#endif
