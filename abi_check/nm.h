/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * nm.h - a second opinion on an artifact's symbols, by another program.
 */
#ifndef ABI_CHECK_NM_H
#define ABI_CHECK_NM_H

#include <stdbool.h>
#include <stddef.h>

#include "abi_check/artifact.h"
#include "abi_check/findings.h"

/*
 * The nm in use: the environment's NM, else `nm` of PATH, as an absolute
 * path. False: there is none, path holds the name that was looked for.
 */
bool nm_path(char *path, size_t size);

/*
 * Runs nm on path (which must not begin with a dash) and compares its list of
 * defined global symbols with the artifact's, as multisets of names with
 * binding, and FUNC against nm's T for names that begin with gusset_. A
 * difference is a fault that names both sides. So is an nm that fails,
 * complains on standard error (that a member has no symbols is no complaint),
 * prints a line that cannot be read, or prints nothing. An nm that cannot be
 * started breaks the check.
 */
void nm_compare(const char *nm, const char *path,
                const struct artifact *artifact, struct findings *found);

#endif /* ABI_CHECK_NM_H */
