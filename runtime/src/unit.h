/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * unit.h - the life of one unit of work on a worker: check, run the handler
 * behind the firewall, judge what came out, deliver the completion.
 */
#ifndef GST_UNIT_H
#define GST_UNIT_H

#include <stdint.h>

#include "engine.h"

struct gst__worker;

/* Runs the unit in slot `index` to its end. */
void gst__unit_run(struct gst__worker *worker, uint32_t index);

/* Ends a queued unit as cancelled without running it (no worker is left). */
void gst__unit_abandon(struct GussetHandle *handle, uint32_t index);

/* Ends the unit of a worker that dies inside its handler, as a panic. */
void gst__unit_died(struct gst__worker *worker);

#endif
