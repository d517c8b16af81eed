/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * level.h - what a certificate is about: `core` are the sections I1 to I6, L
 * and A without what needs an engine, a fault or a hook; `hardened` adds those
 * and section H, the Go host; `certified` adds the matrix.
 */
#ifndef SUPERVISE_LEVEL_H
#define SUPERVISE_LEVEL_H

#include <stdbool.h>

#include "clauses.h"
#include "manifest.h"

enum level { LEVEL_CORE, LEVEL_HARDENED, LEVEL_CERTIFIED, LEVEL_COUNT };

/* "core", "hardened", "certified". */
const char *level_word(enum level level);
/* False when there is no such level. */
bool level_read(const char *word, enum level *level);

/* True when the level asks for the clause. */
bool level_asks(enum level level, const struct clause *clause);

/*
 * True when the level runs the case: its first clause is asked for, or is not
 * in the contract at all, and the case needs nothing that core goes without.
 */
bool level_runs(enum level level, const struct case_info *info);

#endif /* SUPERVISE_LEVEL_H */
