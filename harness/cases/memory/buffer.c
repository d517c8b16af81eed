/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers: what is in a new one, where it lies, how large it may be, what
 * its id means.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static const size_t sizes[] = {1,    47,   48,   49,   63,    64,     65,
                               4095, 4096, 4097, 8192, 65536, 1 << 20};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void
expect_zeros(const uint8_t *bytes, size_t len, const char *what)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            expect_u64(0, bytes[i], "%s: byte %zu of %zu", what, i, len);
    }
    expect(bytes != NULL, "%s: a buffer of %zu bytes", what, len);
}

CONFORM_CASE(
    zeroed, .id = "i1.buf-zeroed.after-junk", .clauses = "i1.buf-zeroed",
    .why = "A buffer with old bytes in it leaks one request's data into "
           "another's.",
    .steps = "For each size, 12 times: a buffer, read, filled with 0xff and "
             "freed; and results of jobs freed in between.",
    .expected = "Every new buffer is all zeros.", .mutant = "buffer-not-zeroed")
{
    struct host *host = host_open(1);
    for (size_t i = 0; i < SIZES; i++) {
        uint64_t ids[3];
        for (int round = 0; round < 4; round++) {
            for (int n = 0; n < 3; n++) {
                uint8_t *bytes = NULL;
                ids[n] = host_buffer(host, NULL, sizes[i], &bytes);
                expect_zeros(bytes, sizes[i], "a new buffer");
                memset(bytes, 0xff, sizes[i]);
            }
            for (int n = 0; n < 3; n++)
                host_buffer_free(host, ids[n]);
        }
        if (sizes[i] > GUSSET_MAX_INLINE_INPUT)
            continue;
        host_call(host, DIAGNOSTIC, conform_pattern(sizes[i], 255, i),
                  sizes[i]);
        uint8_t *bytes = NULL;
        uint64_t id = host_buffer(host, NULL, sizes[i], &bytes);
        expect_zeros(bytes, sizes[i], "a buffer after a freed result");
        host_buffer_free(host, id);
    }
    host_close(host);
}

/* A result of `len` bytes that are all 0xff, taken and freed: by echo of a
 * buffer, which is freed under the job, or by mode 16 and then written. */
static void
free_a_result(struct host *host, size_t len, bool generated)
{
    CallHeader header = {.flags = DIAGNOSTIC};
    uint8_t *bytes = NULL;
    uint64_t id = host_buffer(host, NULL, len > 6 ? len : 6, &bytes);
    memset(bytes, 0xff, len);
    bytes[0] = 16;
    put_u32le(bytes + 1, (uint32_t)len);
    if (!generated)
        bytes[0] = 0xff;
    uint64_t ticket = host_submit_buffer(host, &header, id);
    host_buffer_free(host, id);
    host_wait(host, ticket);
    size_t got = 0;
    expect_code(FFI_OK,
                api.take(host_handle(host), ticket, &id, &bytes, &got, NULL),
                "take of a result of %zu", len);
    memset(bytes, 0xff, got);
    host_buffer_free(host, id & ~GUSSET_TAKE_OWNED_FLAG);
}

CONFORM_CASE(
    zeroed_after_results, .id = "i1.buf-zeroed.after-results",
    .clauses = "i1.buf-zeroed",
    .why = "Blocks that were results or inputs under a job come back by "
           "another way than freed buffers, and are not wiped on it.",
    .steps = "For each size to 1 MiB (under nightly 16 MiB): results by echo "
             "and by mode 16, their inputs freed under the job, all written "
             "full of 0xff and freed; then four buffers of that size.",
    .expected = "Every new buffer is all zeros.", .transports = CONFORM_BOTH,
    .mutant = "result-memory-recycled")
{
    struct host *host = host_open(1);
    for (size_t i = 0; i < SIZES + conform_rounds(0, 1); i++) {
        size_t len = i < SIZES ? sizes[i] : 16 << 20;
        uint64_t ids[4];
        for (int n = 0; n < 4; n++)
            free_a_result(host, len, n % 2);
        for (int n = 0; n < 4; n++) {
            uint8_t *bytes = NULL;
            ids[n] = host_buffer(host, NULL, len, &bytes);
            expect_zeros(bytes, len, "a buffer after freed results");
        }
        for (int n = 0; n < 4; n++)
            host_buffer_free(host, ids[n]);
    }
    host_close(host);
}

CONFORM_CASE(
    zeroed_other_handle, .id = "i1.buf-zeroed.across-handles",
    .clauses = "i1.buf-zeroed",
    .why = "Memory that one handle's close gives back comes out of another "
           "handle's buf_alloc with its contents.",
    .steps = "Fill 32 buffers of 4 KiB with 0xff on one handle, close it; 32 "
             "buffers of 4 KiB on the next.",
    .expected = "All zeros.", .mutant = "buffer-not-zeroed")
{
    for (int round = 0; round < 4; round++) {
        struct host *host = host_open(1);
        for (int i = 0; i < 32; i++) {
            uint8_t *bytes = NULL;
            host_buffer(host, NULL, 4096, &bytes);
            expect_zeros(bytes, 4096, "a buffer of a new handle");
            memset(bytes, 0xff, 4096);
        }
        host_close(host);
    }
}

CONFORM_CASE(
    aligned, .id = "i1.buf-aligned.sizes",
    .clauses = "i1.buf-aligned l.stats-algebra",
    .why = "A short or misaligned buffer breaks the engine's vector code, or "
           "the neighbour's bytes.",
    .steps = "Buffers of 1 byte to 1 MiB, held at once, each filled to its "
             "ends with its own byte.",
    .expected = "64-byte alignment, no overlap, every byte kept; live_bytes "
                "up by at least each length and back after the frees.",
    .mutant = "buffer-aligned-to-sixteen")
{
    struct host *host = host_open(1);
    uint8_t *bytes[SIZES];
    uint64_t ids[SIZES];
    AllocStats before, after;
    api.alloc_stats(&before);
    for (size_t i = 0; i < SIZES; i++) {
        AllocStats had, have;
        api.alloc_stats(&had);
        ids[i] = host_buffer(host, NULL, sizes[i], &bytes[i]);
        api.alloc_stats(&have);
        expect_u64_at_least(sizes[i], have.live_bytes - had.live_bytes,
                            "live_bytes for a buffer of %zu", sizes[i]);
        expect_u64(0, (uintptr_t)bytes[i] % GUSSET_BUFFER_ALIGNMENT,
                   "alignment of a buffer of %zu", sizes[i]);
        memset(bytes[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t n = 0; n < sizes[i]; n++) {
            if (bytes[i][n] != i + 1)
                expect_u64(i + 1, bytes[i][n], "byte %zu of the buffer of %zu",
                           n, sizes[i]);
        }
        host_buffer_free(host, ids[i]);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
    host_close(host);
}

CONFORM_CASE(
    bounds, .id = "i1.buf-bounds.refused", .clauses = "i1.buf-bounds",
    .why = "A length that wraps in the allocator's sums gives a small buffer "
           "for a large length.",
    .steps = "buf_alloc of 0, 2^30+1, 2^k-1, 2^k and 2^k+1 for k from 31 to "
             "63, SIZE_MAX-63 and SIZE_MAX, with and without a status.",
    .expected = "FFI_ERR, text `greater than zero` or `maximum`; live_bytes "
                "and peak_bytes unchanged.",
    .mutant = "buffer-maximum-not-checked")
{
    enum { OVER = 4 + 3 * 34 };
    size_t over[OVER] = {0, ((size_t)1 << 30) + 1, SIZE_MAX - 63, SIZE_MAX};
    struct host *host = host_open(1);
    AllocStats before, after;
    for (size_t i = 4; i < OVER; i++) /* from 2^30 + 2^29 on */
        over[i] = ((size_t)1 << (30 + (i - 4) / 3)) - 1 + (i - 4) % 3 +
                  (i < 7 ? (size_t)1 << 29 : 0);
    api.alloc_stats(&before);
    for (size_t i = 0; i < OVER; i++) {
        uint64_t id = 0;
        uint8_t *bytes = NULL;
        FfiStatus status = conform_dirty_status();
        int32_t code =
            api.buf_alloc(host_handle(host), over[i], &id, &bytes, &status);
        struct outcome o = conform_settle(code, &status);
        expect_code(FFI_ERR, o.code, "buf_alloc of %zu", over[i]);
        expect_text(TEXT_CONTAINS,
                    over[i] == 0 ? "greater than zero" : "maximum", o.msg,
                    o.msg_len, "buf_alloc of %zu", over[i]);
        expect_code(
            FFI_ERR,
            api.buf_alloc(host_handle(host), over[i], &id, &bytes, NULL),
            "buf_alloc of %zu without a status", over[i]);
        api.alloc_stats(&after);
        expect_u64(before.live_bytes, after.live_bytes,
                   "live_bytes after a refused %zu", over[i]);
    }
    expect_u64_at_most(before.peak_bytes + 65536, after.peak_bytes,
                       "peak_bytes after the refusals");
    host_close(host);
}

CONFORM_CASE(
    bounds_largest, .id = "i1.buf-bounds.largest", .clauses = "i1.buf-bounds",
    .why = "A limit that is off by one refuses the largest legal buffer.",
    .steps = "buf_alloc of 2^30; touch both ends; free.",
    .expected = "FFI_OK and 2^30 bytes in live_bytes, or a clean FFI_ERR for "
                "lack of memory that does not name the maximum.",
    .mutant = "largest-buffer-refused")
{
    const size_t largest = GUSSET_MAX_BUFFER_BYTES;
    struct host *host = host_open(1);
    AllocStats before, held, after;
    api.alloc_stats(&before);
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    FfiStatus status = conform_dirty_status();
    int32_t code =
        api.buf_alloc(host_handle(host), largest, &id, &bytes, &status);
    struct outcome o = conform_settle(code, &status);
    if (o.code == FFI_OK) {
        expect_u64(0, (uintptr_t)bytes % GUSSET_BUFFER_ALIGNMENT, "alignment");
        expect_u64(0, bytes[0] | bytes[largest / 2] | bytes[largest - 1],
                   "its ends and middle");
        bytes[0] = bytes[largest - 1] = 1;
        api.alloc_stats(&held);
        expect_u64_at_least(largest, held.live_bytes - before.live_bytes,
                            "live_bytes of the largest buffer");
        host_buffer_free(host, id);
    } else {
        expect_code(FFI_ERR, o.code, "buf_alloc of 2^30");
        expect_text(TEXT_LACKS, "maximum", o.msg, o.msg_len,
                    "2^30 is not over the maximum");
    }
    conform_evidence("2^30 bytes", "%s", conform_code_name(o.code));
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes at the end");
    host_close(host);
}

CONFORM_CASE(
    free_idempotent, .id = "i1.buf-free-idempotent.unknown-ids",
    .clauses = "i1.buf-free-idempotent",
    .why = "A free that fails for an id that is gone turns a harmless race "
           "into an error; one that frees something else corrupts it.",
    .steps = "buf_free of made-up ids, of freed ones three times, of "
             "another handle's id; then read the buffers that are held.",
    .expected = "FFI_OK each time; live_bytes moves only with the first free "
                "of a live id; the other handle's buffer is intact.",
    .mutant = "buf-ids-per-handle buf-free-unknown-is-an-error")
{
    static const uint64_t made_up[] = {0, 0xdeadbeef, UINT64_C(1) << 40,
                                       INT64_MAX, UINT64_MAX};
    struct host *one = host_open(1);
    struct host *two = host_open(1);
    const uint8_t *pattern = conform_pattern(5000, 3, 3);
    uint8_t *kept = NULL;
    uint8_t *mine = NULL;
    uint64_t foreign = host_buffer(one, pattern, 5000, &kept);
    uint64_t own = host_buffer(two, pattern, 5000, &mine);
    AllocStats before, after;
    api.alloc_stats(&before);
    for (size_t i = 0; i < 5; i++)
        host_buffer_free(two, made_up[i]);
    for (int i = 0; i < 3; i++)
        host_buffer_free(two, foreign);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after freeing unknown and foreign ids");
    expect_bytes(pattern, 5000, kept, 5000, "the other handle's buffer");
    expect_bytes(pattern, 5000, mine, 5000, "the handle's own buffer");

    host_buffer_free(two, own);
    AllocStats freed;
    api.alloc_stats(&freed);
    expect_u64_at_least(5000, after.live_bytes - freed.live_bytes,
                        "bytes that the first free gave back");
    uint64_t next = host_buffer(two, pattern, 5000, &mine);
    api.alloc_stats(&before);
    for (int i = 0; i < 3; i++)
        host_buffer_free(two, own);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after freeing a freed id again");
    expect_bytes(pattern, 5000, mine, 5000,
                 "a new buffer while an old id is freed again");
    host_buffer_free(two, next);
    host_buffer_free(one, foreign);
    host_close(one);
    host_close(two);
}

static int
by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

CONFORM_CASE(
    ids_unique, .id = "i1.ids-unique.across-handles",
    .clauses = "i1.ids-unique",
    .why = "An id that names one buffer today and another tomorrow, or here "
           "and there, frees the wrong one.",
    .steps = "1200 buffers and taken results on three open handles in turn, "
             "most freed at once, and on 20 handles opened and closed.",
    .expected = "All ids non-zero, below 2^63, pairwise different.",
    .mutant = "buf-ids-per-handle")
{
    enum { COUNT = 1200 };
    static uint64_t ids[COUNT];
    struct host *hosts[3] = {host_open(1), host_open(1), host_open(1)};
    for (uint32_t i = 0; i < COUNT; i++) {
        struct host *host = hosts[i % 3];
        struct host *brief = NULL;
        if (i % 60 == 0)
            host = brief = host_open(1);
        if (i % 7 == 0) {
            struct outcome o = host_call(host, DIAGNOSTIC, "\0id", 3);
            ids[i] = o.id & ~GUSSET_TAKE_OWNED_FLAG;
        } else {
            ids[i] = host_buffer(host, NULL, 16 + i, NULL);
            if (i % 5 != 0)
                host_buffer_free(host, ids[i]);
        }
        if (brief != NULL)
            host_close(brief);
        expect(ids[i] != 0, "id %u is not 0", i);
        expect_u64(0, ids[i] >> 63, "bit 63 of id %u", i);
    }
    qsort(ids, COUNT, sizeof ids[0], by_value);
    for (uint32_t i = 1; i < COUNT; i++)
        expect(ids[i] != ids[i - 1], "id %llu was handed out twice",
               (unsigned long long)ids[i]);
    for (int i = 0; i < 3; i++)
        host_close(hosts[i]);
}
