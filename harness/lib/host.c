/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening, submitting, taking and closing; reading is in host_read.c. */
#define _GNU_SOURCE
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "tickets.h"

/* What an out-parameter holds before a call that must not write it. */
#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

/* ---- Opening ----------------------------------------------------------- */

static void
make_pipe(struct host *host)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        conform_broken("a pipe for the host: %s", strerror(errno));
    }
    host->read_fd = ends[0];
    host->write_fd = ends[1];
}

struct host *
host_open_with(uint32_t pool, uint32_t transport)
{
    struct host *host = conform_allocate(sizeof *host);
    ledger_init(&host->ledger);
    make_pipe(host);
    FfiStatus status = conform_dirty_status();
    int32_t code =
        api.handle_open(pool, host->write_fd, &host->handle, &status);
    struct outcome outcome = conform_settle(code, &status);
    expect_code(FFI_OK, code, "handle_open, pool %" PRIu32 ": %s", pool,
                outcome.msg == NULL ? "" : outcome.msg);
    expect(host->handle != NULL, "handle_open gave a handle");
    if (transport == CONFORM_RING) {
        host_attach_ring(host);
    }
    return host;
}

struct host *
host_open(uint32_t pool)
{
    return host_open_with(pool, conform_transport());
}

void
host_attach_ring(struct host *host)
{
    struct conform_ring *ring = &host->ring;
    const uint8_t *shared = NULL;
    const uint8_t *slots = NULL;
    bool first = ledger_accepted(&host->ledger) == 0;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.handle_ring(host->handle, &ring->ring, &shared, &slots,
                                   &ring->capacity, &status);
    struct outcome outcome = conform_settle(code, &status);
    expect_code(FFI_OK, code, "handle_ring: %s",
                outcome.msg == NULL ? "" : outcome.msg);
    expect(ring->ring != NULL && shared != NULL && slots != NULL,
           "handle_ring gave ring, header and slots [i4.ring-attach]");
    expect(ring->capacity >= 2 && (ring->capacity & (ring->capacity - 1)) == 0,
           "the ring's capacity %" PRIu64 " is a power of two, at least 2 "
           "[i4.ring-attach]",
           ring->capacity);
    /* The memory is the reader's to write; only the ABI's pointers are const.
     */
    ring->shared = (uint8_t *)(uintptr_t)shared;
    ring->slots = (uint8_t *)(uintptr_t)slots;
    host->has_ring = true;
    host->ring_first = first;
}

GussetHandle *
host_handle(struct host *host)
{
    return host->handle;
}

int
host_read_fd(struct host *host)
{
    return host->read_fd;
}

int
host_write_fd(struct host *host)
{
    return host->write_fd;
}

struct conform_ring *
host_ring(struct host *host)
{
    return host->has_ring ? &host->ring : NULL;
}

/* ---- Submitting -------------------------------------------------------- */

struct outcome
host_try_submit(struct host *host, const CallHeader *header, const void *input,
                size_t len, uint64_t buffer_id)
{
    uint64_t ticket = UNTOUCHED;
    FfiStatus status = conform_dirty_status();
    ledger_begin(&host->ledger);
    int32_t code = api.submit(host->handle, header, input, len, buffer_id,
                              &ticket, &status);
    ledger_end(&host->ledger, code == FFI_OK, ticket);
    struct outcome outcome = conform_settle(code, &status);
    if (code == FFI_OK) {
        outcome.ticket = ticket;
    } else {
        expect_u64(UNTOUCHED, ticket,
                   "out_ticket of a refused submit [i1.out-only-on-ok]");
    }
    return outcome;
}

static uint64_t
submit(struct host *host, const CallHeader *header, const void *input,
       size_t len, uint64_t buffer_id)
{
    struct outcome outcome =
        host_try_submit(host, header, input, len, buffer_id);
    expect_code(FFI_OK, outcome.code, "submit of %zu bytes: %s", len,
                outcome.msg == NULL ? "" : outcome.msg);
    return outcome.ticket;
}

uint64_t
host_submit(struct host *host, uint32_t flags, const void *input, size_t len)
{
    const CallHeader header = {.flags = flags};
    return submit(host, &header, input, len, 0);
}

uint64_t
host_submit_header(struct host *host, const CallHeader *header,
                   const void *input, size_t len)
{
    return submit(host, header, input, len, 0);
}

uint64_t
host_submit_buffer(struct host *host, const CallHeader *header,
                   uint64_t buffer_id)
{
    return submit(host, header, NULL, 0, buffer_id);
}

static bool
is_full(const struct outcome *outcome)
{
    return outcome->code == FFI_ERR && outcome->msg != NULL &&
           memmem(outcome->msg, outcome->msg_len, "full", 4) != NULL;
}

uint64_t
host_submit_patiently(struct host *host, const CallHeader *header,
                      const void *input, size_t len)
{
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    uint32_t turn = 0;
    for (;;) {
        struct outcome outcome = host_try_submit(host, header, input, len, 0);
        if (!is_full(&outcome) || conform_now_ns() >= deadline) {
            expect_code(FFI_OK, outcome.code, "submit of %zu bytes: %s", len,
                        outcome.msg == NULL ? "" : outcome.msg);
            return outcome.ticket;
        }
        conform_pause(turn++);
    }
}

void
host_adopt(struct host *host, uint64_t ticket)
{
    ledger_begin(&host->ledger);
    ledger_end(&host->ledger, true, ticket);
    conform_ticket_adopted(ticket);
}

/* ---- Taking ------------------------------------------------------------ */

/* Copies what take gave and frees its buffer. */
static void
collect(struct host *host, struct outcome *outcome, const uint8_t *bytes,
        size_t len)
{
    outcome->address = (uintptr_t)bytes;
    outcome->len = len;
    if (outcome->id == 0) {
        expect_ptr(NULL, bytes,
                   "pointer of an empty result of ticket %" PRIu64
                   " [i1.take-empty]",
                   outcome->ticket);
        expect_u64(0, len,
                   "length of an empty result of ticket %" PRIu64
                   " [i1.take-empty]",
                   outcome->ticket);
        return;
    }
    expect(bytes != NULL && len > 0,
           "ticket %" PRIu64 ": a result with an id has bytes",
           outcome->ticket);
    outcome->bytes = conform_copy(bytes, len);
    host_buffer_free(host, outcome->id & ~GUSSET_TAKE_OWNED_FLAG);
}

struct outcome
host_take(struct host *host, uint64_t ticket)
{
    uint64_t id = UNTOUCHED;
    uint8_t *bytes = (uint8_t *)(uintptr_t)UNTOUCHED;
    size_t len = (size_t)UNTOUCHED;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.take(host->handle, ticket, &id, &bytes, &len, &status);
    struct outcome outcome = conform_settle(code, &status);
    outcome.ticket = ticket;
    if (code == FFI_OK) {
        outcome.id = id;
        collect(host, &outcome, bytes, len);
        return outcome;
    }
    expect_u64(UNTOUCHED, id,
               "out_buf_id of a failed take [i1.out-only-on-ok]");
    expect_u64(UNTOUCHED, (uintptr_t)bytes,
               "out_ptr of a failed take [i1.out-only-on-ok]");
    expect_u64(UNTOUCHED, len, "out_len of a failed take [i1.out-only-on-ok]");
    return outcome;
}

struct outcome
host_outcome(struct host *host, const struct completion *done)
{
    if (!done->inlined) {
        return host_take(host, done->ticket);
    }
    struct outcome outcome = {.code = FFI_OK,
                              .ticket = done->ticket,
                              .inlined = true,
                              .len = done->len};
    if (done->len > 0) {
        outcome.bytes = conform_copy(done->bytes, done->len);
    }
    return outcome;
}

struct outcome
host_call_header(struct host *host, const CallHeader *header, const void *input,
                 size_t len)
{
    uint64_t ticket = host_submit_header(host, header, input, len);
    struct completion done = host_wait(host, ticket);
    return host_outcome(host, &done);
}

struct outcome
host_call(struct host *host, uint32_t flags, const void *input, size_t len)
{
    const CallHeader header = {.flags = flags};
    return host_call_header(host, &header, input, len);
}

/* ---- Buffers ----------------------------------------------------------- */

uint64_t
host_buffer(struct host *host, const void *bytes, size_t len, uint8_t **address)
{
    uint64_t id = 0;
    uint8_t *memory = NULL;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.buf_alloc(host->handle, len, &id, &memory, &status);
    struct outcome outcome = conform_settle(code, &status);
    expect_code(FFI_OK, code, "buf_alloc of %zu bytes: %s", len,
                outcome.msg == NULL ? "" : outcome.msg);
    expect(id != 0 && id < GUSSET_TAKE_OWNED_FLAG,
           "buffer id 0x%" PRIx64 " is non-zero and below 2^63 "
           "[i1.ids-unique]",
           id);
    expect(memory != NULL, "buf_alloc of %zu bytes gave a pointer", len);
    if (bytes != NULL) {
        memcpy(memory, bytes, len);
    }
    if (address != NULL) {
        *address = memory;
    }
    return id;
}

void
host_buffer_free(struct host *host, uint64_t id)
{
    FfiStatus status = conform_dirty_status();
    int32_t code = api.buf_free(host->handle, id, &status);
    struct outcome outcome = conform_settle(code, &status);
    expect_code(FFI_OK, code, "buf_free of %" PRIu64 ": %s", id,
                outcome.msg == NULL ? "" : outcome.msg);
}

/* ---- Closing ----------------------------------------------------------- */

static void
check_transports(struct host *host)
{
    if (!host->has_ring) {
        return;
    }
    expect_u64_at_most(host->ring.announced, host->tokens,
                       "tokens in the pipe, `waiting` was set %" PRIu64
                       " times [i4.ring-wake]",
                       host->ring.announced);
    if (host->ring_first) {
        expect_u64(host->from_pipe, ring_overflow(&host->ring),
                   "`overflow` at rest is the number of completions read from "
                   "the pipe [i4.ring-overflow]");
    }
}

static bool
is_refusal(const struct outcome *outcome)
{
    static const char text[] = "not found or already taken";
    return outcome->code == FFI_ERR && outcome->msg != NULL &&
           memmem(outcome->msg, outcome->msg_len, text, sizeof text - 1) !=
               NULL;
}

/*
 * Every ticket has one result [i4.exactly-once]: one that is out is refused
 * from then on; of those that nobody took every second one is taken now, and
 * the others are left for close to free.
 */
static void
check_results(struct host *host)
{
    enum { SOME = 32 };
    uint64_t tickets[SOME];
    size_t count = ledger_some_seen(&host->ledger, tickets, SOME);
    bool leave = false;
    for (size_t i = 0; i < count; i++) {
        bool is_out = conform_ticket_is_out(tickets[i]);
        if (conform_ticket_is_doubtful(tickets[i])) {
            continue;
        }
        leave = is_out ? leave : !leave;
        if (!is_out && leave) {
            continue;
        }
        struct outcome outcome = host_take(host, tickets[i]);
        expect(is_refusal(&outcome) == is_out,
               "result of ticket %" PRIu64 ", %s: %s [i4.exactly-once]",
               tickets[i],
               is_out ? "taken already, doubled" : "never taken, missing",
               conform_code_name(outcome.code));
    }
}

void
host_close(struct host *host)
{
    while (ledger_owed(&host->ledger) > 0) {
        (void)host_next(host);
    }
    check_results(host);
    FfiStatus status = conform_dirty_status();
    int32_t code = api.handle_close(host->handle, &status);
    struct outcome outcome = conform_settle(code, &status);
    expect_code(FFI_OK, code, "handle_close: %s",
                outcome.msg == NULL ? "" : outcome.msg);
    host->handle = NULL;
    host_read_to_eof(host);
    host_drain_ring(host);
    ledger_settle(&host->ledger);
    check_transports(host);
    if (host->has_ring) {
        ring_check_words(&host->ring);
        ring_check_untouched(&host->ring);
        api.ring_release(host->ring.ring);
        host->has_ring = false;
    }
    close(host->read_fd);
    host->read_fd = -1;
}

void
host_forget(struct host *host)
{
    /* Case memory: gone with the process. */
    (void)host;
}

void
conform_fresh_handle_works(void)
{
    static const uint8_t input[] = {0, 'f', 'r', 'e', 's', 'h'};
    struct host *host = host_open_with(2, CONFORM_PIPE);
    struct outcome outcome = host_call(host, DIAGNOSTIC, input, sizeof input);
    expect_code(FFI_OK, outcome.code,
                "echo on a fresh handle [i2.poison-per-handle]: %s",
                outcome.msg == NULL ? "" : outcome.msg);
    expect_bytes(input, sizeof input, outcome.bytes, outcome.len,
                 "echo on a fresh handle [i2.poison-per-handle]");
    host_close(host);
}
