/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * artifact.h - what the file under judgement is: read by libelf, never
 * loaded.
 */
#ifndef SUPERVISE_ARTIFACT_H
#define SUPERVISE_ARTIFACT_H

#include <stdbool.h>

#include "text.h"

enum artifact_kind { ARTIFACT_SHARED, ARTIFACT_ARCHIVE };

struct artifact {
    char *path; /* absolute */
    char *name; /* the last part of path */
    enum artifact_kind kind;
    char sha256[65];
    unsigned long long bytes;
    char *build_id;   /* hexadecimal; NULL when it has none */
    char *machine;    /* "x86-64" */
    const char *libc; /* "glibc", "musl", "unknown" */
    struct strings
        exports; /* defined, visible, global: gusset_ names, sorted */
    struct strings missing; /* of the 17 */
    struct strings strays;  /* gusset_ names beyond the 17 */
};

/*
 * Reads the file. Quits with one line: EXIT_USAGE for what can be no artifact
 * here (missing, no regular file, empty, neither shared object nor archive, a
 * program, an object file, compiler bitcode, another machine), and
 * EXIT_NOT_CONFORMING with clause i6.exports-exact for a library that has none
 * of the 17 functions.
 */
void artifact_read(struct artifact *artifact, const char *path);

/* "shared" or "static". */
const char *artifact_kind_word(const struct artifact *artifact);

/* SHA-256 of a file, in hexadecimal. False with errno when unreadable. */
bool file_sha256(const char *path, char hex[65]);

/* True when the file is still byte for byte the one that was read. */
bool artifact_unchanged(const struct artifact *artifact);

#endif /* SUPERVISE_ARTIFACT_H */
