/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * subject.h - an artifact under judgement together with the programs that
 * run cases against it.
 */
#ifndef SUPERVISE_SUBJECT_H
#define SUPERVISE_SUBJECT_H

#include "artifact.h"
#include "manifest.h"

struct subject {
    struct artifact artifact;
    bool has_artifact; /* false for the self-test, which needs none */
    const char *label; /* "libgusset.so", for reports */
    const char *given; /* the path to name in commands; NULL: no --impl */
    /* For each program of the manifest the file to execute. */
    const char **programs;
    char *link_line; /* how the archive was linked, or NULL */
};

/*
 * Links an archive into each program that has link parts beside it: cc -o
 * CACHE/NAME-HASH LIB/NAME.o LIB/subject_linked.o IMPL.a
 * LIB/libconform_engine_absent.a FLAGS, with FLAGS from
 * LIB/conform-link.flags; LIB is ../lib seen from the program. Cached by the
 * hash of all inputs. needed[i] tells whether program i runs at all. Quits
 * with EXIT_NOT_CONFORMING and the linker's words when it does not link.
 */
void subject_prepare(struct subject *subject, const struct manifest *manifest,
                     const bool *needed, const char *cache);

/* The program to execute for a case. */
const char *subject_program(const struct subject *subject,
                            const struct manifest *manifest,
                            const struct case_info *info);

#endif /* SUPERVISE_SUBJECT_H */
