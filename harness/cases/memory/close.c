/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a close gives back, what outlives it, and what is the host's alone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

/* ---- Everything goes ---------------------------------------------------- */

/* Leaves something behind of each kind that a handle may own. */
static void
leave_things_behind(struct host *host)
{
    const uint8_t *bytes = conform_pattern(100000, 0, 1);
    uint64_t id = host_buffer(host, bytes, 100000, NULL);
    host_buffer(host, NULL, 1, NULL);
    host_wait(host, host_submit(host, DIAGNOSTIC, bytes, 40));
    host_wait(host, host_submit(host, DIAGNOSTIC, bytes, 4096));
    host_wait(host, host_submit_buffer(host, &diagnostic, id));
    host_wait(host, host_submit(host, 0, "\1", 1));
    host_wait(host, host_submit(host, DIAGNOSTIC, "\20", 1));
    uint64_t held = host_submit_buffer(host, &diagnostic, id);
    host_wait(host, held);
    uint8_t *ptr = NULL;
    size_t len = 0;
    expect_code(FFI_OK,
                api.take(host_handle(host), held, &id, &ptr, &len, NULL),
                "a result that is taken and never freed");
    host_wait(host, host_submit(host, DIAGNOSTIC, "\14", 1));
}

CONFORM_CASE(
    releases_all, .id = "i1.close-releases-all.left-behind",
    .clauses = "i1.close-releases-all l.stats-complete",
    .why = "A handle that forgets one kind of thing it owned leaks it with "
           "every close.",
    .steps = "A handle that owns buffers, small and large results never "
             "taken, taken and never freed, errors and a capped panic text "
             "never read; close; census.",
    .expected = "live_bytes, descriptors and threads exactly as before open, "
                "mappings not above.",
    .transports = CONFORM_BOTH, .mutant = "results-left-at-close")
{
    for (int round = 0; round < 3; round++) {
        struct conform_census before = conform_census_now(0);
        struct host *host = host_open(3);
        leave_things_behind(host);
        AllocStats held;
        api.alloc_stats(&held);
        expect_u64_at_least(300000, held.live_bytes - before.live_bytes,
                            "live_bytes of what is left behind");
        host_close(host);
        struct conform_census after = conform_census_now(before.threads);
        expect_u64(before.live_bytes, after.live_bytes,
                   "live_bytes after close %d", round);
        expect_u64(before.fds, after.fds, "descriptors after close %d", round);
        expect_u64(before.threads, after.threads, "threads after close %d",
                   round);
        if (round > 0)
            expect_u64_at_most(before.mapped_bytes, after.mapped_bytes,
                               "mapped bytes after close %d", round);
    }
}

CONFORM_CASE(
    releases_in_flight, .id = "i1.close-releases-all.in-flight",
    .clauses = "i1.close-releases-all l.close-cancels",
    .why = "Work that is queued or running at close keeps its input, its "
           "slot or its result.",
    .steps = "By hand: open on a pipe, submit 4 jobs on 1 MiB buffers that "
             "are freed at once (two run, two wait), close without reading; "
             "then read the pipe to its end.",
    .expected = "FFI_OK, live_bytes as before open, end of file.")
{
    AllocStats before, after;
    int fds[2];
    GussetHandle *handle = NULL;
    if (pipe(fds) != 0)
        conform_broken("no pipe: %s", strerror(errno));
    api.alloc_stats(&before);
    expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
    for (int i = 0; i < 4; i++) {
        uint64_t id = 0;
        uint64_t ticket = 0;
        uint8_t *bytes = NULL;
        expect_code(FFI_OK, api.buf_alloc(handle, 1 << 20, &id, &bytes, NULL),
                    "buf_alloc");
        bytes[0] = 5;
        bytes[1] = 200;
        expect_code(FFI_OK,
                    api.submit(handle, &diagnostic, NULL, 0, id, &ticket, NULL),
                    "submit");
        expect_code(FFI_OK, api.buf_free(handle, id, NULL), "buf_free");
    }
    FfiStatus status = conform_dirty_status();
    expect_code(FFI_OK,
                conform_settle(api.handle_close(handle, &status), &status).code,
                "close");
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after close");
    struct completion done;
    uint32_t records = 0;
    while (pipe_read_record(fds[0], &done) != 0)
        records++;
    conform_evidence("completions read after close", "%u of 4", records);
    expect_u64_at_most(4, records, "completions after close");
    close(fds[0]);
}

/* Poisoned, with its queue full of units and nothing taken. */
static GussetHandle *
poison_and_fill(int write_fd, const GussetRing **ring, uint32_t *accepted)
{
    static const uint8_t delayed[] = {9, 2, 12};
    static const uint8_t endless[] = {5, 255};
    GussetHandle *handle = NULL;
    const uint8_t *shared, *slots;
    uint64_t capacity, id, ticket;
    uint8_t *bytes = NULL;
    expect_code(FFI_OK, api.handle_open(3, write_fd, &handle, NULL), "open");
    if (ring != NULL)
        expect_code(
            FFI_OK,
            api.handle_ring(handle, ring, &shared, &slots, &capacity, NULL),
            "handle_ring");
    for (int i = 0; i < 20; i++)
        expect_code(FFI_OK, api.buf_alloc(handle, 30000, &id, &bytes, NULL),
                    "buf_alloc");
    memcpy(bytes, endless, sizeof endless);
    for (uint32_t i = 0; i < 9; i++) {
        int32_t code = i % 3 == 0 ? api.submit(handle, &diagnostic, delayed,
                                               sizeof delayed, 0, &ticket, NULL)
                                  : api.submit(handle, &diagnostic, NULL, 0, id,
                                               &ticket, NULL);
        *accepted += code == FFI_OK;
    }
    expect_code(FFI_OK, api.buf_free(handle, id, NULL), "buf_free");
    return handle;
}

static bool
is_poisoned(void *argument)
{
    GussetHandle *handle = argument;
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    int32_t code = api.buf_alloc(handle, 1, &id, &bytes, NULL);
    if (code == FFI_OK)
        api.buf_free(handle, id, NULL);
    return code == FFI_POISONED;
}

CONFORM_CASE(
    releases_poisoned, .id = "i1.close-releases-all.poisoned",
    .clauses = "i1.close-releases-all l.close-cancels "
               "i2.poison-new-work-only",
    .why = "A close that looks at the poison first leaves alone what it "
           "takes for torn, and leaks it.",
    .steps = "By hand, with and without a ring: 20 buffers, long panics and "
             "endless jobs on a buffer that is freed at once, running and "
             "queued; once poisoned, close without reading or taking; census.",
    .expected = "FFI_OK; live_bytes (after the release of the ring), "
                "descriptors and threads as before open; end of file.",
    .mutant = "poisoned-close-keeps-buffers")
{
    for (int round = 0; round < 4; round++) {
        struct conform_census before = conform_census_now(0);
        const GussetRing *ring = NULL;
        uint32_t accepted = 0;
        int fds[2];
        if (pipe(fds) != 0)
            conform_broken("no pipe: %s", strerror(errno));
        GussetHandle *handle =
            poison_and_fill(fds[1], round % 2 ? &ring : NULL, &accepted);
        expect(conform_eventually(is_poisoned, handle), "a panic poisons");
        FfiStatus status = conform_dirty_status();
        int32_t code = api.handle_close(handle, &status);
        expect_code(FFI_OK, conform_settle(code, &status).code, "close");
        api.ring_release(ring);
        struct completion done;
        uint32_t records = 0;
        while (pipe_read_record(fds[0], &done) == 1)
            records++;
        expect_u64_at_most(accepted, records, "completions after close");
        close(fds[0]);
        struct conform_census after = conform_census_now(before.threads);
        expect_u64(before.live_bytes, after.live_bytes,
                   "live_bytes after close %d", round);
        expect_u64(before.fds, after.fds, "descriptors after close %d", round);
        expect_u64(before.threads, after.threads, "threads after close %d",
                   round);
    }
}

/* ---- What outlives it --------------------------------------------------- */

CONFORM_CASE(
    log_outlives, .id = "i1.close-consumes.log-outlives",
    .clauses = "i1.close-consumes",
    .why = "A log that lives in a handle is lost when it is needed most.",
    .steps = "Three log lines on a handle, close it, then drain.",
    .expected = "The three lines, whole.", .mutant = "log-dies-with-the-handle")
{
    conform_drain_log();
    struct host *host = host_open(1);
    struct outcome o = host_call(host, DIAGNOSTIC, "\16\3", 2);
    expect_code(FFI_OK, o.code, "mode 14");
    host_close(host);
    const char *log = conform_drain_log();
    for (int i = 0; i < 3; i++) {
        const char *lines[] = {"worker log event 0\n", "worker log event 1\n",
                               "worker log event 2\n"};
        expect_text(TEXT_CONTAINS, lines[i], log, strlen(log),
                    "the log after close");
    }
}

/* What this thread freed lately is what its next blocks are made of. */
static void
overwrite_freed_memory(void)
{
    void *blocks[1024];
    for (size_t i = 0; i < 1024; i++) {
        size_t len = 16 * (i / 8 + 1);
        blocks[i] = malloc(len);
        if (blocks[i] != NULL)
            memset(blocks[i], 0x5a, len);
    }
    for (size_t i = 0; i < 1024; i++)
        free(blocks[i]);
}

static bool
holds_two(void *argument)
{
    struct conform_ring *ring = argument;
    return ring_sequence(ring, 0) == 1 && ring_sequence(ring, 1) == 2;
}

CONFORM_CASE(
    ring_outlives, .id = "i1.close-consumes.ring-outlives",
    .clauses = "i1.close-consumes i4.ring-outlives-close",
    .why = "A ring that goes with its handle takes the last completions and "
           "the reader with it.",
    .steps = "Attach a ring, finish two jobs, close by hand without reading; "
             "use a ring of another handle; read the first, write its words, "
             "release it.",
    .expected = "Both records, readable and writable until the release; "
                "live_bytes back after it.",
    .mutant = "ring-wiped-at-close")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open_with(1, CONFORM_PIPE);
    host_attach_ring(host);
    struct conform_ring ring = *host_ring(host);
    int read_fd = host_read_fd(host);
    uint64_t tickets[2];
    for (int i = 0; i < 2; i++)
        tickets[i] = host_submit(host, DIAGNOSTIC, "\0", 1);
    expect(conform_eventually(holds_two, &ring), "two records in the ring");
    expect_code(FFI_OK, api.handle_close(host_handle(host), NULL), "close");
    host_forget(host);
    /* Whoever gave the memory back too early finds it used by another. */
    host = host_open_with(1, CONFORM_RING);
    for (int i = 0; i < 20; i++)
        host_call(host, DIAGNOSTIC, "\0other", 6);
    host_close(host);
    overwrite_freed_memory();

    struct completion done[2];
    for (int i = 0; i < 2; i++)
        expect(ring_read(&ring, &done[i]), "record %d after close", i);
    expect(done[0].ticket + done[1].ticket == tickets[0] + tickets[1] &&
               done[0].ticket != done[1].ticket,
           "the records of both tickets");
    ring_announce(&ring);
    expect_u64(1, ring_retract(&ring), "waiting, stored by the reader");
    api.ring_release(ring.ring);
    close(read_fd);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the release");
}

/* ---- Pointers stay ------------------------------------------------------ */

struct kept {
    uint64_t id;
    uint8_t *ptr;
    size_t len;
    const uint8_t *right;
};

static struct kept
keep_result(struct host *host, size_t len, uint64_t seed)
{
    struct kept kept = {.right = conform_pattern(len, 0, seed)};
    uint64_t input = host_buffer(host, kept.right, len, NULL);
    uint64_t ticket = host_submit_buffer(host, &diagnostic, input);
    host_wait(host, ticket);
    int32_t code = api.take(host_handle(host), ticket, &kept.id, &kept.ptr,
                            &kept.len, NULL);
    expect_code(FFI_OK, code, "take of %zu bytes", len);
    host_buffer_free(host, input);
    kept.id &= ~GUSSET_TAKE_OWNED_FLAG;
    return kept;
}

static void
expect_kept(const struct kept *kept, size_t count, const char *when)
{
    for (size_t i = 0; i < count; i++)
        expect_bytes(kept[i].right, kept[i].len, kept[i].ptr, kept[i].len,
                     "kept memory %zu of %zu bytes, %s", i, kept[i].len, when);
}

CONFORM_CASE(
    pointer_valid, .id = "i1.pointer-valid-until-free.whatever-happens",
    .clauses = "i1.pointer-valid-until-free",
    .why = "A pointer that moves or dies with somebody else's take, a panic "
           "or a shutdown is read by a host that was promised it.",
    .steps = "Hold taken results of 1 to 1 MiB bytes and a buffer; then 200 "
             "other takes and frees, a ring, a shutdown and an init, a panic, "
             "cancel_all; compare each time.",
    .expected = "The same bytes at the same addresses; each freed once gives "
                "its bytes back.",
    .transports = CONFORM_BOTH, .mutant = "panic-wipes-buffers")
{
    static const size_t sizes[] = {1, 48, 4096, 4097, 65536, 1 << 20};
    enum { COUNT = 7 };
    struct kept kept[COUNT];
    struct host *host = host_open(2);
    for (size_t i = 0; i < 6; i++)
        kept[i] = keep_result(host, sizes[i], i);
    kept[6] = (struct kept){.len = 9000, .right = conform_pattern(9000, 1, 9)};
    kept[6].id = host_buffer(host, kept[6].right, 9000, &kept[6].ptr);
    expect_kept(kept, COUNT, "fresh");

    for (size_t i = 0; i < 200; i++) {
        struct kept other = keep_result(host, sizes[i % 5], 100 + i);
        host_buffer_free(host, other.id);
    }
    expect_kept(kept, COUNT, "after 200 other takes");
    expect_code(FFI_OK, api.shutdown(5000), "shutdown");
    expect_kept(kept, COUNT, "during a shutdown");
    expect_code(FFI_OK, api.init(), "init");
    struct outcome panic = host_call(host, DIAGNOSTIC, "\1", 1);
    expect_code(FFI_PANIC, panic.code, "a panic");
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    expect_kept(kept, COUNT, "after a panic");
    for (size_t i = 0; i < COUNT; i++) {
        AllocStats had, have;
        api.alloc_stats(&had);
        host_buffer_free(host, kept[i].id);
        api.alloc_stats(&have);
        if (kept[i].len > 4096)
            expect_u64_at_least(kept[i].len, had.live_bytes - have.live_bytes,
                                "bytes that the free gave back");
        expect_kept(kept + i + 1, COUNT - i - 1, "after another's free");
    }
    host_close(host);
}

/* ---- The host's memory is the host's ------------------------------------ */

CONFORM_CASE(
    no_libc_free, .id = "i1.no-libc-free.memory-of-no-allocator",
    .clauses = "i1.no-libc-free i1.status-reset",
    .why = "A library that frees or grows what the host passed in works as "
           "long as both use one malloc, and corrupts the heap otherwise.",
    .steps = "Every argument of every call lies in pages of its own that no "
             "malloc knows, out-parameters prefilled with pointers into "
             "them; success and failure of each; then compare and unmap.",
    .expected = "No crash; the inputs unchanged; each page still the "
                "case's to unmap.",
    .transports = CONFORM_BOTH)
{
    struct arguments {
        CallHeader header;
        FfiStatus status;
        uint64_t ticket, id;
        uint8_t *ptr;
        size_t len;
        uint8_t input[64];
    } *a = conform_fence(sizeof *a);
    uint8_t *page = conform_fence(64);
    memset(page, 0x77, 64);
    struct host *host = host_open(1);
    GussetHandle *handle = host_handle(host);
    for (int round = 0; round < 20; round++) {
        memset(a, 0, sizeof *a);
        a->header.flags = DIAGNOSTIC;
        memset(a->input + 1, round, sizeof a->input - 1);
        a->ptr = page;
        a->status = (FfiStatus){.msg = page, .msg_len = 64, .file = page};
        expect_code(FFI_OK,
                    api.submit(handle, &a->header, a->input, 64, 0, &a->ticket,
                               &a->status),
                    "submit");
        host_adopt(host, a->ticket);
        host_wait(host, a->ticket);
        a->status = (FfiStatus){.msg = page, .msg_len = 64, .file = page};
        a->id = (uintptr_t)page;
        expect_code(
            FFI_OK,
            api.take(handle, a->ticket, &a->id, &a->ptr, &a->len, &a->status),
            "take");
        expect_bytes(a->input, 64, a->ptr, a->len, "the echo");
        expect_code(FFI_OK, api.buf_free(handle, a->id, &a->status), "free");
        a->ptr = page;
        a->status = (FfiStatus){.msg = page, .msg_len = 64, .file = page};
        expect_code(
            FFI_ERR,
            api.take(handle, a->ticket, &a->id, &a->ptr, &a->len, &a->status),
            "a second take");
        expect(a->status.msg != page, "a message of the library's own");
        api.status_free(&a->status);
        a->status = (FfiStatus){.msg = page, .msg_len = 64, .file = page};
        expect_code(FFI_OK,
                    api.buf_alloc(handle, 100, &a->id, &a->ptr, &a->status),
                    "buf_alloc");
        expect(a->ptr != page, "a buffer of the library's own");
        expect_code(FFI_OK, api.buf_free(handle, a->id, NULL), "buf_free");
    }
    for (int i = 0; i < 64; i++)
        expect_u64(0x77, page[i], "byte %d of the host's own page", i);
    host_close(host);
    conform_fence_free(a);
    conform_fence_free(page);
}

/* ---- i1.check-order ----------------------------------------------------- */

CONFORM_CASE(
    check_order, .id = "i1.check-order.null-then-poison-then-rest",
    .clauses = "i1.check-order i2.poison-latch",
    .why = "A host that cannot tell a poisoned handle from its own mistake "
           "retries for ever, or gives up a healthy one.",
    .steps = "On a poisoned handle: NULLs together with every other reason; "
             "then each reason of the third kind alone, healthy and "
             "poisoned, in and out of a shutdown.",
    .expected = "NULL: BAD_ARG, poisoned or not. Poisoned: FFI_POISONED "
                "before flags, lengths, buffer ids, a shutdown. Healthy: the "
                "reason's own code.",
    .transports = CONFORM_BOTH, .mutant = "poison-after-the-rest")
{
    struct host *bad = host_open(1);
    struct host *good = host_open(1);
    GussetHandle *handle = host_handle(bad);
    host_call(bad, DIAGNOSTIC, "\1", 1);
    CallHeader odd = {.flags = 0x80000000u, .reserved = 7};
    const uint8_t *bytes = conform_pattern(5000, 0, 0);
    uint64_t out = 0;
    uint8_t *ptr = NULL;
    for (int shut = 0; shut < 2; shut++) {
        if (shut)
            expect_code(FFI_OK, api.shutdown(5000), "shutdown");
        expect_code(FFI_BAD_ARG,
                    api.submit(handle, NULL, NULL, 5, 99, &out, NULL),
                    "NULL header on a poisoned handle, shutdown %d", shut);
        expect_code(FFI_BAD_ARG,
                    api.submit(handle, &odd, bytes, 5000, 0, NULL, NULL),
                    "NULL out_ticket on a poisoned handle, shutdown %d", shut);
        expect_code(FFI_BAD_ARG, api.buf_alloc(handle, 0, NULL, &ptr, NULL),
                    "NULL out_id on a poisoned handle, shutdown %d", shut);
        for (int i = 0; i < 5; i++) {
            const CallHeader *header = i == 0 ? &odd : &diagnostic;
            const uint8_t *input = i == 1 ? NULL : bytes;
            size_t len = i == 1 ? 1 : i == 2 ? 4097 : 1;
            uint64_t id = i == 3 ? UINT64_C(1) << 62 : 0;
            struct outcome o = host_try_submit(bad, header, input, len, id);
            expect_code(FFI_POISONED, o.code,
                        "reason %d on a poisoned handle, shutdown %d", i, shut);
            if (i == 4 && !shut)
                continue;
            o = host_try_submit(good, header, input, len, id);
            expect(o.code == FFI_ERR || o.code == FFI_BAD_ARG,
                   "reason %d on a healthy handle, shutdown %d: %s", i, shut,
                   conform_code_name(o.code));
        }
        expect_code(FFI_POISONED, api.buf_alloc(handle, 0, &out, &ptr, NULL),
                    "length 0 on a poisoned handle");
        expect_code(FFI_POISONED,
                    api.buf_alloc(handle, SIZE_MAX, &out, &ptr, NULL),
                    "SIZE_MAX on a poisoned handle");
    }
    expect_code(FFI_OK, api.init(), "init");
    expect_code(FFI_OK, host_call(good, DIAGNOSTIC, "\0", 1).code, "an echo");
    host_close(bad);
    host_close(good);
}
