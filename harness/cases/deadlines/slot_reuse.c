/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Tickets are many, what a library keeps for a job is few: the place of a job
 * is used again. What one job left there must not reach a later one, however
 * many come between; and places that hold results nobody took must not hide
 * the later ones.
 */

#include "../completions/raw.h"

#include <stdio.h>

/* More than 2^15; and than 2^16 when there is time. */
enum { JOBS = 33000, JOBS_NIGHTLY = 140000, STALE = 5 };

struct chain {
    GussetHandle *handle;
    struct conform_ring ring;
    uint64_t stale[STALE]; /* stopped, or done, and taken */
};

static const uint8_t squares[3] = {MODE_SQUARES, 2, 3};
static const uint8_t squares_sum[8] = {13};

static void
open_chain(struct chain *chain, int fds[2])
{
    const uint8_t *shared, *slots;
    memset(chain, 0, sizeof *chain);
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    expect_code(FFI_OK, api.handle_open(1, fds[1], &chain->handle, NULL),
                "open");
    expect_code(FFI_OK,
                api.handle_ring(chain->handle, &chain->ring.ring, &shared,
                                &slots, &chain->ring.capacity, NULL),
                "attach");
    chain->ring.shared = (uint8_t *)(uintptr_t)shared;
    chain->ring.slots = (uint8_t *)(uintptr_t)slots;
}

/*
 * Reads the record of the only job: bare, at the reader's position. Done here,
 * for what ring_read enters into the harness's book it must find issued there.
 */
static void
await(struct chain *chain, uint64_t ticket)
{
    struct conform_ring *ring = &chain->ring;
    uint64_t position = ring->position, record, give_up = 0;
    uint64_t *slot =
        (uint64_t *)(void *)(ring->slots + position % ring->capacity *
                                               GUSSET_RING_SLOT_BYTES);
    for (uint32_t spins = 1; ring_sequence(ring, position) != position + 1;
         spins++) {
        if (spins % 256 != 0)
            continue;
        sched_yield();
        if (give_up == 0)
            give_up = conform_now_ns() + conform_patience_ns();
        expect(conform_now_ns() < give_up, "the record of ticket %llu",
               (unsigned long long)ticket);
    }
    memcpy(&record, (uint8_t *)slot + GUSSET_RING_SLOT_OFF_RECORD,
           sizeof record);
    __atomic_store_n(slot, position + ring->capacity, __ATOMIC_RELEASE);
    ring->position++;
    expect_u64(ticket, record, "the ticket in the ring");
}

static struct outcome
take(struct chain *chain, uint64_t ticket)
{
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.take(chain->handle, ticket, &id, &bytes, &len, &status);
    if (code == FFI_OK)
        expect_code(
            FFI_OK,
            api.buf_free(chain->handle, id & ~GUSSET_TAKE_OWNED_FLAG, NULL),
            "buf_free");
    return conform_settle(code, &status);
}

/* One job of each way to be stopped, or not: all in one place. */
static void
leave_marks(struct chain *chain)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    static const uint8_t soon[2] = {MODE_COOPERATIVE, 2};
    static const char *const texts[STALE] = {
        EXPLICIT_TEXT, DEADLINE_TEXT, SHUTDOWN_TEXT, EXPLICIT_TEXT,
        "gusset: no engine handler registered"};
    for (int i = 0; i < STALE; i++) {
        CallHeader header = job_header(i == 4 ? 0 : DIAGNOSTIC, 0);
        header.timeout_ns = i == 1 ? 1 : 0;
        uint64_t ticket = raw_submit(chain->handle, &header,
                                     i == 1 ? soon : endless, sizeof endless);
        if (i == 0)
            expect_code(FFI_OK, api.cancel(chain->handle, ticket, NULL),
                        "cancel");
        if (i == 2) {
            expect_code(FFI_OK, api.shutdown(5000), "shutdown");
            expect_code(FFI_OK, api.init(), "gusset_init");
        }
        if (i == 3)
            expect_code(FFI_OK, api.cancel_all(chain->handle, NULL),
                        "cancel_all");
        await(chain, ticket);
        struct outcome outcome = take(chain, ticket);
        expect_code(FFI_ERR, outcome.code, "job %d, which was stopped", i);
        if (i != 2) /* after an init it may be either text */
            expect_text(TEXT_BEGINS, texts[i], outcome.msg, outcome.msg_len,
                        "the text of job %d", i);
        chain->stale[i] = ticket;
    }
}

/*
 * A job like any other, while the host cancels and takes what is long gone.
 * Past the guard: its microseconds, 33 000 times, would be much of the case.
 */
static void
later_job(struct chain *chain, uint32_t n)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t stale = chain->stale[0], ticket = 0, id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    FfiStatus status = {0};
    expect_code(FFI_OK,
                api_raw.submit(chain->handle, &header, squares, sizeof squares,
                               0, &ticket, NULL),
                "submit of job %u", n);
    (void)api_raw.cancel(chain->handle, stale, NULL);
    await(chain, ticket);
    expect_code(FFI_ERR,
                api_raw.take(chain->handle, stale, &id, &bytes, &len, NULL),
                "take of ticket %llu, taken %u jobs ago",
                (unsigned long long)stale, n + STALE);
    int32_t code =
        api_raw.take(chain->handle, ticket, &id, &bytes, &len, &status);
    expect(code == FFI_OK,
           "job %u after the cancelled one, which nobody stopped: %s, %.*s", n,
           conform_code_name(code), (int)status.msg_len,
           status.msg == NULL ? "" : (const char *)status.msg);
    expect_bytes(squares_sum, 8, bytes, len, "the result of job %u", n);
    (void)api_raw.buf_free(chain->handle, id, NULL);
}

CONFORM_CASE(later_jobs, .id = "i3.cancel-harmless.many-jobs-later",
             .clauses = "i3.cancel-harmless i3.cancel i1.take-once",
             .why = "a mark or a ticket that is compared in 15 or 16 bits: "
                    "after hours of work a job ends as cancelled that nobody "
                    "cancelled, or a stale ticket takes its result",
             .steps = "One worker, one place: jobs that end by cancel, "
                      "deadline, shutdown, cancel_all and an error; then "
                      "33 000 short ones one after the other, and with each "
                      "a cancel and a take of the first ticket.",
             .expected = "Every later job has its result, the first ticket "
                         "never has one again.",
             .mutant = "cancel-mark-of-sixteen-bits "
                       "take-compares-fifteen-bits",
             .timeout_ms = 120000)
{
    struct chain chain;
    int fds[2];
    open_chain(&chain, fds);
    leave_marks(&chain);
    for (uint32_t n = 1; n <= conform_rounds(JOBS, JOBS_NIGHTLY); n++)
        later_job(&chain, n);
    expect_code(FFI_OK, api.handle_close(chain.handle, NULL), "close");
    api.ring_release(chain.ring.ring);
    close(fds[0]);
}

enum way { CANCEL_ALL, CANCEL_EACH, BY_SHUTDOWN, WAYS };

enum { POOL = 2, BUSY = 3 * POOL };

static const char *const way_names[WAYS] = {"cancel_all", "cancel of each",
                                            "shutdown"};

static void
stop(struct host *host, enum way way, const uint64_t *tickets)
{
    if (way == CANCEL_ALL)
        expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL),
                    "cancel_all");
    for (int i = 0; way == CANCEL_EACH && i < BUSY; i++)
        expect_code(FFI_OK, api.cancel(host_handle(host), tickets[i], NULL),
                    "cancel");
    if (way == BY_SHUTDOWN)
        expect_code(FFI_OK, api.shutdown(60000), "shutdown");
}

/* With so many results that nobody took, running and queued jobs end. */
static void
stop_beside(struct host *host, uint32_t results, enum way way)
{
    uint64_t tickets[BUSY];
    job_occupy(host, POOL, MODE_COOPERATIVE, 255, tickets);
    stop(host, way, tickets);
    for (int i = 0; i < BUSY; i++) {
        char what[96];
        struct outcome outcome = job_finish(host, tickets[i]);
        (void)snprintf(what, sizeof what,
                       "job %d under %s, beside %u results not taken", i,
                       way_names[way], results);
        expect_failure_is(
            &outcome, way == BY_SHUTDOWN ? SHUTDOWN_TEXT : EXPLICIT_TEXT, what);
    }
    if (way == BY_SHUTDOWN)
        expect_code(FFI_OK, api.init(), "gusset_init");
}

/* Ends at once or, if one job is not reached, after 2.55 s or more. */
static uint64_t
close_beside(uint32_t results)
{
    uint64_t tickets[BUSY];
    struct host *host = host_open(POOL);
    static const uint8_t echo[2] = {MODE_ECHO, 3};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (uint32_t i = 0; i < results; i++) {
        uint64_t ticket = host_submit_patiently(host, &header, echo, 2);
        (void)host_wait(host, ticket);
    }
    uint64_t from = conform_now_ns();
    job_occupy(host, POOL, MODE_COOPERATIVE, 255, tickets);
    int fd = host_read_fd(host);
    expect_code(FFI_OK, api.handle_close(host_handle(host), NULL), "close");
    uint64_t took = conform_now_ns() - from;
    if (host_ring(host) != NULL)
        api.ring_release(host_ring(host)->ring);
    close(fd);
    host_forget(host);
    return took;
}

CONFORM_CASE(beside_results, .id = "i3.cancel-all.beside-untaken-results",
             .clauses = "i3.cancel-all i3.cancel i3.shutdown-text "
                        "l.shutdown-drains l.close-cancels",
             .why = "a sweep over a table that has grown since: jobs in the "
                    "newer part run on",
             .steps = "0, 1, 17, 33 and 300 results that nobody takes; beside "
                      "them two running and four queued jobs of 2.55 s, met "
                      "by cancel_all, cancel, shutdown and close.",
             .expected = "Each ends as cancelled, Explicit or Shutdown; close "
                         "ends before one job would (best of three).",
             .mutant = "cancel-all-of-the-first-segment",
             .transports = CONFORM_BOTH)
{
    static const uint32_t counts[] = {0, 1, 17, 33, 300};
    static const uint8_t echo[2] = {MODE_ECHO, 3};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct host *host = host_open(POOL);
    uint32_t results = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (; results < counts[i]; results++) {
            uint64_t ticket = host_submit_patiently(host, &header, echo, 2);
            (void)host_wait(host, ticket);
        }
        for (uint32_t way = 0; way < WAYS; way++)
            stop_beside(host, results, (enum way)way);
    }
    host_close(host);
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 3 && best > 2000 * MS; round++) {
        uint64_t took = close_beside(300);
        best = took < best ? took : best;
    }
    expect_u64_at_most(2550 * MS, best,
                       "ns of close over jobs of 2.55 s, beside 300 results "
                       "not taken");
}
