/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * subject.h - an artifact under judgement together with the programs that
 * run cases against it.
 */
#ifndef SUPERVISE_SUBJECT_H
#define SUPERVISE_SUBJECT_H

#include "artifact.h"
#include "go_tool.h"
#include "manifest.h"
#include "verdict.h"

/* A file of --test-engine. */
struct test_engine {
    char *path; /* absolute */
    enum artifact_kind kind;
    char sha256[65];
};

/* A program that holds the archive; all zero: none was linked. */
struct linked {
    const char *path;
    char *build_id; /* or NULL */
    char sha256[65];
    struct file_mark mark;
};

/* Why the cases of a program cannot run; all zero: they can. */
struct unavailable {
    enum verdict verdict; /* OUT-OF-REACH or BROKEN, of each of them */
    char *reason;         /* one line, or NULL */
    char *output;         /* what a compiler said, or NULL */
};

/* What programs are prepared with. */
struct preparation {
    const char *cache;        /* absolute */
    const struct go_tool *go; /* NULL only where no program needs it */
};

struct subject {
    struct artifact artifact;
    bool has_artifact; /* false for the self-test, which needs none */
    const char *label; /* "libgusset.so", for reports */
    const char *given; /* the path to name in commands; NULL: no --impl */
    const struct test_engine *test_engine; /* of --test-engine, or NULL */
    /* For each program of the manifest the file to execute. */
    const char **programs;
    struct linked *linked;
    struct unavailable *unavailable;
    size_t program_count; /* of all three */
    /* The header's own turn: cases of the tag `once`, and no artifact. */
    bool is_header;
    const char *header;       /* absolute; NULL: the one built into the cases */
    char header_sha256[65];   /* empty without a file */
    char *link_line;          /* how the archive was linked, or NULL */
    const struct go_tool *go; /* that builds programs in Go, or NULL: none */
    char *go_line;            /* how the last one was built, or NULL */
    size_t images;  /* that cases said they ran, and that could be compared */
    char *stranger; /* the first that was another, in words, or NULL */
};

/*
 * Links an archive into each program that has link parts beside it: cc -o
 * CACHE/NAME-HASH LIB/NAME.o LIB/subject_linked.o [TEST-ENGINE.a] IMPL.a
 * LIB/libconform_test_engine.a LIB/libconform_engine_absent.a FLAGS, with FLAGS
 * from LIB/conform-link.flags; LIB is ../lib seen from the program. Cached by
 * the hash of all inputs. needed[i] tells whether program i runs at all. Quits
 * with EXIT_NOT_CONFORMING and the linker's words when it does not link. A
 * program in Go is built by go_program_build; one that cannot be is
 * unavailable.
 */
void subject_prepare(struct subject *subject, const struct manifest *manifest,
                     const bool *needed, const struct preparation *preparation);

/*
 * Makes the subject of the cases that judge gusset.h: the file at `path`, or
 * NULL for the one built into the case programs. They find it in the
 * environment, CONFORM_HEADER. Quits with EXIT_USAGE when it cannot be read.
 */
void subject_header(struct subject *subject, const char *path);
/* False when the file is another by now. */
bool subject_header_unchanged(const struct subject *subject);

/* The build id of the image that a case must run, or NULL: unknown. */
const char *subject_build_id(const struct subject *subject,
                             const struct manifest *manifest,
                             const struct case_info *info);

/* The program to execute for a case. */
const char *subject_program(const struct subject *subject,
                            const struct manifest *manifest,
                            const struct case_info *info);

/* Why there is no such program, or NULL: there is. */
const struct unavailable *subject_unavailable(const struct subject *subject,
                                              const struct manifest *manifest,
                                              const struct case_info *info);

#endif /* SUPERVISE_SUBJECT_H */
