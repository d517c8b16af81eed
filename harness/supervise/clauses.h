/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * clauses.h - the clauses of docs/contract.md, which is part of the program.
 */
#ifndef SUPERVISE_CLAUSES_H
#define SUPERVISE_CLAUSES_H

#include <stdbool.h>
#include <stddef.h>

struct clause {
    char *id;    /* "i2.poison-latch" */
    char *level; /* "MUST", "SHOULD (hook)" ... as the contract has it */
    char *text;
};

/* All clauses in the contract's order; read once. */
const struct clause *clauses_all(size_t *count);
/* NULL when the contract has no such clause. */
const struct clause *clause_find(const char *id);
/* True unless the contract says SHOULD or MAY: an unknown clause binds. */
bool clause_binds(const char *id);

#endif /* SUPERVISE_CLAUSES_H */
