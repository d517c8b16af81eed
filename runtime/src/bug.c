/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bug.h"

#include <stdio.h>
#include <stdlib.h>

#include "plat.h"

_Noreturn void
gst__bug(const char *what, const char *file, unsigned line)
{
    char text[256];

    snprintf(text, sizeof text, "gusset: %s (%s:%u)\n", what, file, line);
    gst__plat_last_words(text);
    abort();
}
