/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every export with a NULL in each pointer in turn, and with the extremes of
 * each integer [i2.exports-contained].
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zoo.h"

/* Each call twice, so that the status itself is one of the NULLs. */
#define BAD_ARG(call_with, what)                                       \
    do {                                                               \
        FfiStatus status_ = conform_dirty_status();                    \
        FfiStatus *status = &status_;                                  \
        struct outcome o_ = conform_settle((call_with), status);       \
        expect_code(FFI_BAD_ARG, o_.code, what);                       \
        zoo_expect_no_place(&o_, what);                                \
        status = NULL;                                                 \
        expect_code(FFI_BAD_ARG, (call_with), what ", and no status"); \
    } while (0)

struct outs {
    uint64_t ticket;
    uint64_t id;
    uint8_t *ptr;
    size_t len;
    const GussetRing *ring;
    const uint8_t *shared;
    const uint8_t *slots;
    uint64_t capacity;
};

static void
null_out_pointers(GussetHandle *h, uint64_t ticket)
{
    struct outs o;
    memset(&o, 0, sizeof o);
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    BAD_ARG(api.submit(h, NULL, NULL, 0, 0, &o.ticket, status),
            "submit: NULL header");
    BAD_ARG(api.submit(h, &header, NULL, 0, 0, NULL, status),
            "submit: NULL out_ticket");
    BAD_ARG(api.submit(h, &header, NULL, 1, 0, &o.ticket, status),
            "submit: NULL input with a length");
    BAD_ARG(api.submit(h, &header, NULL, SIZE_MAX, 0, &o.ticket, status),
            "submit: NULL input with SIZE_MAX");
    BAD_ARG(api.take(h, ticket, NULL, &o.ptr, &o.len, status),
            "take: NULL out_buf_id");
    BAD_ARG(api.take(h, ticket, &o.id, NULL, &o.len, status),
            "take: NULL out_ptr");
    BAD_ARG(api.take(h, ticket, &o.id, &o.ptr, NULL, status),
            "take: NULL out_len");
    BAD_ARG(api.take(h, ticket, NULL, NULL, NULL, status),
            "take: all out pointers NULL");
    BAD_ARG(api.buf_alloc(h, 64, NULL, &o.ptr, status),
            "buf_alloc: NULL out_id");
    BAD_ARG(api.buf_alloc(h, 64, &o.id, NULL, status),
            "buf_alloc: NULL out_ptr");
    BAD_ARG(api.handle_ring(h, NULL, &o.shared, &o.slots, &o.capacity, status),
            "handle_ring: NULL out_ring");
    BAD_ARG(api.handle_ring(h, &o.ring, NULL, &o.slots, &o.capacity, status),
            "handle_ring: NULL out_shared");
    BAD_ARG(api.handle_ring(h, &o.ring, &o.shared, NULL, &o.capacity, status),
            "handle_ring: NULL out_slots");
    BAD_ARG(api.handle_ring(h, &o.ring, &o.shared, &o.slots, NULL, status),
            "handle_ring: NULL out_capacity");
}

static void
null_handles(void)
{
    struct outs o;
    memset(&o, 0, sizeof o);
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    BAD_ARG(api.handle_close(NULL, status), "handle_close: NULL handle");
    BAD_ARG(api.handle_ring(NULL, &o.ring, &o.shared, &o.slots, &o.capacity,
                            status),
            "handle_ring: NULL handle");
    BAD_ARG(api.submit(NULL, &header, NULL, 0, 0, &o.ticket, status),
            "submit: NULL handle");
    BAD_ARG(api.take(NULL, 1, &o.id, &o.ptr, &o.len, status),
            "take: NULL handle");
    BAD_ARG(api.cancel(NULL, 1, status), "cancel: NULL handle");
    BAD_ARG(api.cancel_all(NULL, status), "cancel_all: NULL handle");
    BAD_ARG(api.buf_alloc(NULL, 64, &o.id, &o.ptr, status),
            "buf_alloc: NULL handle");
    BAD_ARG(api.buf_free(NULL, 1, status), "buf_free: NULL handle");
}

CONFORM_CASE(
    nulls, .id = "i2.exports-contained.null-in-turn",
    .clauses = "i2.exports-contained",
    .why = "A NULL that is followed crashes the host; one that is taken for "
           "a fault of the engine poisons a healthy handle.",
    .steps = "Every export that takes a pointer, NULL in each pointer in "
             "turn, with and without a status, on an open handle with an "
             "uncollected result.",
    .expected = "FFI_BAD_ARG, or a no-op for the void exports; then the "
                "result is taken, a ring attached, the handle healthy and "
                "live_bytes as before.",
    .mutant = "null-handle-not-checked")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open_with(2, CONFORM_PIPE);
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\0kept", 5);
    host_wait(host, ticket);
    null_handles();
    null_out_pointers(host_handle(host), ticket);
    BAD_ARG(api.handle_open(1, host_write_fd(host), NULL, status),
            "handle_open: NULL out_handle");
    expect(fcntl(host_write_fd(host), F_GETFD) != -1,
           "a refused open leaves the descriptor open");

    uint32_t words[32];
    api.abi_layout(NULL);
    api.alloc_stats(NULL);
    api.status_free(NULL);
    api.ring_release(NULL);
    api.drain_logs(NULL, 100, NULL);
    api.drain_logs((uint8_t *)words, sizeof words, NULL);
    size_t written = 77;
    api.drain_logs(NULL, 100, &written);
    expect_u64(0, written, "drain_logs into NULL");
    expect_u64(17, api.abi_fields(NULL, NULL, 0), "abi_fields, nothing");
    expect_u64(17, api.abi_fields(words, NULL, 17), "abi_fields, no sizes");
    expect_u64(17, api.abi_fields(NULL, words, 17), "abi_fields, no offsets");

    struct outcome o = host_take(host, ticket);
    expect_code(FFI_OK, o.code, "the result that refused takes left behind");
    expect_bytes("\0kept", 5, o.bytes, o.len, "the result");
    host_attach_ring(host);
    zoo_expect_healthy(host, "after all the NULLs");
    host_close(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
}

/* ---- Integers ----------------------------------------------------------- */

static void
extreme_opens(int write_fd)
{
    static const uint32_t pools[] = {1025, INT_MAX, UINT32_C(1) << 31,
                                     UINT32_MAX};
    static const int fds[] = {-1, INT_MIN, INT_MAX, 999999};
    GussetHandle *handle = NULL;
    for (size_t i = 0; i < 4; i++) {
        FfiStatus status = conform_dirty_status();
        int32_t code = api.handle_open(pools[i], write_fd, &handle, &status);
        struct outcome o = conform_settle(code, &status);
        expect(o.code == FFI_ERR || o.code == FFI_BAD_ARG,
               "a pool of %u is refused, not %s", pools[i],
               conform_code_name(o.code));
        status = conform_dirty_status();
        code = api.handle_open(1, fds[i], &handle, &status);
        o = conform_settle(code, &status);
        expect(o.code == FFI_ERR || o.code == FFI_BAD_ARG,
               "descriptor %d is refused, not %s", fds[i],
               conform_code_name(o.code));
    }
}

static const uint64_t extremes[] = {0,
                                    1,
                                    INT32_MAX,
                                    UINT32_MAX,
                                    (uint64_t)UINT32_MAX + 1,
                                    INT64_MAX - 1,
                                    INT64_MAX,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
#define EXTREMES (sizeof(extremes) / sizeof(extremes[0]))

static void
extreme_ids(struct host *host)
{
    GussetHandle *handle = host_handle(host);
    struct outs o;
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    for (size_t i = 0; i < EXTREMES; i++) {
        unsigned long long value = extremes[i];
        FfiStatus status = conform_dirty_status();
        int32_t code = api.take(handle, value, &o.id, &o.ptr, &o.len, &status);
        expect_code(FFI_ERR, conform_settle(code, &status).code,
                    "take of ticket %llu", value);
        status = conform_dirty_status();
        code = api.cancel(handle, value, &status);
        expect_code(FFI_OK, conform_settle(code, &status).code,
                    "cancel of ticket %llu", value);
        status = conform_dirty_status();
        code = api.buf_free(handle, value, &status);
        expect_code(FFI_OK, conform_settle(code, &status).code,
                    "buf_free of id %llu", value);
        if (value == 0)
            continue;
        struct outcome refusal = host_try_submit(host, &header, "\1", 1, value);
        expect_code(FFI_ERR, refusal.code, "submit of buffer %llu", value);
    }
}

static void
extreme_lengths(struct host *host)
{
    static const size_t over[] = {4097,
                                  (size_t)INT32_MAX,
                                  (size_t)UINT32_MAX,
                                  (size_t)1 << 40,
                                  SIZE_MAX - 4096,
                                  SIZE_MAX};
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    const uint8_t *bytes = conform_pattern(4097, 0, 0);
    struct outs o;
    for (size_t i = 0; i < sizeof over / sizeof over[0]; i++) {
        struct outcome refusal =
            host_try_submit(host, &header, bytes, over[i], 0);
        expect_code(FFI_BAD_ARG, refusal.code, "submit of %zu bytes", over[i]);
        if (over[i] <= GUSSET_MAX_BUFFER_BYTES)
            continue;
        expect_code(
            FFI_ERR,
            api.buf_alloc(host_handle(host), over[i], &o.id, &o.ptr, NULL),
            "buf_alloc of %zu bytes", over[i]);
    }
    /* Zero-length drains take nothing, whatever the pointer. */
    size_t written = 77;
    uint8_t byte = 0x5a;
    api.drain_logs(&byte, 0, &written);
    expect_u64(0, written, "drain_logs of 0 bytes");
    expect_u64(0x5a, byte, "the byte behind a drain of 0 bytes");
    expect_u64(17, api.abi_fields(NULL, NULL, UINT32_MAX),
               "abi_fields with the largest cap");
}

static void
extreme_timeouts(struct host *host)
{
    for (size_t i = 0; i < EXTREMES; i++) {
        CallHeader header = zoo_header(DIAGNOSTIC, 0);
        header.timeout_ns = extremes[i];
        struct outcome o = host_call_header(host, &header, "\0t", 2);
        expect(o.code == FFI_OK || o.code == FFI_ERR,
               "an echo with timeout_ns %llu: %s",
               (unsigned long long)extremes[i], conform_code_name(o.code));
    }
}

/* No parameter of a mode, however extreme, may end a process or a pool. */
static void
extreme_inputs(struct host *host)
{
    static const uint8_t modes[] = {0, 6, 7, 8, 10, 11, 14, 16};
    for (size_t i = 0; i < sizeof modes; i++) {
        uint8_t input[6] = {modes[i], 255, 255, 255, 255, 255};
        if (modes[i] == 11)
            put_u32le(input + 1, 100000);
        struct outcome o = host_call(host, DIAGNOSTIC, input, sizeof input);
        expect_code(modes[i] == 16 ? FFI_ERR : FFI_OK, o.code,
                    "mode %u with extreme parameters", modes[i]);
    }
}

CONFORM_CASE(
    extreme_integers, .id = "i2.exports-contained.extreme-integers",
    .clauses = "i2.exports-contained",
    .why = "A length or id that overflows in a sum, a cast or an index "
           "crashes the host or reaches somebody else's memory.",
    .steps = "Pool sizes, descriptors, tickets, ids, lengths, timeouts, caps, "
             "budgets and mode parameters at the ends of their ranges.",
    .expected = "Refused, harmless or right; the handle is healthy and "
                "live_bytes as before.",
    .transports = CONFORM_BOTH, .mutant = "ticket-index-not-checked")
{
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open(2);
    extreme_opens(host_write_fd(host));
    extreme_ids(host);
    zoo_expect_healthy(host, "after extreme ids");
    extreme_lengths(host);
    extreme_timeouts(host);
    extreme_inputs(host);
    conform_drain_log();
    zoo_expect_healthy(host, "after extreme inputs");
    host_close(host);
    expect_code(FFI_OK, api.shutdown(0), "shutdown(0), nothing in flight");
    expect_code(FFI_OK, api.shutdown(UINT32_MAX),
                "shutdown(2^32-1), nothing in flight");
    expect_code(FFI_OK, api.init(), "init");
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
    conform_fresh_handle_works();
}

CONFORM_CASE(
    panic_inside, .id = "i2.api-panic-poisons.fault-hook",
    .clauses = "i2.api-panic-poisons",
    .why = "A panic caught inside an export is reported but does not latch, "
           "so the handle goes on admitting work on torn state.",
    .steps = "Needs a fault hook that makes one of the exports panic; whether "
             "there is one, or no export can panic, the claims file says.",
    .expected = "Claim impossible: not applicable. Claim hook: FFI_PANIC from "
                "that call, FFI_POISONED afterwards.",
    .needs = "claim:api_panics")
{
    if (conform_claims("api_panics", "impossible"))
        conform_skip("not applicable: the implementation declares that its "
                     "exports cannot panic (claim api_panics = impossible)");
    conform_out_of_reach("the claims file says api_panics = hook, for which "
                         "this harness has no interface");
}
