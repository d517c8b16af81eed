/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pages that cannot be read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "self.h"

static void
garbage(void)
{
    memset(self_page, 0xff, sizeof *self_page);
    exit(0);
}

static void
endless_text(void)
{
    self_checked();
    memset(self_page->message, 'x', sizeof self_page->message);
}

static void
truncated(void)
{
    self_checked();
    self_page->outcome = CONFORM_OUTCOME_PASSED;
    self_page->phase = CONFORM_PHASE_ENDED;
    if (truncate(self_page_path, 4096) != 0)
        exit(2);
    exit(0);
}

/* Without an artifact to compare with, this passes. */
static void
other_image(void)
{
    static const char line[] = "build-id\t00c0ffee\n";
    self_checked();
    memcpy(self_page->evidence, line, sizeof line - 1);
    self_page->evidence_bytes = sizeof line - 1;
}

const struct self_case page_cases[] = {
    {.id = "page.other-image", .run = other_image},
    {.id = "page.not-mapped", .run = self_checked},
    {.id = "page.garbage", .run = garbage},
    {.id = "page.endless-text", .run = endless_text},
    {.id = "page.truncated", .run = truncated},
    {.id = "page.replaced", .run = self_checked},
    {0},
};
