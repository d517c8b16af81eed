/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * foreign.h - definitions in an artifact that are not its own business
 * [i6.no-foreign-symbols].
 */
#ifndef ABI_CHECK_FOREIGN_H
#define ABI_CHECK_FOREIGN_H

#include "abi_check/artifact.h"
#include "abi_check/findings.h"

/*
 * Faults: strong definitions of names in abi_check/libc-names, exported in a
 * .so, of any visibility in a .a (a hidden memcpy in an archive still replaces
 * the C library's for the program it is linked into). Notes, which fail
 * nothing: weak definitions of such names, compiler support routines, the
 * symbols that begin with engine_prefix (NULL: none declared), and other
 * strays (visible, neither ours nor the engine's), each kind with its objects.
 */
void foreign_check(const struct artifact *artifact, const char *engine_prefix,
                   struct findings *found);

/* Fault: no visible symbol begins with engine_prefix, which is declared. */
void foreign_check_engine(const struct artifact *artifact,
                          const char *engine_prefix, struct findings *found);

#endif /* ABI_CHECK_FOREIGN_H */
