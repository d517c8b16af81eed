/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORM_UTF8_H
#define CONFORM_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The offset of the first byte that is not part of valid UTF-8, or len. */
size_t utf8_first_invalid(const uint8_t *bytes, size_t len);

#endif /* CONFORM_UTF8_H */
