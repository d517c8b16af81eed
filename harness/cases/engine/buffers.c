/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Results that the engine built in buffers of its handle, and what it leaves
 * there. */
#include "engine.h"

static uint64_t
live_bytes(void)
{
    AllocStats stats;
    api.alloc_stats(&stats);
    return stats.live_bytes;
}

struct taken {
    int32_t code;
    uint64_t id;
    uint8_t *ptr;
    size_t len;
};

static struct taken
take(struct host *host, uint64_t ticket)
{
    struct taken taken = {0};
    FfiStatus status = conform_dirty_status();
    taken.code = api.take(host_handle(host), ticket, &taken.id, &taken.ptr,
                          &taken.len, &status);
    (void)conform_settle(taken.code, &status);
    return taken;
}

/* A bare ticket was asked for: the result has to be taken. */
static void
expect_built(struct host *host, size_t len)
{
    const uint8_t *bytes = conform_pattern(len, 0, len);
    uint64_t before = live_bytes();
    uint64_t ticket = te_submit_make(host, 0, TE_BUFFER, bytes, len);
    expect(!host_wait(host, ticket).inlined, "a bare ticket was asked for");
    struct taken result = take(host, ticket);
    expect_code(FFI_OK, result.code, "a result of %zu bytes", len);
    expect_bytes(bytes, len, result.ptr, result.len, "a result of %zu bytes",
                 len);
    expect_u64(0, (uintptr_t)result.ptr % GUSSET_BUFFER_ALIGNMENT,
               "alignment of a result of %zu bytes", len);
    expect((result.id & ~GUSSET_TAKE_OWNED_FLAG) != 0,
           "the id of a result of %zu bytes", len);
    if (len > 4096) {
        expect((result.id & GUSSET_TAKE_OWNED_FLAG) != 0,
               "bit 63 of the id of a result of %zu bytes", len);
        expect_u64_at_least(len, live_bytes() - before,
                            "live_bytes of a result of %zu bytes", len);
        /* With bit 63 the id is an unknown one. */
        host_buffer_free(host, result.id);
        expect_bytes(bytes, len, result.ptr, result.len,
                     "the result after a buf_free with bit 63");
    }
    host_buffer_free(host, result.id & ~GUSSET_TAKE_OWNED_FLAG);
    expect_u64(before, live_bytes(), "live_bytes after a result of %zu bytes",
               len);
}

CONFORM_CASE(
    built_sizes, .id = "i1.take-large.test-engine-built",
    .clauses = "i1.take-large i1.take-small i1.buf-aligned l.stats-complete",
    .why = "A length kept in 12, 16 or 20 bits, a flag at the wrong edge, or "
           "a buffer that its result does not own.",
    .steps = "The engine builds results of 1, 47, 48, 49, 4095, 4096, 4097 "
             "bytes, 64 KiB, 1 MiB and 16 MiB in buffers (mode 3); take, free "
             "with bit 63, free.",
    .expected = "Every byte, 64-byte aligned; bit 63 above 4096 bytes; the id "
                "with bit 63 frees nothing, without it all.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "engine-built-without-flag owned-flag-ignored-in-ids")
{
    static const size_t sizes[] = {1,    47,   48,    49,      4095,
                                   4096, 4097, 65536, 1 << 20, 16 << 20};
    struct host *host = host_open(1);
    te_warm_up(host);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        expect_built(host, sizes[i]);
    host_close(host);
}

CONFORM_CASE(
    built_inline, .id = "i4.pipe-record.test-engine-built",
    .clauses = "i4.pipe-record i4.ring-record i1.take-empty",
    .why = "A result that lies in a buffer and also fits a record is "
           "delivered twice, torn, or leaks its buffer.",
    .steps = "With flag bit 1: results of 0, 1, 47, 48 and 49 bytes built in "
             "buffers.",
    .expected = "Inline up to 48 bytes or a bare ticket; every byte; an empty "
                "one is no buffer (or FFI_ERR: a buffer of 0 bytes need not "
                "exist); live_bytes back.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "engine-buffer-leaks-inline")
{
    static const size_t sizes[] = {0, 1, 47, 48, 49};
    struct host *host = host_open(1);
    te_warm_up(host);
    uint64_t before = live_bytes();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint8_t *bytes = conform_pattern(sizes[i], 0, i);
        uint64_t ticket =
            te_submit_make(host, INLINE, TE_BUFFER, bytes, sizes[i]);
        struct completion done = host_wait(host, ticket);
        expect(!done.inlined || sizes[i] <= GUSSET_INLINE_RESULT_MAX,
               "%zu bytes are not inline", sizes[i]);
        struct outcome o = host_outcome(host, &done);
        if (sizes[i] == 0 && o.code == FFI_ERR)
            continue;
        expect_success_is(&o, bytes, sizes[i], "a small built result");
        if (sizes[i] == 0 && !o.inlined) {
            expect_u64(0, o.id, "id of an empty result");
            expect_u64(0, o.address, "address of an empty result");
        }
    }
    expect_u64(before, live_bytes(), "live_bytes after small built results");
    host_close(host);
}

CONFORM_CASE(
    free_under_engine, .id = "i1.free-under-job.test-engine",
    .clauses = "i1.free-under-job i1.input-buffer-rule",
    .why = "An engine that reads its input late reads what another job has "
           "put there.",
    .steps = "Buffers of 5000 bytes and 1 MiB are freed while the engine "
             "sleeps on them (mode 7) and buffers of the same size with "
             "other bytes are made.",
    .expected = "The echo of the freed bytes; live_bytes back.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "free-under-job-frees", .tags = CONFORM_SLEEPS)
{
    static const size_t sizes[] = {5000, 1 << 20};
    struct host *host = host_open(2);
    CallHeader header = te_header(0, 0);
    te_warm_up(host);
    uint64_t before = live_bytes();
    for (size_t i = 0; i < 2; i++) {
        uint8_t *bytes = conform_pattern(sizes[i], TE_SLEEP, i);
        bytes[1] = 1;
        bytes[2] = 0;
        uint64_t id = host_buffer(host, bytes, sizes[i], NULL);
        uint64_t ticket = host_submit_buffer(host, &header, id);
        host_buffer_free(host, id);
        uint64_t other =
            host_buffer(host, conform_pattern(sizes[i], 0, 77), sizes[i], NULL);
        struct outcome o = job_finish(host, ticket);
        expect_success_is(&o, bytes, sizes[i], "the echo of a freed buffer");
        host_buffer_free(host, other);
    }
    expect_u64(before, live_bytes(), "live_bytes at the end");
    host_close(host);
}

CONFORM_CASE(
    kept, .id = "i1.close-releases-all.engine-made",
    .clauses = "i1.close-releases-all l.stats-complete",
    .why = "Buffers that an engine made and nobody ever returned outlive "
           "their handle.",
    .steps = "The engine makes 10 buffers of 64 KiB that are never an output "
             "(mode 4), and 5 that are but are never taken (mode 3); close.",
    .expected = "live_bytes counts all 15, and is back after close.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "engine-buffers-left")
{
    uint64_t before = live_bytes();
    struct host *host = host_open(2);
    const uint8_t *bytes = conform_pattern(65536, 0, 3);
    for (int i = 0; i < 10; i++)
        (void)te_made(host, bytes, 65536);
    for (int i = 0; i < 5; i++)
        host_wait(host, te_submit_make(host, 0, TE_BUFFER, bytes, 65536));
    expect_u64_at_least(15 * 65536, live_bytes() - before,
                        "live_bytes of what the engine made");
    host_close(host);
    expect_u64(before, live_bytes(), "live_bytes after close");
}
