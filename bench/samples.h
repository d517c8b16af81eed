/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A series of timed batches: one value per batch, nanoseconds per round trip.
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stddef.h>
#include <stdio.h>

struct bench_samples {
    const char *name;
    size_t batch; /* round trips per value */
    size_t count;
    size_t capacity;
    double *values;
};

/* Makes room for capacity values; ends the program for lack of memory. */
void bench_samples_init(struct bench_samples *samples, const char *name,
                        size_t batch, size_t capacity);
void bench_samples_free(struct bench_samples *samples);

/* Adds a value; the series must have room. */
void bench_samples_add(struct bench_samples *samples, double value);

/* The value at fraction (0..1) of the sorted series; sorts a copy. */
double bench_samples_quantile(const struct bench_samples *samples,
                              double fraction);

/* Monotonic time in nanoseconds. */
double bench_now(void);

/* Writes {"name": ..., "batch": ..., "ns_per_round_trip": [...]}. */
void bench_samples_json(const struct bench_samples *samples, FILE *out);

/* Writes the machine and toolchain as members of a JSON object. */
void bench_machine_json(FILE *out);

/* Prints the same in two lines for people. */
void bench_machine_print(FILE *out);

#endif
