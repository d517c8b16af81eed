/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Inputs: where they come from, when the host may let go of them, and that
 * nobody but the host writes them.
 */
#include <stdio.h>
#include <string.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

/* ---- Inline ------------------------------------------------------------- */

CONFORM_CASE(
    input_copied, .id = "i1.input-copied.revoked",
    .clauses = "i1.input-copied i1.input-sources",
    .why = "A submit that keeps the host's pointers reads memory that is "
           "overwritten or gone when the job runs.",
    .steps = "Inputs of 3, 48, 49, 4095 and 4096 bytes and their header, each "
             "flush against an inaccessible page, made inaccessible or "
             "overwritten once submit has returned; the job sleeps first.",
    .expected = "The bytes as they were at submit.",
    .mutant = "input-not-copied", .transports = CONFORM_BOTH,
    .tags = CONFORM_SLEEPS)
{
    static const size_t sizes[] = {3, 48, 49, 4095, 4096};
    enum { COUNT = 5 };
    struct host *host = host_open(COUNT);
    uint64_t tickets[2][COUNT];
    void *blocks[2][COUNT];
    void *headers[2][COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        for (int revoke = 0; revoke < 2; revoke++) {
            uint8_t *input = conform_fence(sizes[i]);
            CallHeader *header = conform_fence(sizeof *header);
            *header = diagnostic;
            memcpy(input, conform_pattern(sizes[i], 9, i), sizes[i]);
            input[1] = 2;
            input[2] = 0;
            tickets[revoke][i] =
                host_submit_header(host, header, input, sizes[i]);
            if (revoke) {
                conform_fence_revoke(input);
                conform_fence_revoke(header);
            } else {
                memset(input, 1, sizes[i]);
                memset(header, 0xff, sizeof *header);
            }
            blocks[revoke][i] = input;
            headers[revoke][i] = header;
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (int revoke = 0; revoke < 2; revoke++) {
            uint8_t *right = conform_pattern(sizes[i], 9, i);
            right[2] = 0;
            host_wait(host, tickets[revoke][i]);
            struct outcome o = host_take(host, tickets[revoke][i]);
            expect_code(FFI_OK, o.code, "an input of %zu bytes", sizes[i]);
            expect_bytes(right + 2, sizes[i] - 2, o.bytes, o.len,
                         "%s input of %zu bytes",
                         revoke ? "revoked" : "overwritten", sizes[i]);
            conform_fence_free(blocks[revoke][i]);
            conform_fence_free(headers[revoke][i]);
        }
    }
    host_close(host);
}

CONFORM_CASE(
    header_copied, .id = "i1.input-copied.header",
    .clauses = "i1.input-copied i4.header-verbatim",
    .why = "A header that is read when the job runs gives it another job's "
           "trace and deadline.",
    .steps = "Pool 1: behind a sleeping job, queue 2 units of mode 7 with "
             "different ids from one header struct that is overwritten after "
             "each submit.",
    .expected = "Each unit sees the ids it was submitted with.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "header-by-reference")
{
    struct host *host = host_open(1);
    uint64_t tickets[2];
    host_submit(host, DIAGNOSTIC, "\11\2", 2);
    CallHeader header;
    for (uint8_t i = 0; i < 2; i++) {
        memset(&header, 0, sizeof header);
        header.flags = DIAGNOSTIC;
        memset(header.trace_id, 0xa0 + i, sizeof header.trace_id);
        memset(header.span_id, 0xb0 + i, sizeof header.span_id);
        tickets[i] = host_submit_patiently(host, &header, "\7", 1);
        memset(&header, 0xee, sizeof header);
    }
    for (uint8_t i = 0; i < 2; i++) {
        uint8_t right[24];
        memset(right, 0xa0 + i, 16);
        memset(right + 16, 0xb0 + i, 8);
        host_wait(host, tickets[i]);
        struct outcome o = host_take(host, tickets[i]);
        expect_bytes(right, sizeof right, o.bytes, o.len,
                     "trace_id and span_id of unit %u", i);
    }
    host_close(host);
}

CONFORM_CASE(
    input_sources, .id = "i1.input-sources.pointer-or-buffer",
    .clauses = "i1.input-sources",
    .why = "A submit that looks at the pointer although a buffer is named, "
           "or at bytes it is about to refuse, crashes on what the host "
           "never promised.",
    .steps = "A buffer beside wild pointers and lengths; NULL with 0; NULL "
             "with lengths; inaccessible bytes with lengths over 4096; "
             "exactly 4096.",
    .expected = "The buffer's bytes; an empty input; BAD_ARG; BAD_ARG with "
                "`4096` in its text, nothing read; 4096 bytes echoed.",
    .transports = CONFORM_BOTH, .mutant = "buffer-submit-reads-pointer")
{
    struct host *host = host_open(1);
    const uint8_t *bytes = conform_pattern(5000, 0, 5);
    uint64_t id = host_buffer(host, bytes, 5000, NULL);
    void *gone = conform_fence(64);
    conform_fence_revoke(gone);
    const void *wild[] = {NULL, gone, (const void *)(uintptr_t)8,
                          (const void *)UINTPTR_MAX};
    static const size_t lengths[] = {0, 1, 4096, 4097, SIZE_MAX};
    for (size_t i = 0; i < 4; i++) {
        for (size_t n = 0; n < 5; n++) {
            struct outcome o =
                host_try_submit(host, &diagnostic, wild[i], lengths[n], id);
            expect_code(FFI_OK, o.code, "a buffer beside pointer %zu and %zu",
                        i, lengths[n]);
            host_wait(host, o.ticket);
            o = host_take(host, o.ticket);
            expect_bytes(bytes, 5000, o.bytes, o.len, "the buffer's bytes");
        }
    }
    for (size_t n = 1; n < 5; n++) {
        struct outcome o =
            host_try_submit(host, &diagnostic, NULL, lengths[n], 0);
        expect_code(FFI_BAD_ARG, o.code, "NULL with %zu", lengths[n]);
        if (lengths[n] <= 4096)
            continue;
        o = host_try_submit(host, &diagnostic, gone, lengths[n], 0);
        expect_code(FFI_BAD_ARG, o.code, "%zu bytes", lengths[n]);
        expect_text(TEXT_CONTAINS, "4096", o.msg, o.msg_len,
                    "the limit is named");
    }
    struct outcome o = host_call(host, DIAGNOSTIC, NULL, 0);
    expect_code(FFI_OK, o.code, "NULL with 0");
    expect_u64(0, o.len, "the echo of nothing");
    o = host_call(host, DIAGNOSTIC, gone, 0);
    expect_code(FFI_OK, o.code, "a pointer with length 0");
    expect_u64(0, o.len, "the echo of nothing");
    o = host_call(host, DIAGNOSTIC, bytes, 4096);
    expect_bytes(bytes, 4096, o.bytes, o.len, "exactly the limit");
    conform_fence_free(gone);
    host_buffer_free(host, id);
    host_close(host);
}

/* ---- Buffers ------------------------------------------------------------ */

static void
expect_no_buffer(struct host *host, uint64_t id, const char *what)
{
    char text[64];
    snprintf(text, sizeof text, "buffer id %llu not found",
             (unsigned long long)id);
    struct outcome o = host_try_submit(host, &diagnostic, "\1", 1, id);
    expect_code(FFI_ERR, o.code, "submit of %s", what);
    expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "submit of %s", what);
}

CONFORM_CASE(
    unknown_buffer, .id = "i1.buf-unknown-at-submit.ids",
    .clauses = "i1.buf-unknown-at-submit i1.ids-unique",
    .why = "A job on a buffer that is gone or another handle's reads "
           "somebody else's bytes.",
    .steps = "submit with made-up ids, a freed id, another handle's id, the "
             "id of a closed handle, a freed result's id.",
    .expected = "FFI_ERR `buffer id N not found`, no ticket, no completion.",
    .mutant = "buf-ids-per-handle unknown-buffer-is-empty-input",
    .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    struct host *other = host_open(1);
    struct host *brief = host_open(1);
    uint64_t of_closed = host_buffer(brief, NULL, 64, NULL);
    host_close(brief);
    /* Live on both handles, so that numbers of a handle would coincide. */
    uint64_t own = host_buffer(host, NULL, 64, NULL);
    uint64_t freed = host_buffer(host, NULL, 64, NULL);
    host_buffer_free(host, freed);
    uint64_t foreign = host_buffer(other, NULL, 64, NULL);
    uint64_t foreign_too = host_buffer(other, NULL, 64, NULL);
    struct outcome result = host_call(host, DIAGNOSTIC, "\0x", 2);

    expect_no_buffer(host, 0xdeadbeef, "a made-up id");
    expect_no_buffer(host, UINT64_C(1) << 62, "a made-up id");
    expect_no_buffer(host, UINT64_MAX, "the largest id");
    expect_no_buffer(host, freed, "a freed id");
    expect_no_buffer(host, foreign, "another handle's id");
    expect_no_buffer(host, foreign_too, "another handle's id");
    expect_no_buffer(other, own, "another handle's id");
    expect_no_buffer(host, of_closed, "a closed handle's id");
    expect_no_buffer(host, result.id, "a freed result's id");
    host_buffer_free(other, foreign);
    host_buffer_free(host, own);
    struct completion none;
    expect(!host_poll(host, &none), "a refused submit completes nothing");
    host_close(host);
    host_close(other);
}

/* A buffer whose job sleeps, then answers with the bytes behind. */
static uint64_t
sleeping_input(struct host *host, size_t len, uint8_t steps, uint64_t seed,
               uint8_t **bytes)
{
    uint64_t id = host_buffer(host, conform_pattern(len, 9, seed), len, bytes);
    (*bytes)[1] = steps;
    (*bytes)[2] = 0;
    return id;
}

CONFORM_CASE(
    free_under_job, .id = "i1.free-under-job.queued-and-running",
    .clauses = "i1.free-under-job i1.input-buffer-rule",
    .why = "Input memory that is given back while a job reads it: wrong "
           "bytes, or a crash in the engine.",
    .steps = "Pool 1: a running and a queued job on buffers of 8 KiB, 64 KiB "
             "and 1 MiB that are freed at once; same-sized buffers filled "
             "with junk take their place.",
    .expected = "Both echo the bytes that were submitted.",
    .mutant = "free-under-job-frees", .transports = CONFORM_BOTH,
    .tags = CONFORM_SLEEPS)
{
    static const size_t sizes[] = {8192, 65536, 1 << 20};
    struct host *hosts[3];
    uint64_t tickets[3][2];
    for (size_t i = 0; i < 3; i++) {
        hosts[i] = host_open(1);
        for (uint32_t n = 0; n < 2; n++) {
            uint8_t *bytes = NULL;
            uint64_t id = sleeping_input(hosts[i], sizes[i], 2, n, &bytes);
            tickets[i][n] = host_submit_buffer(hosts[i], &diagnostic, id);
            host_buffer_free(hosts[i], id);
        }
        for (uint32_t n = 0; n < 4; n++) {
            uint8_t *junk = NULL;
            uint64_t id = host_buffer(hosts[i], NULL, sizes[i], &junk);
            memset(junk, 0xee, sizes[i]);
            if (n % 2)
                host_buffer_free(hosts[i], id);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t n = 0; n < 2; n++) {
            uint8_t *right = conform_pattern(sizes[i], 9, n);
            right[2] = 0;
            host_wait(hosts[i], tickets[i][n]);
            struct outcome o = host_take(hosts[i], tickets[i][n]);
            expect_code(FFI_OK, o.code, "job %u on a freed buffer of %zu", n,
                        sizes[i]);
            expect_bytes(right + 2, sizes[i] - 2, o.bytes, o.len,
                         "job %u on a freed buffer of %zu", n, sizes[i]);
        }
        host_close(hosts[i]);
    }
}

struct level {
    uint64_t at_most;
};

static bool
live_fell_to(void *argument)
{
    AllocStats now;
    api.alloc_stats(&now);
    return now.live_bytes <= ((struct level *)argument)->at_most;
}

CONFORM_CASE(
    shared_input, .id = "i1.input-buffer-rule.several-jobs",
    .clauses = "i1.input-buffer-rule i1.free-under-job l.stats-complete",
    .why = "A buffer that is counted as free with its first reader is pulled "
           "from under the others; one that is never counted as free leaks.",
    .steps = "One 1 MiB buffer is the input of 4 jobs at once and is freed "
             "by the host while they sleep; live_bytes while they run and "
             "after the last was read.",
    .expected = "Four equal results; the input counted until the last job "
                "is delivered, then gone; the handle still open.",
    .mutant = "free-under-job-frees", .transports = CONFORM_BOTH,
    .tags = CONFORM_SLEEPS)
{
    const size_t len = 1 << 20;
    struct host *host = host_open(4);
    AllocStats before, during;
    api.alloc_stats(&before);
    uint8_t *bytes = NULL;
    uint64_t id = sleeping_input(host, len, 3, 6, &bytes);
    bytes[2] = 10; /* the sum of the squares behind */
    uint64_t right = 0;
    for (size_t i = 3; i < len; i++)
        right += (uint64_t)bytes[i] * bytes[i];
    uint64_t tickets[4];
    for (int i = 0; i < 4; i++)
        tickets[i] = host_submit_buffer(host, &diagnostic, id);
    host_buffer_free(host, id);
    api.alloc_stats(&during);
    bool running = true;
    struct completion done;
    if (host_poll(host, &done))
        running = false;
    if (running)
        expect_u64_at_least(len, during.live_bytes - before.live_bytes,
                            "live_bytes of an input freed under its jobs");
    else
        host_outcome(host, &done);
    for (int i = 0; i < 4; i++) {
        if (!running && done.ticket == tickets[i])
            continue;
        host_wait(host, tickets[i]);
        struct outcome o = host_take(host, tickets[i]);
        expect_code(FFI_OK, o.code, "job %d on the shared input", i);
        expect_u64(8, o.len, "length of a sum");
        expect_u64(right, get_u64le(o.bytes), "the sum that job %d read", i);
    }
    struct level level = {before.live_bytes};
    expect(conform_eventually(live_fell_to, &level),
           "the input leaves live_bytes with its last job");
    host_close(host);
}

CONFORM_CASE(
    input_intact, .id = "i1.input-buffer-rule.never-written",
    .clauses = "i1.input-buffer-rule",
    .why = "A library that scribbles into the input breaks the next job that "
           "shares it, and the host's own view.",
    .steps = "Two equal buffers; every mode that succeeds, fails, panics, is "
             "cancelled or expires reads one of them; compare with the "
             "other.",
    .expected = "Not one byte differs, and it can be freed at the end.",
    .mutant = "input-scrubbed")
{
    static const uint8_t modes[] = {0, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 1};
    const size_t len = 70000;
    for (size_t i = 0; i < sizeof modes; i++) {
        struct host *host = host_open(1);
        uint8_t *bytes = NULL;
        uint64_t id =
            host_buffer(host, conform_pattern(len, modes[i], i), len, &bytes);
        memset(bytes + 1, 1, 5);
        uint8_t *copy = conform_pattern(len, 0, 0);
        memcpy(copy, bytes, len);
        CallHeader header = diagnostic;
        for (int n = 0; n < 2; n++) {
            uint64_t ticket = host_submit_buffer(host, &header, id);
            if (modes[i] == 5)
                api.cancel(host_handle(host), ticket, NULL);
            host_wait(host, ticket);
            if (host_take(host, ticket).code == FFI_PANIC)
                break;
            header.timeout_ns = 1;
        }
        expect_bytes(copy, len, bytes, len, "the input of mode %u", modes[i]);
        host_buffer_free(host, id);
        conform_drain_log();
        host_close(host);
    }
}
