/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * t.h - what every unit test program shares. A program is one test_*.c that
 * defines t_suite; t.c supplies main, which runs it in Check's fork mode and
 * ends with `N passed, N failed, N skipped`.
 */
#ifndef T_H
#define T_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"

/* Seconds that any one test may take before it counts as failed. */
#define T_TIMEOUT 120

Suite *t_suite(void);

/* A case of the suite with the common time limit. */
TCase *t_case(Suite *suite, const char *name);

/* The seed of this run: T_SEED of the environment, or a fixed one. */
uint64_t t_seed(void);

/* A small pseudo-random sequence; state must not be 0. */
uint64_t t_random(uint64_t *state);

/* A value below bound. */
uint64_t t_below(uint64_t *state, uint64_t bound);

/*
 * Runs main(argument, i) on `count` threads, i = 0.., that start together,
 * and joins them. Threads must not use Check's macros: they report through
 * what argument points to.
 */
void t_threads(unsigned count, void (*main)(void *argument, unsigned i),
               void *argument);

/* What the process holds now. */
struct t_census {
    unsigned threads;
    unsigned descriptors;
    uint64_t mapped; /* bytes outside the heap */
    uint64_t live;   /* gusset_alloc_stats */
};
struct t_census t_census_take(void);

/*
 * The same before a test opens anything: only the calling thread is left. A
 * thread that was joined may stay visible for a moment, so it waits for up to
 * 5 s, and then fails the test.
 */
struct t_census t_census_baseline(void);

/*
 * Fails the test unless threads, descriptors and live bytes are as in before
 * and mapped bytes not above it. A joined thread may stay visible for a
 * moment, so it looks again for up to 5 s.
 */
void t_census_expect(struct t_census before, const char *when);

/* A pipe whose ends are not inherited. */
struct t_pipe {
    int read_end;
    int write_end;
};
struct t_pipe t_pipe_new(void);

/* Closes the read end, and the write end unless a handle owns it. */
void t_pipe_drop(struct t_pipe *pipe, bool write_end_too);

/*
 * Reads the next completion's first word from the pipe, skipping tokens and
 * the rest of an inline record. 0: end of file. Fails the test after 60 s.
 */
uint64_t t_pipe_ticket(const struct t_pipe *pipe);

/* Opens a handle that owns the write end; fails the test otherwise. */
GussetHandle *t_open(const struct t_pipe *pipe, uint32_t pool);

/* Closes it; fails the test unless FFI_OK. */
void t_close(GussetHandle *handle);

/* Submits to the diagnostic engine without inline completion. */
uint64_t t_submit(GussetHandle *handle, const void *input, size_t len);

/* Fails the test unless the message of status contains text. */
void t_expect_text(const FfiStatus *status, const char *text);

#endif
