/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* go_sources.h - a module of Go sources, as far as a build reads it. */
#ifndef SUPERVISE_GO_SOURCES_H
#define SUPERVISE_GO_SOURCES_H

#include <sodium.h>

#include "text.h"

/*
 * Feeds names and contents of all files of the folder, and of the folders in
 * it that are no modules of their own, into the hash; tests and what begins
 * with a dot or an underscore left out. Quits with EXIT_INCONCLUSIVE when one
 * cannot be read.
 */
void go_sources_hash(crypto_hash_sha256_state *state, const char *folder);

/*
 * The folder at or above `folder` that has a go.mod; caller frees. Quits with
 * EXIT_USAGE when none has.
 */
char *go_sources_root(const char *folder);

/*
 * Writes root's go.mod to `path`, with package gusset taken from the folder
 * `package`. Quits with EXIT_INCONCLUSIVE when that is not to be done.
 */
void go_sources_module(const char *root, const char *package, const char *path);

#endif /* SUPERVISE_GO_SOURCES_H */
