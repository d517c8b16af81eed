/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * waivers.h - failures that somebody answers for, until a date.
 *
 * A file of lines "PATTERN YYYY-MM-DD REASON", with # for comments. PATTERN
 * is what --filter takes. On the day named it holds for the last time (UTC).
 * A waiver that is expired, fits no case, or whose cases all pass is trouble:
 * it would hide the next failure.
 */
#ifndef SUPERVISE_WAIVERS_H
#define SUPERVISE_WAIVERS_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

struct waiver {
    char *pattern;
    char *until; /* "2027-01-31" */
    char *reason;
    int line;
    bool expired;
};

struct waivers {
    const char *path;
    struct waiver *items;
    size_t count;
};

/* Quits with EXIT_USAGE and one line when the file is not as above. */
void waivers_read(struct waivers *waivers, const char *path);

#endif /* SUPERVISE_WAIVERS_H */
