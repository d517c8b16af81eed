/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the steady program and the tracer that counts its system calls share:
 * a page that says which window is open. Opening a window is a store, not a
 * call: a call would stop the program for the tracer, and the worker, left
 * alone for that long, would go to sleep.
 */
#ifndef BENCH_WINDOWS_H
#define BENCH_WINDOWS_H

#include <stdatomic.h>
#include <stdint.h>

/* System calls that the host control window makes, exactly. */
#define BENCH_HOST_CONTROL_CALLS 7

/* Round trips in one steady window, and quiet windows that are enough. */
#define BENCH_STEADY_ROUND_TRIPS 1000
#define BENCH_QUIET_WANTED 50

/* Window 0: none is open. Steady windows come after the two controls, which
 * prove that the tracer sees both threads. */
#define BENCH_HOST_CONTROL 1
#define BENCH_WORKER_CONTROL 2
#define BENCH_FIRST_STEADY 3
#define BENCH_WINDOWS 4096

struct bench_windows {
    _Atomic uint32_t open;
    _Atomic uint32_t finished; /* steady windows that have ended */
    /* System calls while the window was open, by the tracer. */
    _Atomic uint32_t host_calls[BENCH_WINDOWS];
    _Atomic uint32_t other_calls[BENCH_WINDOWS];
};

/* Where the tracer hands the page over to the program. */
#define BENCH_WINDOWS_ENV "BENCH_WINDOWS_FD"

#endif
