/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * artifact.h - what the file under judgement is: read by libelf, never
 * loaded.
 */
#ifndef SUPERVISE_ARTIFACT_H
#define SUPERVISE_ARTIFACT_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "text.h"

/* What a file cannot keep when it is replaced or written to. */
struct file_mark {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec written, changed;
};
/* False with errno when there is no such file. */
bool file_mark(const char *path, struct file_mark *mark);
bool file_mark_same(const struct file_mark *left,
                    const struct file_mark *right);

enum artifact_kind { ARTIFACT_SHARED, ARTIFACT_ARCHIVE };

struct artifact {
    char *path; /* absolute */
    char *name; /* the last part of path */
    enum artifact_kind kind;
    char sha256[65];
    struct file_mark mark; /* taken before anything was read */
    unsigned long long bytes;
    char *build_id;   /* hexadecimal; NULL when it has none */
    char *soname;     /* NULL when it has none */
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

/*
 * What artifact_read needs of any library, gusset's or not: quits with
 * EXIT_USAGE as it does. The strings in facts are the caller's.
 */
struct elf_facts;
void artifact_facts(struct elf_facts *facts, const char *path);

/* "shared" or "static". */
const char *artifact_kind_word(const struct artifact *artifact);

/* SHA-256 of a file, in hexadecimal. False with errno when unreadable. */
bool file_sha256(const char *path, char hex[65]);

/*
 * True when the file is still byte for byte the one that was read, and was not
 * another in between: it was neither replaced nor written to.
 */
bool artifact_unchanged(const struct artifact *artifact);

#endif /* SUPERVISE_ARTIFACT_H */
