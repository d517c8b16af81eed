/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What loading the subject changes in the process [i5.no-handlers]: its
 * constructors run before any case can look. A shared object is loaded by us,
 * so the look is taken right before; an archive's constructors run before
 * main, so subject_linked.c takes it in a constructor that comes first.
 */
#include "internal.h"

#include <stdio.h>
#include <string.h>

/* Each begins with a newline, so that a line can be searched as a whole. */
static char before[CONFORM_CENSUS_BYTES];
static char after[CONFORM_CENSUS_BYTES];
static char changes[4096];
static bool noted;

void
conform_load_note(void)
{
    if (noted) {
        return;
    }
    conform_guard_faults();
    before[0] = '\n';
    conform_state_write(before + 1, sizeof before - 1);
    noted = true;
}

/* The C library's own signals: the harness warms these between the looks. */
static bool
is_reserved(const char *line)
{
    return strncmp(line, "signal 32\t", 10) == 0 ||
           strncmp(line, "signal 33\t", 10) == 0 ||
           strncmp(line, "signal 34\t", 10) == 0;
}

/* Appends the lines of `text` that `other` lacks. */
static void
add_missing(const char *when, const char *text, const char *other)
{
    char line[512];
    for (const char *at = text + 1; *at != '\0'; at = strchr(at, '\n') + 1) {
        size_t len = strcspn(at, "\n");
        snprintf(line, sizeof line, "\n%.*s\n", (int)len, at);
        if (is_reserved(at) || strstr(other, line) != NULL) {
            continue;
        }
        size_t used = strlen(changes);
        snprintf(changes + used, sizeof changes - used, "%s%s: %.*s",
                 used > 0 ? "; " : "", when, (int)len, at);
    }
}

void
conform_load_compare(void)
{
    after[0] = '\n';
    conform_state_write(after + 1, sizeof after - 1);
    add_missing("before", before, after);
    add_missing("after", after, before);
}

const char *
conform_load_changes(void)
{
    return changes;
}
