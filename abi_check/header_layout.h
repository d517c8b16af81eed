/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * header_layout.h - gusset.h as the compiler of this program saw it.
 *
 * header_layout.c is compiled once against the true header, and for
 * abi_check/bad against wrong ones, each time with HEADER_LAYOUT defined as
 * the name of the table.
 */
#ifndef ABI_CHECK_HEADER_LAYOUT_H
#define ABI_CHECK_HEADER_LAYOUT_H

#include "abi_check/frozen.h"
#include "abi_check/layout.h"

/*
 * Structs, fields and constants by the compiler's sizeof, offsetof, _Alignof
 * and _Generic. A C compiler cannot list the fields that it was not asked
 * for: a field that the contract does not know shows as a wrong size.
 */
struct header_layout {
    struct layout layout;
    struct abi_constant constants[FROZEN_CONSTANTS];
};

extern const struct header_layout header_layout;

/* The constants of a header against the frozen ones, name by name. */
void header_constants_compare(const struct header_layout *header,
                              struct findings *found);

#endif /* ABI_CHECK_HEADER_LAYOUT_H */
