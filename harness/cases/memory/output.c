/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What an engine built in a buffer reaches the host without a copy. Which ids
 * it may return is judged in ../engine.
 */
#include <stdatomic.h>

#include "conform.h"
#include "gusset_engine.h"

#define OPCODE 0x6f757400u

/* input[0] of a unit; its length as u64 LE follows. */
enum {
    MAKE_GIVE = 4, /* a new buffer of that length, returned as buffer */
    IN_PLACE = 5   /* gse_output_buffer of that length */
};

static _Atomic uintptr_t built_at;

static uint8_t
byte_at(size_t i)
{
    return (uint8_t)(i * 7 + 6);
}

static void
fill(uint8_t *bytes, size_t len)
{
    atomic_store(&built_at, (uintptr_t)bytes);
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(i);
}

static int32_t
engine(gse_call *call, void *user)
{
    (void)user;
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    uint64_t size = len >= 9 ? get_u64le(input + 1) : 0;
    uint64_t id = 0;
    uint8_t *bytes = NULL;

    if (len > 0 && input[0] == IN_PLACE) {
        bytes = gse_output_buffer(call, size);
    } else if (gse_buffer_new(call, size, &id, &bytes) == GSE_OK) {
        gse_output_buffer_id(call, id);
    }
    if (bytes == NULL) {
        gse_output_errorf(call, "no buffer of %zu bytes", (size_t)size);
        return GSE_FAILED;
    }
    fill(bytes, size);
    return GSE_OK;
}

static struct host *
open_with_engine(uint32_t pool)
{
    expect(gse_register_opcode(OPCODE, engine, NULL) == GSE_OK,
           "the engine registers");
    return host_open(pool);
}

static void
close_with_engine(struct host *host)
{
    host_close(host);
    gse_clear();
}

static const CallHeader to_engine = {.reserved = OPCODE};

static void
expect_filled(const uint8_t *bytes, size_t len, const char *what)
{
    expect(bytes != NULL && len > 0, "%s: there are bytes", what);
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != byte_at(i))
            expect_u64(byte_at(i), bytes[i], "%s: byte %zu of %zu", what, i,
                       len);
    }
}

static void
expect_no_copy(struct host *host, uint8_t command, size_t len)
{
    AllocStats before, held, after;
    api.alloc_stats(&before);
    uint8_t input[9] = {command};
    put_u64le(input + 1, len);
    uint64_t ticket = host_submit_header(host, &to_engine, input, 9);
    host_wait(host, ticket);
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t got = 0;
    int32_t code = api.take(host_handle(host), ticket, &id, &ptr, &got, NULL);
    expect_code(FFI_OK, code, "command %u, %zu bytes", command, len);
    expect_u64(len, got, "length");
    expect_filled(ptr, got, "built in place");
    expect_ptr((void *)atomic_load(&built_at), ptr,
               "the address at which the engine built %zu bytes", len);
    expect_u64(0, (uintptr_t)ptr % GUSSET_BUFFER_ALIGNMENT, "alignment");
    if (len > 4096)
        expect((id & GUSSET_TAKE_OWNED_FLAG) != 0, "bit 63 of %zu bytes", len);
    api.alloc_stats(&held);
    expect_u64_at_least(len, held.live_bytes - before.live_bytes,
                        "live_bytes of a built result");
    expect_u64_at_most(2 * len + 65536, held.live_bytes - before.live_bytes,
                       "live_bytes of a built result");
    host_buffer_free(host, id & ~GUSSET_TAKE_OWNED_FLAG);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the free");
}

CONFORM_CASE(
    output_in_place, .id = "i1.take-large.built-in-place",
    .clauses = "i1.take-large i1.take-small i1.take-large-no-copy "
               "l.stats-complete",
    .why = "A hidden copy of what an engine built in runtime memory doubles "
           "the cost of every large result.",
    .steps = "An engine builds 1, 48, 4096, 4097, 1 MiB and 3 MiB with "
             "gse_output_buffer, and with gse_buffer_new and "
             "gse_output_buffer_id; it notes the address.",
    .expected = "take gives the same address, 64-byte aligned, every byte; "
                "bit 63 over 4096 bytes; freed by its id.",
    .needs = "engine", .transports = CONFORM_BOTH, .mutant = "result-is-a-copy")
{
    static const size_t sizes[] = {1, 48, 4096, 4097, 1 << 20, 3 << 20};
    struct host *host = open_with_engine(1);
    for (size_t i = 0; i < 6; i++) {
        expect_no_copy(host, IN_PLACE, sizes[i]);
        expect_no_copy(host, MAKE_GIVE, sizes[i]);
    }
    close_with_engine(host);
}
