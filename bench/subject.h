/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The library as a bench drives it: one handle, one worker, one ring whose
 * reader is the calling thread. Only gusset.h is used. Any failure ends the
 * program with one line and exit code 1: a bench has nothing to recover.
 */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include <stdint.h>

#include "gusset.h"

#define BENCH_CACHE_LINE 64

struct bench_subject {
    GussetHandle *handle;
    const GussetRing *ring;
    uint8_t *shared;
    uint8_t *slots;
    uint64_t capacity;
    uint64_t position;
    int pipe_read;
};

/* A completion record as it lies in the ring. */
struct bench_record {
    uint64_t words[GUSSET_INLINE_RECORD_MAX / 8];
};

/* Prints "bench: " and the text to stderr and exits with code 1. */
_Noreturn void bench_die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/*
 * The two CPUs a bench pins its two threads to, from the CPUs this process
 * may use. Returns 0, or -1 when there is only one.
 */
int bench_pick_cpus(int *host_cpu, int *partner_cpu);

/* Pins the calling thread; a thread it starts later inherits the CPU. */
void bench_pin(int cpu);

/*
 * Opens a handle with a ring attached, and pins its one worker to worker_cpu
 * and the calling thread, the only one of the process so far, to host_cpu.
 */
void bench_open(struct bench_subject *subject, int host_cpu, int worker_cpu);

/* Closes the handle and gives the ring back; FFI_OK or the end. */
void bench_close(struct bench_subject *subject);

/* Submits len bytes to the diagnostic engine, inline completion allowed. */
uint64_t bench_submit(struct bench_subject *subject, const uint8_t *input,
                      size_t len);

/* Returns non-zero when the next record can be read. Never blocks. */
int bench_ready(const struct bench_subject *subject);

/*
 * Copies the next record, frees its slot, moves on. Only after bench_ready.
 * Its own function, so that a profiler can count it by name.
 */
void bench_take_record(struct bench_subject *subject,
                       struct bench_record *record);

/* One echo of 8 bytes: submit, poll the ring, check the inline record. */
void bench_round_trip(struct bench_subject *subject);

/*
 * Two units at once, giving the CPU away while it waits. Where threads run one
 * at a time the worker is always asleep by the next submit, so the first
 * submit wakes it, and the second, bench_counted_submit, finds it on its way
 * as every submit of the steady state does.
 */
void bench_pair(struct bench_subject *subject);
uint64_t bench_counted_submit(struct bench_subject *subject,
                              const uint8_t *input, size_t len);

/* Tells the CPU that this is a polling loop. */
void bench_pause(void);

#endif
