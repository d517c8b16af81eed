/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * go_tool.h - the Go toolchain that builds the case programs written in Go.
 * Nothing is ever downloaded: neither modules nor another toolchain.
 */
#ifndef SUPERVISE_GO_TOOL_H
#define SUPERVISE_GO_TOOL_H

#include "options.h"

struct go_tool {
    const char *command; /* "go", or what GO in the environment names */
    char *version;       /* "go1.26.8", or NULL */
    char *missing;   /* NULL, or why no program can be built: "needs Go ..." */
    char *package;   /* absolute: the folder of the package gusset to judge */
    char sha256[65]; /* over its sources; empty when none can be built */
};

/*
 * Looks for Go as the options say: --go and --go-package, GO in the
 * environment, PATH. Quits with EXIT_USAGE for a GO or a package that is none,
 * with EXIT_INCONCLUSIVE when --go=require finds nothing that can build.
 */
void go_tool_find(struct go_tool *go, const struct options *options);

/*
 * Adds the words that run Go so: env, settings, the command. cgo_ldflags is a
 * word of CGO_LDFLAGS before the user's own, or NULL.
 */
void go_tool_words(const struct go_tool *go, const char *cgo_ldflags,
                   struct strings *words);

#endif /* SUPERVISE_GO_TOOL_H */
