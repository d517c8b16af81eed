/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * links.h - links the artifact beside code of others and runs the program
 * [a.links-with-others].
 */
#ifndef ABI_CHECK_LINKS_H
#define ABI_CHECK_LINKS_H

#include <stdbool.h>

#include "abi_check/artifact.h"
#include "abi_check/findings.h"

/*
 * Compiles the sources of abi_check/others in a folder below TMPDIR (removed
 * before the return) and links them with the artifact, once with the artifact
 * before the others and once behind them, by the C++ compiler, without
 * --allow-multiple-definition; then runs both programs. What does not link,
 * does not end with 0 or says BROKEN is a fault with the words of the link
 * editor or the program. with_rust: beside a Rust staticlib as well.
 * own_engine: the artifact registers an engine by itself, so a job is one with
 * an opcode that nobody registers. Lacking: no C compiler, archiver, C++
 * compiler (CC, AR, CXX of the environment or the usual names) or rustc, each
 * by name. Needs no checkout.
 */
void links_check(const char *artifact, enum artifact_kind kind, bool with_rust,
                 bool own_engine, struct findings *found);

#endif /* ABI_CHECK_LINKS_H */
