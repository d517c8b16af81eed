/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* image.h - which image of this process holds the library's code. */
#ifndef RAW_IMAGE_H
#define RAW_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* The address of the library's gusset_abi_layout. */
uintptr_t image_address(void);

/*
 * Writes the build id of the image that holds the address, hexadecimal and
 * cut to fit, or "none". Returns 0 when no image does.
 */
int image_build_id(uintptr_t address, char *hex, size_t cap);

#endif /* RAW_IMAGE_H */
