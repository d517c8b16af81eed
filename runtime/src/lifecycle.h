/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * lifecycle.h - what is process-wide: the shutdown epoch, the list of
 * handles, and fork.
 */
#ifndef GST_LIFECYCLE_H
#define GST_LIFECYCLE_H

#include <stdbool.h>
#include <stdint.h>

#include "export.h"
#include "sync.h"

/* Even: armed. Odd: shut down. Only gusset_init and shutdown change it. */
extern _Atomic uint64_t gst__epoch;

/* Forks of this process image, counted in each child. */
extern _Atomic uint32_t gst__forks;

int32_t gst__lifecycle_init(void);
int32_t gst__lifecycle_shutdown(uint32_t drain_ms);

/*
 * One hold per open handle on what handles share (fork handlers, thread key);
 * the last release lets go of the key. 0 or an errno.
 */
int gst__lifecycle_hold(void);
void gst__lifecycle_release(void);

/* Adds the handle to the list, takes it out. */
void gst__lifecycle_add(GussetHandle *handle);
void gst__lifecycle_remove(GussetHandle *handle);

/*
 * Submit, before anything is queued: counts one unit in flight. False: the
 * process is shut down and nothing was counted. *epoch is for the job.
 */
bool gst__lifecycle_enter(GussetHandle *handle, uint64_t *epoch);

/* The unit was delivered, given up, or not accepted after all. */
void gst__lifecycle_leave(GussetHandle *handle);

#endif
