/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * header.h - compiles gusset.h the way hosts do [i6.header-compiles].
 */
#ifndef ABI_CHECK_HEADER_H
#define ABI_CHECK_HEADER_H

#include <stdbool.h>

#include "abi_check/findings.h"

/*
 * Compiles `text` (a header under the name gusset.h) with one compiler and
 * one dialect ("c99" ... "c++20"), warnings being errors, into nothing:
 *   alone     the header and nothing else
 *   twice     included two times
 *   posix     after every POSIX header that this system has, with
 *             _XOPEN_SOURCE 700
 *   gnu       the same with _GNU_SOURCE and the old macros unix and linux;
 *             in C++, whose compilers always define _GNU_SOURCE, only this one
 *   contract  the header, then the 17 prototypes of docs/contract.md, its
 *             sizes, offsets and constants as compile-time assertions
 * The first that fails is a fault with its name and the compiler's first
 * lines; the later ones, which would mostly repeat it, are left out. A
 * compiler that is not installed, does not know the dialect, or is not silent
 * on the same without gusset.h, skips the check with a reason. Files are made
 * in a folder below TMPDIR (/tmp), removed before the return. Needs no
 * checkout.
 */
void header_check(const char *text, const char *compiler, const char *dialect,
                  struct findings *found);

/* True when at least one of gcc and clang is installed. */
bool header_any_compiler(void);

#endif /* ABI_CHECK_HEADER_H */
