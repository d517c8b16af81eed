/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The host's reader, as i4.ring-reader has it: one thread, positions in order,
 * a look into the pipe while polling, parking only between announce and
 * retract, tokens skipped wherever a record may begin.
 *
 * A pipe read orders the writer before the reader for a race detector, which
 * would hide a ring published with too weak an order. Under one, the reader
 * therefore never parks: it polls the ring and looks into the pipe, which
 * orders nothing while it is empty.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sched.h>
#include <string.h>

#include "host.h"
#include "internal.h"
#include "pipe.h"

#define SPINS_BEFORE_PARK 512
#define PARK_SLICE_NS UINT64_C(50000000)
#define FIRST_INBOX 64
/* A longer ring is looked at as a whole only at the end. */
#define WORDS_AT_EACH_LOOK 16

/* ---- The inbox --------------------------------------------------------- */

static struct completion *
inbox_at(struct host *host, size_t index)
{
    return &host->inbox[(host->inbox_first + index) & (host->inbox_cap - 1)];
}

static void
inbox_put(struct host *host, const struct completion *completion)
{
    if (host->inbox_count == host->inbox_cap) {
        size_t cap = host->inbox_cap == 0 ? FIRST_INBOX : 2 * host->inbox_cap;
        struct completion *larger = conform_allocate(cap * sizeof *larger);
        for (size_t i = 0; i < host->inbox_count; i++) {
            larger[i] = *inbox_at(host, i);
        }
        host->inbox = larger;
        host->inbox_first = 0;
        host->inbox_cap = cap;
    }
    *inbox_at(host, host->inbox_count) = *completion;
    host->inbox_count++;
}

static void
inbox_remove(struct host *host, size_t index, struct completion *completion)
{
    *completion = *inbox_at(host, index);
    for (size_t i = index; i > 0; i--) {
        *inbox_at(host, i) = *inbox_at(host, i - 1);
    }
    host->inbox_first = (host->inbox_first + 1) & (host->inbox_cap - 1);
    host->inbox_count--;
}

/* ---- Reading what is there --------------------------------------------- */

void
host_book(struct host *host, const struct completion *completion)
{
    if (!completion->from_ring) {
        host->from_pipe++;
    }
    ledger_see(&host->ledger, completion->ticket);
}

void
host_drain_ring(struct host *host)
{
    struct completion completion;
    while (host->has_ring && ring_read(&host->ring, &completion)) {
        host_book(host, &completion);
        inbox_put(host, &completion);
    }
}

/* One event of the pipe into the inbox; false when there was none. */
static bool
take_pipe_event(struct host *host, uint64_t deadline_ns, bool *eof)
{
    struct completion completion;
    enum pipe_event event =
        pipe_read_until(host->read_fd, &completion, deadline_ns);
    *eof = event == PIPE_EOF;
    if (event == PIPE_TOKEN) {
        expect(host->has_ring, "no token in the pipe of a handle without a "
                               "ring [i4.pipe-record]");
        host->tokens++;
    } else if (event == PIPE_COMPLETION) {
        host_book(host, &completion);
        inbox_put(host, &completion);
    }
    return event != PIPE_NOTHING && event != PIPE_EOF;
}

static void
drain_pipe(struct host *host)
{
    bool eof = false;
    while (take_pipe_event(host, 0, &eof)) {
    }
    expect(!eof, "the pipe of an open handle has not ended [i4.eof-at-close]");
}

void
host_look(struct host *host)
{
    host_drain_ring(host);
    uint64_t overflow = host->has_ring ? ring_overflow(&host->ring) : 0;
    drain_pipe(host);
    if (host->has_ring && host->ring.capacity <= WORDS_AT_EACH_LOOK) {
        ring_check_words(&host->ring);
    }
    /* What this value counts was written before it; it has been read now. */
    host->ring.overflow_seen = overflow;
}

void
host_read_to_eof(struct host *host)
{
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    bool eof = false;
    while (take_pipe_event(host, deadline, &eof)) {
    }
    expect(eof, "the pipe reads end of file after close [i4.eof-at-close]");
}

bool
host_poll(struct host *host, struct completion *completion)
{
    if (host->inbox_count == 0 && host->has_ring &&
        ring_read(&host->ring, completion)) {
        host_book(host, completion);
        return true;
    }
    if (host->inbox_count == 0) {
        host_look(host);
    }
    if (host->inbox_count == 0) {
        return false;
    }
    inbox_remove(host, 0, completion);
    return true;
}

/* ---- Waiting ----------------------------------------------------------- */

static bool
ring_has_record(struct host *host)
{
    return ring_sequence(&host->ring, host->ring.position) ==
           host->ring.position + 1;
}

static bool
spin_for_record(struct host *host)
{
    for (int spin = 0; spin < SPINS_BEFORE_PARK; spin++) {
        if (ring_has_record(host)) {
            return true;
        }
    }
    return false;
}

/*
 * Announced, so a record that is published from now on owes a token. One that
 * is seen while none came may be a writer on its way from A to B of
 * i4.ring-wake, hence the whole patience before the verdict; `waiting` stays
 * set meanwhile.
 */
static void
wait_for_token(struct host *host, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t slice = conform_now_ns() + PARK_SLICE_NS;
        if (pipe_wait(host->read_fd, slice)) {
            return;
        }
        if (ring_has_record(host)) {
            uint64_t last = conform_now_ns() + conform_patience_ns();
            expect(pipe_wait(host->read_fd, last),
                   "a token wakes the parked reader, the record at position "
                   "%" PRIu64 " was published [i4.ring-wake]",
                   host->ring.position);
            return;
        }
        if (conform_now_ns() >= deadline_ns) {
            return;
        }
    }
}

/* Returns when looking again may be worth while. */
static void
park(struct host *host, uint64_t deadline_ns)
{
    if (!host->has_ring) {
        (void)pipe_wait(host->read_fd, deadline_ns);
        return;
    }
    if (spin_for_record(host)) {
        return;
    }
    if (UNDER_THREAD_SANITIZER) {
        sched_yield();
        return;
    }
    if (ring_announce(&host->ring)) {
        wait_for_token(host, deadline_ns);
    }
    (void)ring_retract(&host->ring);
}

static void
fail_when_past(struct host *host, uint64_t deadline_ns)
{
    if (conform_now_ns() >= deadline_ns) {
        expect_unreachable("no completion for %" PRIu64 " ms; %s "
                           "[i4.exactly-once]",
                           conform_patience_ns() / 1000000,
                           ledger_owed_text(&host->ledger));
    }
}

struct completion
host_next(struct host *host)
{
    struct completion completion;
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    while (!host_poll(host, &completion)) {
        fail_when_past(host, deadline);
        park(host, deadline);
    }
    return completion;
}

/* From index `from` on; what came before it was looked at already. */
static bool
inbox_find(struct host *host, size_t from, uint64_t ticket,
           struct completion *completion)
{
    for (size_t i = from; i < host->inbox_count; i++) {
        if (inbox_at(host, i)->ticket == ticket) {
            inbox_remove(host, i, completion);
            return true;
        }
    }
    return false;
}

struct completion
host_wait(struct host *host, uint64_t ticket)
{
    struct completion completion;
    if (inbox_find(host, 0, ticket, &completion)) {
        return completion;
    }
    if (!ledger_knows(&host->ledger, ticket) ||
        ledger_has_seen(&host->ledger, ticket)) {
        conform_broken("host_wait for ticket %" PRIu64 ", which was never "
                       "submitted here or was handed out already",
                       ticket);
    }
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    for (;;) {
        size_t looked = host->inbox_count;
        host_look(host);
        if (inbox_find(host, looked, ticket, &completion)) {
            return completion;
        }
        if (host->inbox_count > looked) {
            deadline = conform_now_ns() + conform_patience_ns();
        }
        fail_when_past(host, deadline);
        park(host, deadline);
    }
}
