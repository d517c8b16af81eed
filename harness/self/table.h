/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * table.h - what the supervisor must say of each case of conform-self: this
 * verdict, and a report that contains all these words.
 */
#ifndef SELF_TABLE_H
#define SELF_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "../supervise/verdict.h"

enum { SELF_WORDS = 6 };

struct self_row {
    const char *id;
    enum verdict verdict;
    const char *words[SELF_WORDS]; /* NULL from the first unused on */
    /* A function that the stacks must show, where they can be taken. */
    const char *stack;
    /* Waits for seconds: only `self` runs it, not every `run`. */
    bool slow;
    /* The case is in Go: left out where no program in Go is built. */
    bool go;
};

extern const struct self_row self_table[];
extern const size_t self_rows;

/* The case whose verdict depends on its seed: two rounds make it FLAKY. */
#define SELF_FLAKY "flaky.by-seed"

#endif /* SELF_TABLE_H */
