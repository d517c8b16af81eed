/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Who owns what a status points at, and what a call does to it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

/* A failing call whose message the caller now owns. */
static FfiStatus
owned_message(void)
{
    FfiStatus status = conform_dirty_status();
    int32_t code = api.handle_close(NULL, &status);
    expect_code(FFI_BAD_ARG, code, "handle_close(NULL)");
    expect(status.msg != NULL && status.msg_len > 0, "it says why");
    return status;
}

static FfiStatus
owned_panic(struct host *host)
{
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\1", 1);
    host_wait(host, ticket);
    uint64_t id;
    uint8_t *ptr;
    size_t len;
    FfiStatus status = conform_dirty_status();
    int32_t code =
        api.take(host_handle(host), ticket, &id, &ptr, &len, &status);
    expect_code(FFI_PANIC, code, "take of a panic");
    expect(status.file != NULL && status.line > 0, "a panic has its place");
    return status;
}

CONFORM_CASE(
    status_owned, .id = "i1.status-owned.free-and-again",
    .clauses = "i1.status-owned",
    .why = "A stale pointer left in the struct is freed twice; a free that "
           "wipes the rest loses the code and the place.",
    .steps = "status_free on a refusal and on a panic; once more on each; on "
             "NULL; on a zeroed status.",
    .expected = "msg NULL and msg_len 0; code, file, file_len and line as "
                "they were; everything after the first is a no-op.",
    .mutant = "status-free-clears-code")
{
    struct host *host = host_open(1);
    FfiStatus statuses[2] = {owned_message(), owned_panic(host)};
    for (int i = 0; i < 2; i++) {
        FfiStatus before = statuses[i];
        for (int again = 0; again < 3; again++) {
            api.status_free(&statuses[i]);
            expect_ptr(NULL, statuses[i].msg, "msg after status_free");
            expect_u64(0, statuses[i].msg_len, "msg_len after status_free");
            expect_code(before.code, statuses[i].code, "code kept");
            expect_ptr(before.file, statuses[i].file, "file kept");
            expect_u64(before.file_len, statuses[i].file_len, "file_len kept");
            expect_u64(before.line, statuses[i].line, "line kept");
        }
    }
    FfiStatus zero;
    memset(&zero, 0, sizeof zero);
    FfiStatus same = zero;
    api.status_free(&zero);
    expect_bytes(&same, sizeof same, &zero, sizeof zero, "a zeroed status");
    api.status_free(NULL);
    host_close(host);
}

CONFORM_CASE(
    status_leak, .id = "i1.status-owned.freed-is-gone",
    .clauses = "i1.status-owned l.stats-small",
    .why = "Messages that status_free does not give back grow for ever in a "
           "host that is refused often.",
    .steps = "2000 refusals with a status, each freed; live_bytes before and "
             "after.",
    .expected = "live_bytes unchanged.", .mutant = "status-free-leaks")
{
    AllocStats before, after;
    struct host *host = host_open(1);
    api.alloc_stats(&before);
    for (int i = 0; i < 2000; i++) {
        FfiStatus status = owned_message();
        api.status_free(&status);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after 2000 freed messages");
    host_close(host);
}

/* ---- i1.status-reset ---------------------------------------------------- */

/* Success with a status that still holds another call's message. */
#define RESETS(call_with, what)                                         \
    do {                                                                \
        FfiStatus status_ = owned_message();                            \
        FfiStatus old_ = status_;                                       \
        char copy_[512];                                                \
        size_t len_ =                                                   \
            old_.msg_len < sizeof copy_ ? old_.msg_len : sizeof copy_;  \
        memcpy(copy_, old_.msg, len_);                                  \
        status_.file = (const uint8_t *)copy_;                          \
        status_.file_len = 99;                                          \
        status_.line = 1234;                                            \
        FfiStatus *status = &status_;                                   \
        expect_code(FFI_OK, (call_with), what);                         \
        expect_code(FFI_OK, status_.code, what ": code on success");    \
        expect_ptr(NULL, status_.msg, what ": msg on success");         \
        expect_u64(0, status_.msg_len, what ": msg_len on success");    \
        expect_ptr(NULL, status_.file, what ": file on success");       \
        expect_u64(0, status_.file_len, what ": file_len on success");  \
        expect_u64(0, status_.line, what ": line on success");          \
        expect_bytes(copy_, len_, old_.msg, len_,                       \
                     what ": the message that was there is not freed"); \
        api.status_free(&old_);                                         \
    } while (0)

static void
reset_by_traffic(struct host *host)
{
    GussetHandle *h = host_handle(host);
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t len = 0;
    const uint8_t *shared, *slots;
    const GussetRing *ring = NULL;
    uint64_t capacity;
    RESETS(api.buf_alloc(h, 64, &id, &ptr, status), "buf_alloc");
    RESETS(api.buf_free(h, id, status), "buf_free");
    RESETS(api.cancel(h, 1, status), "cancel");
    RESETS(api.cancel_all(h, status), "cancel_all");
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\0abc", 4);
    host_wait(host, ticket);
    RESETS(api.take(h, ticket, &id, &ptr, &len, status), "take");
    expect_bytes("\0abc", 4, ptr, len, "the result");
    RESETS(api.buf_free(h, id, status), "buf_free of a result");
    RESETS(api.handle_ring(h, &ring, &shared, &slots, &capacity, status),
           "handle_ring");
    api.ring_release(ring);
}

CONFORM_CASE(
    status_reset, .id = "i1.status-reset.success", .clauses = "i1.status-reset",
    .why = "A success that leaves the last failure in the status is read as "
           "that failure; one that frees it frees it twice.",
    .steps = "Each export that takes a status succeeds with one that holds "
             "another call's message, a file and a line.",
    .expected = "code 0, msg NULL, msg_len 0, file NULL, file_len 0, line 0; "
                "the old message is intact and can be freed.",
    .mutant = "status-not-reset")
{
    struct host *host = host_open_with(1, CONFORM_PIPE);
    reset_by_traffic(host);
    host_close(host);

    int fds[2];
    if (pipe(fds) != 0)
        conform_broken("no pipe");
    GussetHandle *handle = NULL;
    RESETS(api.handle_open(1, fds[1], &handle, status), "handle_open");
    uint64_t ticket = 0;
    CallHeader header = {.flags = DIAGNOSTIC};
    RESETS(api.submit(handle, &header, NULL, 0, 0, &ticket, status), "submit");
    struct completion done;
    expect_i64(1, pipe_read_record(fds[0], &done), "its completion");
    expect_u64(ticket, done.ticket, "the ticket of that submit");
    RESETS(api.handle_close(handle, status), "handle_close");
    close(fds[0]);
}

CONFORM_CASE(
    status_reset_failure, .id = "i1.status-reset.failure",
    .clauses = "i1.status-reset",
    .why = "A failure that frees the message it finds in the status frees "
           "what the host still owns.",
    .steps = "A failing call with a status that holds another call's "
             "message; then free both.",
    .expected = "Two messages, the old one whole until it is freed.")
{
    FfiStatus status = owned_message();
    FfiStatus old = status;
    char copy[512];
    size_t len = old.msg_len < sizeof copy ? old.msg_len : sizeof copy;
    memcpy(copy, old.msg, len);
    expect_code(FFI_BAD_ARG, api.cancel(NULL, 1, &status), "cancel(NULL)");
    expect(status.msg != NULL && status.msg_len > 0,
           "the failing call has a message");
    expect_bytes(copy, len, old.msg, len, "the message that was there");
    api.status_free(&status);
    api.status_free(&old);
}

/* ---- i1.file-is-static -------------------------------------------------- */

CONFORM_CASE(
    file_is_static, .id = "i1.file-is-static.outlives",
    .clauses = "i1.file-is-static",
    .why = "A file text that is freed with its message or handle is read by "
           "the host's error report afterwards.",
    .steps = "Keep the file of a panic; free the status, close the handle, "
             "let 20 other panics come and go, fill freed memory with junk.",
    .expected = "The same bytes at the same address.",
    .mutant = "file-in-a-shared-buffer")
{
    struct host *host = host_open(1);
    FfiStatus status = owned_panic(host);
    const uint8_t *file = status.file;
    size_t len = status.file_len;
    expect_u64_at_least(1, len, "length of the file");
    expect_u64_at_most(4096, len, "length of the file");
    char copy[4096];
    memcpy(copy, file, len);
    api.status_free(&status);
    host_close(host);
    for (int i = 0; i < 20; i++) {
        host = host_open(1);
        FfiStatus other = owned_panic(host);
        api.status_free(&other);
        host_close(host);
    }
    void *junk[64];
    for (size_t i = 0; i < 64; i++) {
        junk[i] = malloc(16 + i * 8);
        memset(junk[i], 0x5a, 16 + i * 8);
    }
    expect_bytes(copy, len, file, len, "the file of the first panic");
    for (size_t i = 0; i < 64; i++)
        free(junk[i]);
}

CONFORM_CASE(
    message_outlives, .id = "i1.close-consumes.message-outlives",
    .clauses = "i1.close-consumes i1.status-owned",
    .why = "A message that lives in its handle is read by the host's error "
           "report after the close.",
    .steps = "Keep the statuses of a panic and of a refusal; close the "
             "handle; open and use another; read both texts, free both.",
    .expected = "Both texts whole; live_bytes back after the frees.",
    .mutant = "message-wiped-at-close")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open(1);
    FfiStatus statuses[2] = {owned_panic(host), owned_message()};
    char copies[2][1024];
    for (int i = 0; i < 2; i++) {
        expect_u64_at_most(1024, statuses[i].msg_len, "length of a message");
        memcpy(copies[i], statuses[i].msg, statuses[i].msg_len);
    }
    host_close(host);
    conform_fresh_handle_works();
    for (int i = 0; i < 2; i++) {
        expect_bytes(copies[i], statuses[i].msg_len, statuses[i].msg,
                     statuses[i].msg_len, "message %d after close", i);
        api.status_free(&statuses[i]);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes");
}
