/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "sets.h"

#define FIRST_CAP 64

void
ledger_init(struct ledger *ledger)
{
    memset(ledger, 0, sizeof *ledger);
    pthread_mutex_init(&ledger->lock, NULL);
    ledger->cap = FIRST_CAP;
    ledger->entries = conform_allocate(FIRST_CAP * sizeof *ledger->entries);
}

/* The entry of the ticket, or the free place where it belongs. */
static struct ledger_entry *
place(struct ledger_entry *entries, size_t cap, uint64_t ticket)
{
    size_t at =
        (size_t)((ticket * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (cap - 1);
    while (entries[at].ticket != 0 && entries[at].ticket != ticket) {
        at = (at + 1) & (cap - 1);
    }
    return &entries[at];
}

static void
grow(struct ledger *ledger)
{
    size_t cap = 2 * ledger->cap;
    struct ledger_entry *entries = conform_allocate(cap * sizeof *entries);
    for (size_t i = 0; i < ledger->cap; i++) {
        if (ledger->entries[i].ticket != 0) {
            *place(entries, cap, ledger->entries[i].ticket) =
                ledger->entries[i];
        }
    }
    ledger->entries = entries;
    ledger->cap = cap;
}

/* With the lock held: the entry, made when it is new. */
static struct ledger_entry *
entry_of(struct ledger *ledger, uint64_t ticket)
{
    if (2 * ledger->used >= ledger->cap) {
        grow(ledger);
    }
    struct ledger_entry *entry = place(ledger->entries, ledger->cap, ticket);
    if (entry->ticket == 0) {
        entry->ticket = ticket;
        ledger->used++;
    }
    return entry;
}

void
ledger_begin(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    ledger->submitting++;
    pthread_mutex_unlock(&ledger->lock);
}

/* With the lock held. */
static void
accept(struct ledger *ledger, uint64_t ticket)
{
    struct ledger_entry *entry = entry_of(ledger, ticket);
    expect(!entry->accepted,
           "ticket %" PRIu64 " is issued once, submit gave it a second time "
           "[i4.tickets]",
           ticket);
    entry->accepted = true;
    ledger->accepted++;
    if (entry->seen > 0) {
        ledger->early--;
    }
}

/* With the lock held: the three ways in which the sets can differ. */
static const char *
differences(const struct ledger *ledger)
{
    struct ticket_set missing = {.name = "missing"};
    struct ticket_set doubled = {.name = "doubled"};
    struct ticket_set unknown = {.name = "unknown"};
    for (size_t i = 0; i < ledger->cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->ticket == 0) {
            continue;
        }
        if (entry->accepted && entry->seen == 0) {
            ticket_set_add(&missing, entry->ticket);
        }
        if (!entry->accepted) {
            ticket_set_add(&unknown, entry->ticket);
        }
        if (entry->seen > 1) {
            ticket_set_add(&doubled, entry->ticket);
        }
    }
    size_t cap = 768;
    char *text = conform_allocate(cap);
    snprintf(text, cap, "%s, %s, %s", ticket_set_text(&missing),
             ticket_set_text(&doubled), ticket_set_text(&unknown));
    return text;
}

void
ledger_end(struct ledger *ledger, bool accepted, uint64_t ticket)
{
    if (accepted) {
        expect(ticket != 0 && ticket < GUSSET_INLINE_RECORD_FLAG,
               "ticket 0x%" PRIx64 " is non-zero and below 2^63 [i4.tickets]",
               ticket);
    }
    pthread_mutex_lock(&ledger->lock);
    ledger->submitting--;
    if (accepted) {
        accept(ledger, ticket);
    }
    if (ledger->submitting == 0 && ledger->early > 0) {
        expect_unreachable("a completion names a ticket which no submit "
                           "returned: %s [i4.exactly-once]",
                           differences(ledger));
    }
    pthread_mutex_unlock(&ledger->lock);
}

void
ledger_see(struct ledger *ledger, uint64_t ticket)
{
    pthread_mutex_lock(&ledger->lock);
    struct ledger_entry *entry = entry_of(ledger, ticket);
    entry->seen++;
    ledger->seen++;
    expect_u64(1, entry->seen,
               "completions of ticket %" PRIu64 " [i4.exactly-once]", ticket);
    if (!entry->accepted) {
        expect(ledger->submitting > 0,
               "a completion names ticket %" PRIu64
               ", which no submit returned [i4.exactly-once]",
               ticket);
        ledger->early++;
    }
    pthread_mutex_unlock(&ledger->lock);
}

uint64_t
ledger_owed(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    uint64_t owed = ledger->accepted + ledger->early - ledger->seen;
    pthread_mutex_unlock(&ledger->lock);
    return owed;
}

uint64_t
ledger_accepted(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    uint64_t accepted = ledger->accepted;
    pthread_mutex_unlock(&ledger->lock);
    return accepted;
}

bool
ledger_has_seen(struct ledger *ledger, uint64_t ticket)
{
    pthread_mutex_lock(&ledger->lock);
    bool seen = place(ledger->entries, ledger->cap, ticket)->seen > 0;
    pthread_mutex_unlock(&ledger->lock);
    return seen;
}

bool
ledger_knows(struct ledger *ledger, uint64_t ticket)
{
    pthread_mutex_lock(&ledger->lock);
    bool known = place(ledger->entries, ledger->cap, ticket)->accepted;
    pthread_mutex_unlock(&ledger->lock);
    return known;
}

const char *
ledger_owed_text(struct ledger *ledger)
{
    struct ticket_set missing = {.name = "missing"};
    pthread_mutex_lock(&ledger->lock);
    for (size_t i = 0; i < ledger->cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->accepted && entry->seen == 0) {
            ticket_set_add(&missing, entry->ticket);
        }
    }
    size_t cap = 384;
    char *text = conform_allocate(cap);
    snprintf(text, cap,
             "%" PRIu64 " of %" PRIu64 " tickets without a completion: %s",
             ledger->accepted + ledger->early - ledger->seen, ledger->accepted,
             ticket_set_text(&missing));
    pthread_mutex_unlock(&ledger->lock);
    return text;
}

size_t
ledger_some_seen(struct ledger *ledger, uint64_t *tickets, size_t cap)
{
    size_t count = 0;
    pthread_mutex_lock(&ledger->lock);
    for (size_t i = 0; i < ledger->cap && count < cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->accepted && entry->seen > 0) {
            tickets[count++] = entry->ticket;
        }
    }
    pthread_mutex_unlock(&ledger->lock);
    return count;
}

void
ledger_settle(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    bool equal = true;
    for (size_t i = 0; i < ledger->cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        equal &= entry->ticket == 0 || (entry->accepted && entry->seen == 1);
    }
    expect(equal,
           "accepted tickets and completions are one set: %s "
           "[i4.exactly-once]",
           equal ? "" : differences(ledger));
    pthread_mutex_unlock(&ledger->lock);
}
