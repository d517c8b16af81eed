/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sets.h - tickets in a message: `missing {3, 8, 12 and 4 more}`. */
#ifndef CONFORM_SETS_H
#define CONFORM_SETS_H

#include <stddef.h>
#include <stdint.h>

#define SET_SHOWN 8

struct ticket_set {
    const char *name;
    uint64_t tickets[SET_SHOWN]; /* the first ones */
    size_t count;
};

void ticket_set_add(struct ticket_set *set, uint64_t ticket);
/* Case memory. */
const char *ticket_set_text(const struct ticket_set *set);

#endif /* CONFORM_SETS_H */
