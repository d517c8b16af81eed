/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "tickets.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"
#include "sets.h"

#define PLACES ((size_t)1 << 20)
/* A run with more tickets goes on without the book for the later ones. */
#define MOST_TICKETS (PLACES / 4 * 3)

enum { ISSUED = 1, COMPLETED = 2, OUT = 4, DOUBTFUL = 8 };

struct entry {
    uint64_t ticket; /* 0: the place is free */
    const GussetHandle *handle;
    uint32_t state;
};

static struct entry *book;
static size_t used;
/* Completed or out, and not issued so far. */
static size_t strange;

void
conform_tickets_reserve(void)
{
    void *memory = mmap(NULL, PLACES * sizeof *book, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        conform_broken("no memory for the book of tickets");
    }
    book = memory;
}

/* NULL for ticket 0, before there is a book, and when it is full. */
static struct entry *
find(uint64_t ticket, bool make)
{
    if (book == NULL || ticket == 0) {
        return NULL;
    }
    size_t at = (size_t)((ticket * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
    for (;; at++) {
        struct entry *entry = &book[at & (PLACES - 1)];
        uint64_t there = __atomic_load_n(&entry->ticket, __ATOMIC_RELAXED);
        if (there == ticket) {
            return entry;
        }
        if (there != 0) {
            continue;
        }
        if (!make || __atomic_load_n(&used, __ATOMIC_RELAXED) >= MOST_TICKETS) {
            return NULL;
        }
        if (__atomic_compare_exchange_n(&entry->ticket, &there, ticket, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
            return entry;
        }
        if (there == ticket) {
            return entry;
        }
    }
}

static bool
is_strange(uint32_t state)
{
    return (state & (COMPLETED | OUT)) != 0 && (state & ISSUED) == 0;
}

/* Returns the state before; 0 as well when there is no entry. */
static uint32_t
mark(struct entry *entry, uint32_t state)
{
    if (entry == NULL) {
        return 0;
    }
    uint32_t before = __atomic_fetch_or(&entry->state, state, __ATOMIC_RELAXED);
    if (is_strange(before) && !is_strange(before | state)) {
        __atomic_fetch_sub(&strange, 1, __ATOMIC_RELAXED);
    } else if (!is_strange(before) && is_strange(before | state)) {
        __atomic_fetch_add(&strange, 1, __ATOMIC_RELAXED);
    }
    return before;
}

void
conform_ticket_issued(const GussetHandle *handle, uint64_t ticket)
{
    if (ticket == 0 || ticket >= GUSSET_INLINE_RECORD_FLAG) {
        expect_unreachable("ticket 0x%" PRIx64 " is non-zero and below 2^63 "
                           "[i4.tickets]",
                           ticket);
    }
    struct entry *entry = find(ticket, true);
    if ((mark(entry, ISSUED) & ISSUED) != 0) {
        expect_unreachable("ticket %" PRIu64 " is issued once, submit gave it "
                           "a second time [i4.tickets]",
                           ticket);
    }
    if (entry != NULL) {
        __atomic_store_n(&entry->handle, handle, __ATOMIC_RELAXED);
    }
}

void
conform_ticket_adopted(uint64_t ticket)
{
    (void)mark(find(ticket, true), ISSUED);
}

void
conform_ticket_completed(const struct completion *completion)
{
    uint32_t state = COMPLETED | (completion->inlined ? OUT : 0u);
    uint32_t before = mark(find(completion->ticket, true), state);
    if ((before & COMPLETED) != 0) {
        expect_unreachable("doubled {%" PRIu64 "}: a second completion of the "
                           "ticket [i4.exactly-once]",
                           completion->ticket);
    }
    if (completion->inlined && (before & OUT) != 0) {
        expect_unreachable("doubled {%" PRIu64 "}: the result came inline and "
                           "by a take [i4.inline-is-final]",
                           completion->ticket);
    }
}

static bool
is_refusal(int32_t code, const FfiStatus *status, uint64_t ticket)
{
    char text[64];
    int len = snprintf(text, sizeof text,
                       "ticket %" PRIu64 " not found or already taken", ticket);
    return code == FFI_ERR && status != NULL && status->msg != NULL &&
           memmem(status->msg, status->msg_len, text, (size_t)len) != NULL;
}

static void
result_is_out(const GussetHandle *handle, uint64_t ticket)
{
    struct entry *entry = find(ticket, true);
    uint32_t before = mark(entry, OUT);
    if ((before & OUT) != 0) {
        expect_unreachable("doubled {%" PRIu64 "}: the result moved out a "
                           "second time [i1.take-once]",
                           ticket);
    }
    if ((before & ISSUED) != 0) {
        const GussetHandle *owner =
            __atomic_load_n(&entry->handle, __ATOMIC_RELAXED);
        if (owner != NULL && owner != handle) {
            expect_unreachable("ticket %" PRIu64 " gave its result through "
                               "another handle [i1.take-once]",
                               ticket);
        }
    }
}

void
conform_ticket_answered(const GussetHandle *handle, uint64_t ticket,
                        int32_t code, const FfiStatus *status)
{
    if (code == FFI_OK || code == FFI_PANIC) {
        result_is_out(handle, ticket);
    } else if (code == FFI_ERR && status == NULL) {
        (void)mark(find(ticket, false), DOUBTFUL);
    } else if (code == FFI_ERR && !is_refusal(code, status, ticket)) {
        result_is_out(handle, ticket);
    }
}

static uint32_t
state_of(uint64_t ticket)
{
    return mark(find(ticket, false), 0);
}

bool
conform_ticket_is_out(uint64_t ticket)
{
    return (state_of(ticket) & OUT) != 0;
}

bool
conform_ticket_is_doubtful(uint64_t ticket)
{
    return (state_of(ticket) & DOUBTFUL) != 0;
}

void
conform_tickets_settle(void)
{
    struct ticket_set completed = {.name = "completed, never issued"};
    struct ticket_set out = {.name = "taken, never issued"};
    /* A full book has no entry for some that were issued. */
    if (strange == 0 || used >= MOST_TICKETS) {
        return;
    }
    for (size_t i = 0; i < PLACES; i++) {
        uint32_t state = book[i].state;
        if (is_strange(state)) {
            ticket_set_add((state & COMPLETED) != 0 ? &completed : &out,
                           book[i].ticket);
        }
    }
    expect_unreachable("%s; %s [i4.exactly-once]", ticket_set_text(&completed),
                       ticket_set_text(&out));
}
