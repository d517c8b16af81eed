/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A private memcpy that is not private to an archive; MEMCPY_AS makes it
 * hidden or weak.
 */
#include <stddef.h>

#ifndef MEMCPY_AS
#define MEMCPY_AS
#endif

MEMCPY_AS void *memcpy(void *to, const void *from, size_t len);
MEMCPY_AS void *
memcpy(void *to, const void *from, size_t len)
{
    volatile char *at = to;
    for (const char *byte = from; len > 0; len--)
        *at++ = *byte++;
    return to;
}
