/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * result.h - one run of one case: what was seen, and what was made of it.
 * Strings are owned, valid UTF-8 without control characters, or NULL.
 */
#ifndef SUPERVISE_RESULT_H
#define SUPERVISE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "verdict.h"

struct result {
    enum verdict verdict;
    char *reason; /* one line; NULL only for a plain PASS */
    uint64_t seed;
    unsigned round; /* from 0 */
    double seconds;
    /* What the case recorded. */
    uint64_t checks;
    char *expression, *expected, *actual, *message, *file;
    unsigned line;
    char *marker;
    char *evidence; /* "KEY\tVALUE\n" lines */
    /* What the supervisor saw. */
    char *ending;      /* "exit 0", "killed by SIGSEGV (...)", "still ran" */
    char *differences; /* of the census and left-over processes, in lines */
    char *output;      /* of the process; the middle is cut from a long one */
    uint64_t output_bytes; /* all it wrote */
    char *stacks;          /* of a hang */
};

void result_free(struct result *result);

#endif /* SUPERVISE_RESULT_H */
