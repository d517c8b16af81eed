/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ledger.h - accepted tickets against completions seen, as sets
 * [i4.exactly-once]. Any thread; failures end the case and name the ticket.
 */
#ifndef CONFORM_LEDGER_H
#define CONFORM_LEDGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ledger_entry {
    uint64_t ticket; /* 0: the place is free */
    bool accepted;   /* the submit that made it has returned */
    uint32_t seen;   /* completions */
};

struct ledger {
    pthread_mutex_t lock;
    struct ledger_entry *entries; /* open addressing, by ticket */
    size_t cap;                   /* a power of two */
    size_t used;
    uint64_t accepted;
    uint64_t seen;
    uint32_t submitting; /* calls to submit that have not been booked yet */
    uint32_t early;      /* seen, and not yet known as accepted */
};

void ledger_init(struct ledger *ledger);

/*
 * Around each submit. A completion may be read before the submit that made it
 * has returned [i4.completion-order], so an unknown ticket is wrong only when
 * no submit is under way that may still name it.
 */
void ledger_begin(struct ledger *ledger);
void ledger_end(struct ledger *ledger, bool accepted, uint64_t ticket);

/* One completion was read. */
void ledger_see(struct ledger *ledger, uint64_t ticket);

/* Accepted and not seen yet. */
uint64_t ledger_owed(struct ledger *ledger);
bool ledger_has_seen(struct ledger *ledger, uint64_t ticket);
bool ledger_knows(struct ledger *ledger, uint64_t ticket);
uint64_t ledger_accepted(struct ledger *ledger);

/* The tickets that are owed, for messages: `missing {7, 9}`. Case memory. */
const char *ledger_owed_text(struct ledger *ledger);

/* Up to cap accepted tickets that were seen, in no order; returns how many. */
size_t ledger_some_seen(struct ledger *ledger, uint64_t *tickets, size_t cap);

/* Both sets are equal, or the case fails. */
void ledger_settle(struct ledger *ledger);

#endif /* CONFORM_LEDGER_H */
