/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the host holds stays where it is and as it is, however much comes and
 * goes around it [i1.pointer-valid-until-free], and what it gave away is
 * given back when the last reader is done [i1.input-buffer-rule].
 */
#include <stdatomic.h>
#include <string.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

/* ---- Amid traffic ------------------------------------------------------- */

enum { HELD = 96, PASSING = 1500 };

struct held {
    uint64_t id;
    uint8_t *ptr;
    size_t len;
};

static uint8_t
byte_of(size_t index)
{
    return (uint8_t)(index * 7 + 1);
}

/* By turns a buffer, a small, a large and a generated result. */
static struct held
hold(struct host *host, size_t index)
{
    static const size_t sizes[] = {1, 48, 4096, 4097, 20000};
    struct held held = {.len = sizes[index / 4 % 5]};
    uint8_t *bytes = NULL;
    if (index % 4 == 0) {
        held.id = host_buffer(host, NULL, held.len, &held.ptr);
        memset(held.ptr, byte_of(index), held.len);
        return held;
    }
    size_t len = held.len;
    uint64_t input = host_buffer(host, NULL, len + 2, &bytes);
    memset(bytes, byte_of(index), len + 2);
    if (index % 4 == 1 && len > 5) {
        bytes[0] = 16;
        put_u32le(bytes + 1, (uint32_t)len);
    } else {
        bytes[0] = 9;
        bytes[1] = 0;
        bytes[2] = len > 2 ? 200 : 0; /* an echo */
    }
    uint64_t ticket = host_submit_buffer(host, &diagnostic, input);
    host_wait(host, ticket);
    expect_code(FFI_OK,
                api.take(host_handle(host), ticket, &held.id, &held.ptr,
                         &held.len, NULL),
                "take of held result %zu", index);
    host_buffer_free(host, input);
    held.id &= ~GUSSET_TAKE_OWNED_FLAG;
    expect_u64(len, held.len, "length of held result %zu", index);
    /* The host's own from here on: what it writes must stay as well. */
    memset(held.ptr, byte_of(index), held.len);
    return held;
}

static void
expect_held(const struct held *held, size_t index, const char *when)
{
    for (size_t i = 0; i < held->len; i++) {
        if (held->ptr[i] != byte_of(index))
            expect_u64(byte_of(index), held->ptr[i],
                       "held memory %zu of %zu bytes, byte %zu, %s", index,
                       held->len, i, when);
    }
    expect(held->ptr != NULL, "held memory %zu, %s", index, when);
}

CONFORM_CASE(
    amid_growth, .id = "i1.pointer-valid-until-free.amid-growth",
    .clauses = "i1.pointer-valid-until-free i1.buf-aligned",
    .why = "Memory that lies in a table, an arena or a growing vector moves "
           "when that grows, under the pointer that the host holds.",
    .steps = "Hold 96 buffers and results of 1 to 20 000 bytes, written by "
             "the host; then 1500 further buffers at once, freed in another "
             "order; then free every second held one, then all.",
    .expected = "Every held byte stays as the host wrote it.",
    .transports = CONFORM_BOTH, .mutant = "buffers-move-when-the-table-grows")
{
    static struct held held[HELD];
    static uint64_t passing[PASSING];
    struct host *host = host_open(2);
    for (size_t i = 0; i < HELD; i++)
        held[i] = hold(host, i);
    for (size_t i = 0; i < PASSING; i++) {
        uint8_t *ptr = NULL;
        passing[i] = host_buffer(host, NULL, 1 + i % 300, &ptr);
        expect_u64(0, (uintptr_t)ptr % GUSSET_BUFFER_ALIGNMENT,
                   "alignment of a buffer of %zu", 1 + i % 300);
        memset(ptr, 0xee, 1 + i % 300);
    }
    for (size_t i = 0; i < HELD; i++)
        expect_held(&held[i], i, "beside 1500 others");
    for (size_t i = 0; i < PASSING; i++)
        host_buffer_free(host, passing[i * 7 % PASSING]);
    for (size_t i = 0; i < HELD; i += 2)
        host_buffer_free(host, held[i].id);
    for (size_t i = 1; i < HELD; i += 2)
        expect_held(&held[i], i, "after the others were freed");
    for (size_t i = 1; i < HELD; i += 2)
        host_buffer_free(host, held[i].id);
    host_close(host);
}

/* ---- Readers that end one by one ---------------------------------------- */

static void
end_one(struct host *host, uint64_t ticket)
{
    expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL), "cancel");
    host_wait(host, ticket);
    struct outcome o = host_take(host, ticket);
    expect_text(TEXT_IS, "cancelled: Explicit", o.msg ? o.msg : "", o.msg_len,
                "a reader of the input");
}

struct ceiling {
    uint64_t live_bytes;
};

static bool
live_is_below(void *argument)
{
    AllocStats now;
    api.alloc_stats(&now);
    return now.live_bytes < ((struct ceiling *)argument)->live_bytes;
}

static void
expect_counted(uint64_t before, size_t len, const char *when)
{
    AllocStats now;
    api.alloc_stats(&now);
    expect_u64_at_least(before + len, now.live_bytes,
                        "live_bytes of an input of %zu bytes, %s", len, when);
}

/* Four jobs on four workers; `order` says in which order they end. */
static void
read_and_end(size_t len, const uint8_t *order, int freed_after)
{
    struct host *host = host_open(4);
    AllocStats before;
    uint64_t tickets[4];
    uint8_t *bytes = NULL;
    api.alloc_stats(&before);
    uint64_t id = host_buffer(host, conform_pattern(len, 5, 1), len, &bytes);
    bytes[1] = 255;
    uint8_t *copy = conform_pattern(len, 5, 1);
    copy[1] = 255;
    for (int i = 0; i < 4; i++)
        tickets[i] = host_submit_buffer(host, &diagnostic, id);
    for (int i = 0; i < 4; i++) {
        if (i == freed_after) {
            host_buffer_free(host, id);
            struct outcome o = host_try_submit(host, &diagnostic, NULL, 0, id);
            expect_code(FFI_ERR, o.code, "submit of a freed input");
            expect_text(TEXT_CONTAINS, "not found", o.msg, o.msg_len,
                        "submit of a freed input that is still read");
            host_buffer_free(host, id);
        }
        expect_counted(before.live_bytes, len, "readers are left");
        end_one(host, tickets[order[i]]);
    }
    if (freed_after == 4) {
        expect_counted(before.live_bytes, len, "the host still holds it");
        expect_bytes(copy, len, bytes, len, "the input after all its jobs");
        host_buffer_free(host, id);
    }
    struct ceiling ceiling = {before.live_bytes + len};
    expect(conform_eventually(live_is_below, &ceiling),
           "an input of %zu bytes leaves live_bytes with its last reader or "
           "free",
           len);
    host_close(host);
}

CONFORM_CASE(
    one_by_one, .id = "i1.input-buffer-rule.readers-end-one-by-one",
    .clauses = "i1.input-buffer-rule i1.free-under-job l.stats-complete "
               "i1.buf-unknown-at-submit i1.buf-free-idempotent",
    .why = "Readers that are not counted: the first to end, or the free, "
           "takes the input from the others; or nobody gives it back.",
    .steps = "One buffer of 2 bytes to 1 MiB is the input of four cooperative "
             "jobs at once, freed after none, one, three or all of them have "
             "ended, in three orders.",
    .expected = "Its bytes are counted until the last reader and the host "
                "have let go, then no longer; once freed its id is unknown.",
    .transports = CONFORM_BOTH, .mutant = "first-reader-frees")
{
    static const uint8_t orders[3][4] = {
        {0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}};
    static const size_t sizes[] = {2, 48, 4096, 4097, 65536, 1 << 20, 70000};
    static const int frees[] = {0, 1, 3, 4};
    for (uint32_t n = 0; n < 12; n++)
        read_and_end(sizes[n % 7], orders[n % 3], frees[n % 4]);
}
