/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * bug.h - assertions, in release builds too. A failed one is a bug of the
 * runtime or a misuse that cannot be reported, never a lack of memory.
 */
#ifndef GST_BUG_H
#define GST_BUG_H

/* Writes `gusset: WHAT (FILE:LINE)` to descriptor 2 and aborts. */
_Noreturn void gst__bug(const char *what, const char *file, unsigned line);

#define GST_ASSERT(condition)                                            \
    do {                                                                 \
        if (!(condition))                                                \
            gst__bug("internal error: " #condition, __FILE__, __LINE__); \
    } while (0)

#endif
