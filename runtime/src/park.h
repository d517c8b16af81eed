/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * park.h - how idle workers wait, so that no unit waits beside one
 * [i4.no-lost-wakeup] and no wake-up call is made while one polls.
 *
 * Poller: an awake worker that looks for work, counted in pollers, or a woken
 * one on its way to that (its waker counts it). A poller answers for every
 * unit that was pushed while it was counted: when it stops being one because
 * it found work, it wakes another if more is there; when it gives up, it
 * announces itself as a sleeper and looks once more.
 *
 * The steps, all sequentially consistent:
 *   submitter  push; gst__park_wake
 *   worker     pop until empty; if gst__park_poll_begin: pop for a while,
 *              gst__park_poll_end;
 *              found: if the queue is ready, gst__park_wake
 *              else:  gst__park_announce; pop once more;
 *                     found: gst__park_retract; as above
 *                     else:  gst__park_sleep, which returns as a poller
 */
#ifndef GST_PARK_H
#define GST_PARK_H

#include <stdbool.h>
#include <stdint.h>

#include "sync.h"

struct gst__park {
    _Alignas(GST_CACHE_LINE) _Atomic uint32_t pollers;
    _Atomic uint32_t sleepers; /* announced and not awake yet */
    _Atomic uint32_t grants;   /* futex: poller roles given, not yet taken */
    uint32_t max_pollers;      /* not counting granted ones */
};

void gst__park_init(struct gst__park *park, uint32_t max_pollers);

/* If nobody polls and somebody sleeps, one sleeper becomes a poller. */
void gst__park_wake(struct gst__park *park);

/* False: enough workers poll already; go to sleep. */
bool gst__park_poll_begin(struct gst__park *park);
void gst__park_poll_end(struct gst__park *park);

void gst__park_announce(struct gst__park *park);
void gst__park_retract(struct gst__park *park);

/* Blocks until granted the poller's role; ends the announcement. */
void gst__park_sleep(struct gst__park *park);

/* Wakes all of at most `workers` sleepers, now and later, for good. */
void gst__park_stop(struct gst__park *park, uint32_t workers);

#endif
