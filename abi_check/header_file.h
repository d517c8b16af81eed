/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * header_file.h - which gusset.h is judged, and what a compiler makes of its
 * structs and constants.
 */
#ifndef ABI_CHECK_HEADER_FILE_H
#define ABI_CHECK_HEADER_FILE_H

#include "abi_check/findings.h"
#include "abi_check/header_layout.h"

/*
 * The text of the file that the environment's CONFORM_HEADER names, zero
 * terminated, to be freed; without that variable a copy of the gusset.h that
 * this program was built with. NULL: it cannot be read, or holds a zero byte,
 * and that is a fault.
 */
char *header_file_text(struct findings *found);

/* True when CONFORM_HEADER names one. */
bool header_file_is_given(void);

/* "FILE" or "the built-in gusset.h", for evidence. Lives for ever. */
const char *header_file_name(void);

/*
 * Compiles header_layout.c against `text` with the C compiler (CC of the
 * environment, or cc, gcc, clang) and shows the table to `judge`. A header
 * with which it does not compile (a struct, field or constant is missing) is a
 * fault with the compiler's words. Lacking: no C compiler. Files are made in a
 * folder below TMPDIR, removed before the return.
 */
void header_file_layout(const char *text,
                        void (*judge)(const struct header_layout *,
                                      struct findings *),
                        struct findings *found);

#endif /* ABI_CHECK_HEADER_FILE_H */
