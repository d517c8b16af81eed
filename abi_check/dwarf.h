/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * dwarf.h - the four structs as the artifact's debug information has them.
 */
#ifndef ABI_CHECK_DWARF_H
#define ABI_CHECK_DWARF_H

#include "abi_check/findings.h"

/*
 * Reads the DWARF of a .so or of the members of a .a by libdw and compares
 * each definition of CallHeader, FfiStatus, AbiLayout and AllocStats, in each
 * compilation unit, with the frozen table: offsets, sizes and kinds by field
 * name; pointer-constness only where the unit's language is C or C++. Nothing
 * outside the file is searched for. Debug information that is absent, or that
 * describes none of the four, skips the check with a reason; a file that libdw
 * cannot read is a fault.
 */
void dwarf_check(const char *path, struct findings *found);

#endif /* ABI_CHECK_DWARF_H */
