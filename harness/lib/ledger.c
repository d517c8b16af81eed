/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

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

static uint64_t
first_unknown(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->ticket != 0 && !entry->accepted) {
            return entry->ticket;
        }
    }
    return 0;
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
        expect_unreachable("a completion names ticket %" PRIu64
                           ", which no submit returned [i4.exactly-once]",
                           first_unknown(ledger));
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
    size_t cap = 256;
    char *text = conform_allocate(cap);
    pthread_mutex_lock(&ledger->lock);
    size_t at = (size_t)snprintf(
        text, cap, "%" PRIu64 " of %" PRIu64 " tickets without a completion:",
        ledger->accepted + ledger->early - ledger->seen, ledger->accepted);
    for (size_t i = 0; i < ledger->cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->accepted && entry->seen == 0) {
            if (at + 32 > cap) {
                snprintf(text + at, cap - at, " ...");
                break;
            }
            at += (size_t)snprintf(text + at, cap - at, " %" PRIu64,
                                   entry->ticket);
        }
    }
    pthread_mutex_unlock(&ledger->lock);
    return text;
}

void
ledger_settle(struct ledger *ledger)
{
    pthread_mutex_lock(&ledger->lock);
    for (size_t i = 0; i < ledger->cap; i++) {
        const struct ledger_entry *entry = &ledger->entries[i];
        if (entry->ticket != 0) {
            expect(entry->accepted,
                   "completion of ticket %" PRIu64 ", which no submit returned "
                   "[i4.exactly-once]",
                   entry->ticket);
            expect_u64(1, entry->seen,
                       "completions of ticket %" PRIu64 " [i4.exactly-once]",
                       entry->ticket);
        }
    }
    expect_u64(ledger->accepted, ledger->seen,
               "accepted tickets and completions [i4.exactly-once]");
    pthread_mutex_unlock(&ledger->lock);
}
