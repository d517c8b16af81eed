/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * manifest.h - which cases there are, asked of the case programs themselves.
 */
#ifndef SUPERVISE_MANIFEST_H
#define SUPERVISE_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>

#include "text.h"

/* Tags of a case, as harness/include/conform.h has them. */
#define CASE_ALONE 1u
#define CASE_SLEEPS 2u
#define CASE_COLD 4u
#define CASE_NO_CENSUS 8u
#define CASE_ONCE 16u /* judges gusset.h, whatever the artifacts */

/*
 * A program to execute, or a folder of Go sources with a MANIFEST_NAME, which
 * is built for each artifact.
 */
struct case_program {
    char *path;
    char *name; /* the last part of path */
    bool go;    /* a folder */
};
#define MANIFEST_NAME "manifest.jsonl"

struct case_info {
    char *id;
    struct strings clauses; /* the first is blamed */
    char *why, *steps, *expected, *mutant, *marker, *file, *transport;
    struct strings needs;
    unsigned tags;
    unsigned timeout_ms;
    int dies_by; /* 0: it lives */
    int line;    /* 0: unknown */
    const struct case_program *program;
    json_t *declared; /* the line as it was read */
};

struct manifest {
    struct case_program *programs;
    size_t program_count;
    struct case_info *cases; /* in the programs' order */
    size_t count;
};

/*
 * Asks each program for its cases, and reads the manifest of a folder. Quits
 * with EXIT_OUR_BUG when a program is missing, fails, says something else than
 * cases, or two cases share an id.
 */
void manifest_read(struct manifest *manifest, const struct strings *programs);
/* How many bytes of the id come before its transport. */
size_t case_base(const struct case_info *info);
/* Adds "FILE:LINE" of its declaration, as far as it is known. */
void case_place(const struct case_info *info, struct text *text);
const struct case_info *manifest_find(const struct manifest *manifest,
                                      const char *id);

#endif /* SUPERVISE_MANIFEST_H */
