/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * go_program.h - a case program in Go, built for one artifact.
 *
 * Its manifest, manifest.jsonl beside the sources, is what the program prints
 * for --list, so that its cases are known, and can be called out of reach by
 * name, where there is no Go.
 */
#ifndef SUPERVISE_GO_PROGRAM_H
#define SUPERVISE_GO_PROGRAM_H

#include "go_tool.h"
#include "manifest.h"

struct artifact;

/* What became of a build. */
struct go_program {
    char *path;   /* to execute; NULL: there is none, and `reason` says why */
    char *line;   /* the commands by which it was built */
    char *reason; /* one line */
    char *said;   /* all that the compiler said, or NULL */
};

/*
 * Builds CACHE/go-NAME-HASH/go-NAME from the folder of program, cached by the
 * hash of artifact, sources, toolchain and settings. -lgusset is the artifact
 * (none for NULL) and nothing else: the folder's lib/ holds links to it under
 * the names that linker and loader look for. Quits with EXIT_OUR_BUG when the
 * program lists other cases than its manifest.
 */
void go_program_build(struct go_program *built, const struct go_tool *go,
                      const struct case_program *program,
                      const struct artifact *artifact, const char *cache);

#endif /* SUPERVISE_GO_PROGRAM_H */
