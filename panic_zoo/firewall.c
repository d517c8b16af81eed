/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What must never reach an engine, and what must never poison.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zoo.h"

static const char no_engine[] = "gusset: no engine handler registered";

static void
expect_closed(struct host *host, uint64_t ticket, uint32_t opcode,
              const char *what)
{
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "%s: an error is never delivered inline", what);
    struct outcome o = host_take(host, ticket);
    expect_code(FFI_ERR, o.code, "%s: a unit that no engine serves", what);
    expect_text(TEXT_BEGINS, no_engine, o.msg, o.msg_len, "%s", what);
    zoo_expect_no_place(&o, what);
    if (opcode != 0) {
        char text[32];
        snprintf(text, sizeof text, "opcode %u", opcode);
        expect_text(TEXT_CONTAINS, text, o.msg, o.msg_len, "%s", what);
    }
}

CONFORM_CASE(
    closed_sweep, .id = "i2.closed-by-default.sweep",
    .clauses = "i2.closed-by-default i2.refusal-not-poison",
    .why = "An engine that runs by default lets the first byte of an "
           "untrusted input choose a panic.",
    .steps = "With flag bit 0 clear, bit 1 clear and set: submit all 256 "
             "first bytes, an empty input and one of 4096 bytes.",
    .expected = "Each is accepted and completes with a bare ticket; take is "
                "FFI_ERR beginning `gusset: no engine handler registered`; "
                "nothing was logged, the handle is healthy.",
    .mutant = "diagnostic-by-default", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(4);
    conform_drain_log();
    for (uint32_t flags = 0; flags <= INLINE; flags += INLINE) {
        CallHeader header = zoo_header(flags, 0);
        for (int first = 0; first < 256; first++) {
            uint8_t input[8] = {(uint8_t)first, 1, 0, 0, 0, 0, 0, 0};
            uint64_t ticket =
                host_submit_patiently(host, &header, input, sizeof input);
            char what[64];
            snprintf(what, sizeof what, "first byte %d, flags %u", first,
                     flags);
            expect_closed(host, ticket, 0, what);
        }
        uint64_t ticket = host_submit_patiently(host, &header, NULL, 0);
        expect_closed(host, ticket, 0, "empty input");
        ticket = host_submit_patiently(host, &header,
                                       conform_pattern(4096, 1, 3), 4096);
        expect_closed(host, ticket, 0, "4096 bytes that begin with 1");
    }
    expect_text(TEXT_LACKS, "worker log event", conform_drain_log(),
                strlen(conform_drain_log()), "nothing ran");
    zoo_expect_healthy(host, "after the sweep");
    host_close(host);
}

CONFORM_CASE(
    opcode_closed, .id = "i2.opcode-closed.unknown",
    .clauses = "i2.opcode-closed",
    .why = "An unknown opcode that falls back to another engine runs the "
           "wrong code on the host's bytes.",
    .steps = "Opcodes 1, 42, 65 536, 2^31 and 2^32-1 with flags 0 to 3 and "
             "an input that panics in the diagnostic engine.",
    .expected = "Accepted, a bare ticket, FFI_ERR that begins as for no "
                "engine and contains `opcode N`; the handle is healthy.",
    .mutant = "diagnostic-by-default", .transports = CONFORM_BOTH)
{
    static const uint32_t opcodes[] = {1, 42, 65536, UINT32_C(1) << 31,
                                       UINT32_MAX};
    struct host *host = host_open(2);
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        for (uint32_t flags = 0; flags < 4; flags++) {
            CallHeader header = zoo_header(flags, opcodes[i]);
            char what[64];
            snprintf(what, sizeof what, "opcode %u, flags %u", opcodes[i],
                     flags);
            uint64_t ticket = host_submit_patiently(host, &header, "\1", 1);
            expect_closed(host, ticket, opcodes[i], what);
        }
    }
    zoo_expect_healthy(host, "after unknown opcodes");
    host_close(host);
}

static void
expect_opcode_closed(struct host *host, uint32_t opcode)
{
    if (opcode == 0 || opcode == 0x47540001) /* the test engine's */
        return;
    for (uint32_t flags = 0; flags < 4; flags++) {
        CallHeader header = zoo_header(flags, opcode);
        char what[64];
        snprintf(what, sizeof what, "opcode %u, flags %u", opcode, flags);
        uint64_t ticket = host_submit_patiently(host, &header, "\1", 1);
        expect_closed(host, ticket, opcode, what);
    }
}

CONFORM_CASE(
    opcode_edges, .id = "i2.opcode-closed.edges",
    .clauses = "i2.opcode-closed i2.refusal-not-poison",
    .why = "An opcode that is cut, masked or hashed before it is looked up "
           "reaches the engine of another.",
    .steps = "Opcodes 2^k-1, 2^k and 2^k+1 for k from 0 to 31 and 100 random "
             "ones, each with flags 0 to 3 and an input that panics in the "
             "diagnostic engine.",
    .expected = "Accepted, a bare ticket, FFI_ERR that begins as for no "
                "engine and contains `opcode N`; the handle is healthy.",
    .mutant = "opcode-bit-masked", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    for (uint32_t k = 0; k < 32; k++) {
        for (uint32_t n = 0; n < 3; n++)
            expect_opcode_closed(host, (UINT32_C(1) << k) + n - 1);
    }
    for (uint32_t i = 0; i < 100; i++)
        expect_opcode_closed(host, (uint32_t)conform_random(UINT64_C(1) << 32));
    zoo_expect_healthy(host, "after unknown opcodes");
    host_close(host);
}

CONFORM_CASE(
    closed_buffers, .id = "i2.closed-by-default.buffers",
    .clauses = "i2.closed-by-default i2.opcode-closed i1.free-under-job "
               "l.stats-complete",
    .why = "A unit that is given by buffer takes another way to the engine, "
           "past the check that there is one, or leaves its input behind.",
    .steps = "Without flag bit 0, and with an unknown opcode: units on "
             "buffers of 1 byte to 1 MiB that begin with each mode, freed at "
             "once, with and without the inline flag.",
    .expected = "Each a bare ticket and FFI_ERR as for no engine; the inputs "
                "leave live_bytes; the handle is healthy.",
    .mutant = "diagnostic-for-buffers", .transports = CONFORM_BOTH)
{
    static const size_t lengths[] = {1, 48, 4096, 4097, 65536, 1 << 20};
    struct host *host = host_open(2);
    AllocStats before, after;
    api.alloc_stats(&before);
    for (uint32_t n = 0; n < 2 * 18; n++) {
        CallHeader header =
            zoo_header(n % 2 ? INLINE : 0, n % 3 == 0 ? 1000 + n : 0);
        uint8_t *bytes = NULL;
        char what[64];
        snprintf(what, sizeof what, "mode %u in a buffer of %zu, opcode %u",
                 n / 2, lengths[n % 6], header.reserved);
        uint64_t id = host_buffer(host, NULL, lengths[n % 6], &bytes);
        bytes[0] = (uint8_t)(n / 2);
        uint64_t ticket = host_submit_buffer(host, &header, id);
        host_buffer_free(host, id);
        expect_closed(host, ticket, header.reserved, what);
    }
    api.alloc_stats(&after);
    expect_u64_at_most(before.live_bytes + 65536, after.live_bytes,
                       "live_bytes after inputs of 3.5 MiB");
    zoo_expect_healthy(host, "after buffers for no engine");
    host_close(host);
}

/* ---- Refusals never poison ---------------------------------------------- */

static void
expect_refusal(struct host *host, const CallHeader *header, const void *input,
               size_t len, uint64_t buffer_id, const char *what)
{
    struct outcome o = host_try_submit(host, header, input, len, buffer_id);
    expect(o.code == FFI_ERR || o.code == FFI_BAD_ARG, "%s is refused, not %s",
           what, conform_code_name(o.code));
    zoo_expect_no_place(&o, what);
}

static void
refuse_when_full(struct host *host)
{
    static const uint8_t hold[] = {5, 255};
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    uint64_t held[3];
    for (size_t i = 0; i < 3; i++)
        held[i] = host_submit_patiently(host, &header, hold, sizeof hold);
    for (int i = 0; i < 50; i++)
        expect_refusal(host, &header, "\1", 1, 0, "a submit to a full queue");
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    for (size_t i = 0; i < 3; i++) {
        host_wait(host, held[i]);
        struct outcome o = host_take(host, held[i]);
        expect_text(TEXT_IS, "cancelled: Explicit", o.msg, o.msg_len,
                    "a cancelled job");
    }
}

CONFORM_CASE(
    refusals, .id = "i2.refusal-not-poison.every-refusal",
    .clauses = "i2.refusal-not-poison",
    .why = "A firewall that takes every failure for a panic locks a host out "
           "for its own mistakes.",
    .steps = "One handle: unknown flags, a long input, NULL with a length, an "
             "unknown buffer, bad lengths for buf_alloc, a full queue, NULL "
             "arguments, a shutdown; jobs that end as errors, cancelled and "
             "past their deadline.",
    .expected = "Each is refused or fails as declared; after each group an "
                "echo arrives and a buffer can be had.",
    .transports = CONFORM_BOTH, .mutant = "full-queue-poisons")
{
    struct host *host = host_open(1);
    GussetHandle *handle = host_handle(host);
    CallHeader good = zoo_header(DIAGNOSTIC, 0);
    const uint8_t *input = conform_pattern(5000, 1, 1);
    for (uint32_t bit = 2; bit < 32; bit++) {
        CallHeader bad = zoo_header(DIAGNOSTIC | UINT32_C(1) << bit, 0);
        expect_refusal(host, &bad, input, 1, 0, "an unknown flag");
    }
    expect_refusal(host, &good, input, 4097, 0, "an input of 4097 bytes");
    expect_refusal(host, &good, NULL, 1, 0, "NULL with a length");
    expect_refusal(host, &good, input, 1, UINT64_C(1) << 62, "a buffer id");
    zoo_expect_healthy(host, "after refused submits");

    uint64_t id = 0;
    uint8_t *bytes = NULL;
    expect_code(FFI_ERR, api.buf_alloc(handle, 0, &id, &bytes, NULL),
                "buf_alloc of 0");
    expect_code(FFI_ERR, api.buf_alloc(handle, SIZE_MAX, &id, &bytes, NULL),
                "buf_alloc of SIZE_MAX");
    expect_code(FFI_BAD_ARG, api.buf_alloc(handle, 64, NULL, NULL, NULL),
                "buf_alloc without out pointers");
    zoo_expect_healthy(host, "after refused buffers");
    refuse_when_full(host);
    zoo_expect_healthy(host, "after a full queue");

    expect_code(FFI_OK, api.shutdown(5000), "shutdown");
    expect_refusal(host, &good, input, 1, 0, "a submit during a shutdown");
    expect_code(FFI_OK, api.init(), "init");
    zoo_expect_healthy(host, "after a shutdown and an init");

    struct outcome o = host_call(host, 0, "\1", 1);
    expect_code(FFI_ERR, o.code, "a job that no engine serves");
    o = host_call(host, DIAGNOSTIC, "\20", 1);
    expect_code(FFI_ERR, o.code, "mode 16 without a length");
    CallHeader late = zoo_header(DIAGNOSTIC, 0);
    late.timeout_ns = 1;
    o = host_call_header(host, &late, "\5\3", 2);
    expect_text(TEXT_IS, "cancelled: DeadlineExceeded", o.msg, o.msg_len,
                "a job past its deadline");
    zoo_expect_healthy(host, "after jobs that failed");
    host_close(host);
}

/* ---- Silence ------------------------------------------------------------ */

struct captured {
    int saved[2];
    int file[2];
    char *text[2];
    size_t len[2];
};

static void
capture(struct captured *captured)
{
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        captured->file[i] = memfd_create("captured", MFD_CLOEXEC);
        captured->saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        if (captured->file[i] < 0 || captured->saved[i] < 0)
            conform_broken("cannot capture descriptor %d: %s", i + 1,
                           strerror(errno));
        dup2(captured->file[i], i + 1);
    }
}

/* Puts the descriptors back before anything is judged. */
static void
restore(struct captured *captured, char *text, size_t cap)
{
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(captured->saved[i], i + 1);
        close(captured->saved[i]);
        ssize_t got = pread(captured->file[i], text, cap - 1, 0);
        close(captured->file[i]);
        captured->len[i] = got < 0 ? 0 : (size_t)got;
        text[captured->len[i]] = '\0';
        captured->text[i] = text;
        text += captured->len[i] + 1;
        cap -= captured->len[i] + 1;
    }
}

CONFORM_CASE(
    silent_traffic, .id = "i2.silent.traffic", .clauses = "i2.silent",
    .why = "A library that prints mixes its words into the host's own "
           "output, or into a descriptor that the host reused.",
    .steps = "With descriptors 1 and 2 captured: open, echoes, log lines, "
             "errors, refusals, a cancel, a buffer, a shutdown, close.",
    .expected = "Not one byte on either; the marker that the case itself "
                "writes to both is seen.",
    .transports = CONFORM_BOTH, .mutant = "talks-on-stderr")
{
    static char text[65536];
    struct captured captured;
    capture(&captured);
    dprintf(1, "<1>");
    dprintf(2, "<2>");
    struct host *host = host_open(2);
    zoo_expect_healthy(host, "captured");
    host_call(host, DIAGNOSTIC, "\16\4", 2);
    host_call(host, 0, "\1", 1);
    CallHeader bad = zoo_header(4, 0);
    host_try_submit(host, &bad, "\1", 1, 0);
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\5\377", 2);
    api.cancel(host_handle(host), ticket, NULL);
    host_wait(host, ticket);
    api.shutdown(0);
    api.init();
    host_close(host);
    restore(&captured, text, sizeof text);
    expect_text(TEXT_IS, "<1>", captured.text[0], captured.len[0],
                "descriptor 1");
    expect_text(TEXT_IS, "<2>", captured.text[1], captured.len[1],
                "descriptor 2");
}

static uint32_t
count_of(const char *needle, const char *text)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, needle)) != NULL; at++)
        count++;
    return count;
}

CONFORM_CASE(
    silent_panics, .id = "i2.silent.panics", .clauses = "i2.silent",
    .why = "A firewall that reports a panic on its own as well tells it "
           "twice; one that writes to descriptor 1 breaks a protocol.",
    .steps = "With descriptors 1 and 2 captured: five handles with one mode 1 "
             "each.",
    .expected = "Nothing on 1; on 2 nothing, or each panic's text once at "
                "most (a language's own report).",
    .transports = CONFORM_BOTH)
{
    static char text[65536];
    struct captured captured;
    capture(&captured);
    dprintf(1, "<1>");
    dprintf(2, "<2>");
    for (int i = 0; i < 5; i++) {
        struct host *host = host_open(1);
        zoo_poison(host);
        host_close(host);
    }
    restore(&captured, text, sizeof text);
    expect_text(TEXT_IS, "<1>", captured.text[0], captured.len[0],
                "descriptor 1");
    expect_text(TEXT_BEGINS, "<2>", captured.text[1], captured.len[1],
                "descriptor 2");
    uint32_t reports = count_of("plain panic", captured.text[1]);
    expect_u64_at_most(5, reports, "reports of 5 panics on descriptor 2");
    expect(captured.len[1] == 3 || reports == 5,
           "what is on descriptor 2 is a report of each panic");
    conform_evidence("bytes on 2", "%zu", captured.len[1] - 3);
}
