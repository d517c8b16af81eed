/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ids and tickets at the edges of every width: 2^k - 1, 2^k, 2^k + 1, with and
 * without bit 63, and live ones with one bit changed. A runtime that keeps
 * them in fewer bits than they are passed in finds the wrong thing.
 */
#include <stdio.h>
#include <string.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

/* Edge n of EDGES: all 2^k + d, then the same with bit 63. */
enum { EDGES = 2 * 3 * 64 };

static uint64_t
edge(uint32_t n)
{
    uint64_t value = (UINT64_C(1) << (n / 3 % 64)) + n % 3 - 1;
    return n < EDGES / 2 ? value : value | UINT64_C(1) << 63;
}

/* What is live while the edges are tried. */
struct live {
    struct host *host;
    uint64_t id; /* a buffer's, with `bytes` in it */
    uint8_t *ptr;
    const uint8_t *bytes;
    uint64_t waiting; /* a result that waits to be taken */
};
#define BYTES 5000u

static void
expect_unknown_ticket(struct live *live, uint64_t ticket)
{
    char text[80];
    snprintf(text, sizeof text, "ticket %llu not found or already taken",
             (unsigned long long)ticket);
    struct outcome o = host_take(live->host, ticket);
    expect_code(FFI_ERR, o.code, "take of ticket %#llx",
                (unsigned long long)ticket);
    expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "take of an edge");
}

static void
expect_unknown_buffer(struct live *live, uint64_t id)
{
    char text[64];
    snprintf(text, sizeof text, "buffer id %llu not found",
             (unsigned long long)id);
    struct outcome o = host_try_submit(live->host, &diagnostic, "\1", 1, id);
    expect_code(FFI_ERR, o.code, "submit of buffer id %#llx",
                (unsigned long long)id);
    expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "submit of an edge");
    host_buffer_free(live->host, id);
}

static void
try_number(struct live *live, uint64_t value)
{
    if (value != live->waiting) {
        expect_unknown_ticket(live, value);
        expect_code(FFI_OK, api.cancel(host_handle(live->host), value, NULL),
                    "cancel of ticket %#llx", (unsigned long long)value);
    }
    if (value != live->id && value != 0)
        expect_unknown_buffer(live, value);
}

static void
come_alive(struct live *live)
{
    live->host = host_open(1);
    live->bytes = conform_pattern(BYTES, 0, 11);
    live->id = host_buffer(live->host, live->bytes, BYTES, &live->ptr);
    live->waiting = host_submit(live->host, DIAGNOSTIC, "\0kept", 5);
    host_wait(live->host, live->waiting);
}

static void
expect_alive(struct live *live)
{
    expect_bytes(live->bytes, BYTES, live->ptr, BYTES, "the live buffer");
    struct outcome o = host_take(live->host, live->waiting);
    expect_code(FFI_OK, o.code, "the result that waited");
    expect_bytes("\0kept", 5, o.bytes, o.len, "the result that waited");
    uint64_t ticket = host_submit_buffer(live->host, &diagnostic, live->id);
    host_wait(live->host, ticket);
    o = host_take(live->host, ticket);
    expect_code(FFI_OK, o.code, "a job on the live buffer");
    expect_bytes(live->bytes, BYTES, o.bytes, o.len, "the live buffer's echo");
    AllocStats held, freed;
    api.alloc_stats(&held);
    host_buffer_free(live->host, live->id);
    api.alloc_stats(&freed);
    expect_u64_at_least(BYTES, held.live_bytes - freed.live_bytes,
                        "bytes that the live buffer's own free gave back");
}

CONFORM_CASE(
    power_edges, .id = "i1.take-once.power-of-two-edges",
    .clauses = "i1.take-once i1.buf-unknown-at-submit i1.buf-free-idempotent "
               "i1.take-large i3.cancel-harmless",
    .why = "A ticket or id that is cut to fewer bits, used as an index or "
           "taken for negative reaches something that is alive.",
    .steps = "With a buffer and an uncollected result alive: take, cancel, "
             "submit and buf_free with 2^k-1, 2^k and 2^k+1 for k from 0 to "
             "63, with and without bit 63, and with each live number with "
             "one bit changed.",
    .expected = "FFI_ERR `not found` from take and submit, FFI_OK from "
                "cancel and buf_free; live_bytes as before; buffer and "
                "result are whole.",
    .transports = CONFORM_BOTH, .mutant = "buffer-id-cut-to-32-bits")
{
    struct live live = {0};
    come_alive(&live);
    AllocStats before, after;
    api.alloc_stats(&before);
    for (uint32_t n = 0; n < EDGES; n++)
        try_number(&live, edge(n));
    for (uint32_t bit = 0; bit < 64; bit++) {
        try_number(&live, live.id ^ UINT64_C(1) << bit);
        try_number(&live, live.waiting ^ UINT64_C(1) << bit);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the edges");
    expect_alive(&live);
    host_close(live.host);
}
