/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * refuse.h - what the tables of abi-check-bad share.
 */
#ifndef ABI_CHECK_BAD_REFUSE_H
#define ABI_CHECK_BAD_REFUSE_H

#include <stddef.h>

#include "abi_check/findings.h"

/* What a check must make of an input. */
enum expectation { PASSES, REFUSED, SKIPPED, LACKING, BROKEN };

/*
 * Compares what was found with what was expected, prints the row, counts it
 * and frees the findings. words (NULL: any) must stand in the first fault, the
 * reason of a skip or a break, or the notes of a pass. A compiler that is not
 * installed skips the row.
 */
void refuse_judge(const char *check, const char *input,
                  enum expectation expected, const char *words,
                  struct findings *found);

/* Counts a row that cannot be judged on this machine. */
void refuse_skip(const char *check, const char *input, const char *reason);

/* The path of an input of that name; one that begins with a slash stays as it
 * is. */
const char *refuse_path(const char *name, char *path, size_t size);

/* The tables: artifacts.c, layouts.c, headers.c, hardened.c. */
void refuse_artifacts(void);
void refuse_layouts(void);
void refuse_headers(void);
void refuse_hardened(void);

#endif /* ABI_CHECK_BAD_REFUSE_H */
