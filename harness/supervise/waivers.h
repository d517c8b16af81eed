/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * waivers.h - failures that somebody answers for, until a date.
 *
 * A JSON array of objects with the members clause, kind, owner, reason, link
 * and expires, all of them texts and all required. A waiver covers the cases
 * whose first clause it names when they end with the verdict `kind` (FAIL,
 * CRASH, HANG or LEAK), and no other verdict of theirs. On the day `expires`
 * (YYYY-MM-DD, UTC) it holds for the last time. What it takes to be trouble
 * says waived.h.
 */
#ifndef SUPERVISE_WAIVERS_H
#define SUPERVISE_WAIVERS_H

#include <stdbool.h>
#include <stddef.h>

#include "verdict.h"

struct waiver {
    char *clause;
    enum verdict kind;
    char *owner;
    char *reason;
    char *link;
    char *expires; /* "2027-01-31" */
    bool expired;
};

struct waivers {
    const char *path; /* NULL: none were given */
    struct waiver *items;
    size_t count;
};

/*
 * Quits with EXIT_USAGE and one line, which names the line of the file or the
 * number of the item, from 1, when the file is not as above, names a clause
 * that the contract does not have, a day that no calendar has, or one clause
 * and kind twice.
 */
void waivers_read(struct waivers *waivers, const char *path);

/* The waiver that holds today for this failure, or NULL. */
const struct waiver *waivers_find(const struct waivers *waivers,
                                  const char *clause, enum verdict kind);

#endif /* SUPERVISE_WAIVERS_H */
