/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "sets.h"

#include <inttypes.h>

#include "internal.h"

void
ticket_set_add(struct ticket_set *set, uint64_t ticket)
{
    if (set->count < SET_SHOWN) {
        set->tickets[set->count] = ticket;
    }
    set->count++;
}

const char *
ticket_set_text(const struct ticket_set *set)
{
    size_t cap = 64 + (size_t)SET_SHOWN * 24;
    char *text = conform_allocate(cap);
    size_t at = (size_t)snprintf(text, cap, "%s {", set->name);
    for (size_t i = 0; i < set->count && i < SET_SHOWN; i++) {
        at += (size_t)snprintf(text + at, cap - at, "%s%" PRIu64,
                               i > 0 ? ", " : "", set->tickets[i]);
    }
    if (set->count > SET_SHOWN) {
        at += (size_t)snprintf(text + at, cap - at, " and %zu more",
                               set->count - SET_SHOWN);
    }
    snprintf(text + at, cap - at, "}");
    return text;
}
