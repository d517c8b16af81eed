/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * proofs.h - which cases are known to be able to fail.
 *
 * docs/data/kills.tsv, which is part of the program, names for each case the
 * seeded faults that it found: "CASE<TAB>MUTANT MUTANT ...", sorted by CASE,
 * which is an id without its transport. A case that never found one may be one
 * that cannot fail: its PASS is reported, but counts for nothing.
 */
#ifndef SUPERVISE_PROOFS_H
#define SUPERVISE_PROOFS_H

#include <stdbool.h>

#include "manifest.h"

/*
 * Reads the built-in table, then one more from `path` unless it is NULL. Quits
 * with EXIT_OUR_BUG and the line when the built-in one is not as above, with
 * EXIT_USAGE when another is not. May be called once for each file.
 */
void proofs_read(const char *path);

/* True when the case has found a seeded fault; reads the built-in table. */
bool proofs_have(const struct case_info *info);

/*
 * Adds a line for each case of the built-in table that the manifest does not
 * have. Returns how many there are.
 */
size_t proofs_unknown(const struct manifest *manifest, struct text *names);

#endif /* SUPERVISE_PROOFS_H */
