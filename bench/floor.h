/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a round trip between two threads costs without any library: the floor
 * (a value bounced between two polled cache lines: two line transfers) and
 * the common alternative (a mutex and a condition variable).
 */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include <stdint.h>

struct bench_floor;

/* Starts the two partner threads on partner_cpu. They sleep when idle. */
struct bench_floor *bench_floor_start(int partner_cpu);

/*
 * The polling partner polls only between begin and end, so that it takes no
 * CPU from another subject.
 */
void bench_floor_begin(struct bench_floor *floor);
void bench_floor_end(struct bench_floor *floor);

/* Makes count round trips with the polling partner, inside a session. */
void bench_floor_cache_line(struct bench_floor *floor, uint64_t count);

/* Makes count round trips with the partner behind the condition variable. */
void bench_floor_condvar(struct bench_floor *floor, uint64_t count);

/* Ends and joins the partners. */
void bench_floor_stop(struct bench_floor *floor);

#endif
