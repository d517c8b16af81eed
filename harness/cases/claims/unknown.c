/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What no contract of today knows, drawn at random: flag bits and opcodes. The
 * edges come first, so that every run has them.
 */
#include "../jobs.h"

#include <stdio.h>

#define KNOWN (DIAGNOSTIC | INLINE)
#define TEST_ENGINE UINT32_C(0x47540001)

static const uint8_t *
pattern(uint8_t mode)
{
    return conform_pattern(4096, mode, 3);
}

static size_t
random_length(void)
{
    static const size_t lengths[] = {0, 1, 47, 48, 49, 4095, 4096};
    size_t count = sizeof lengths / sizeof lengths[0];
    size_t pick = (size_t)conform_random(count + 1);
    return pick < count ? lengths[pick] : (size_t)conform_random(4097);
}

/* ---- Flags -------------------------------------------------------------- */

/* Each bit with all four sets of known ones, each pair, then anything. */
static uint32_t
unknown_flags(uint32_t round)
{
    uint32_t known = (uint32_t)conform_random(4);
    if (round < 30 * 4)
        return UINT32_C(1) << (2 + round / 4) | round % 4;
    round -= 30 * 4;
    if (round < 30 * 30) {
        uint32_t pair = UINT32_C(4) << round / 30 | UINT32_C(4) << round % 30;
        return pair | known;
    }
    uint32_t flags = (uint32_t)conform_random(UINT64_C(1) << 32) & ~KNOWN;
    uint32_t mask = (uint32_t)conform_random(UINT64_C(1) << 32);
    /* Sparse ones too: half the bits set is what chance favours. */
    if (round % 2 == 0)
        flags &= mask & (uint32_t)conform_random(UINT64_C(1) << 32);
    return (flags == 0 ? UINT32_C(4) << conform_random(30) : flags) | known;
}

static void
expect_flags_refused(struct host *host, const CallHeader *header,
                     const uint8_t *input, size_t len)
{
    uint64_t untouched = UINT64_C(0x1122334455667788);
    uint64_t ticket = untouched;
    FfiStatus status = conform_dirty_status();
    struct outcome refused = conform_settle(
        api.submit(host_handle(host), header, input, len, 0, &ticket, &status),
        &status);
    expect(refused.code == FFI_ERR || refused.code == FFI_BAD_ARG,
           "flags 0x%08x, opcode %u: refused, got %s", header->flags,
           header->reserved, conform_code_name(refused.code));
    expect_text(TEXT_CONTAINS, "unknown CallHeader flag", refused.msg,
                refused.msg_len, "flags 0x%08x: the text", header->flags);
    expect_u64(untouched, ticket, "flags 0x%08x: out_ticket", header->flags);
    expect_code(
        refused.code,
        api.submit(host_handle(host), header, input, len, 0, &ticket, NULL),
        "flags 0x%08x without a status", header->flags);
}

CONFORM_CASE(
    random_flags, .id = "i4.unknown-flags.random",
    .clauses = "i4.unknown-flags i1.out-only-on-ok i1.null-status-same-code",
    .why = "A check for the unknown bits that somebody thought of lets the "
           "others through, and combinations of them.",
    .steps = "Submit a panic with each unknown bit beside each set of known "
             "ones, with each pair of unknown bits, and with random sets; with "
             "and without an opcode, a deadline, an input.",
    .expected = "FFI_ERR or FFI_BAD_ARG, `unknown CallHeader flag`, no ticket, "
                "no completion; the handle is healthy.",
    .transports = CONFORM_BOTH, .mutant = "unknown-flags-alone")
{
    struct host *host = host_open(1);
    const uint8_t *input = pattern(MODE_PANIC);
    uint32_t rounds = 30 * 34 + conform_rounds(500, 20000);
    for (uint32_t round = 0; round < rounds; round++) {
        CallHeader header = job_header(unknown_flags(round), 0);
        header.timeout_ns = conform_random(2) * conform_random(UINT64_MAX);
        if (conform_random(4) == 0)
            header.reserved = (uint32_t)conform_random(UINT64_C(1) << 32);
        expect_flags_refused(host, &header, input, random_length());
    }
    struct completion none;
    expect(!host_poll(host, &none), "no refused submit completes");
    expect_handle_healthy(host, "an echo after refused panics");
    conform_evidence("flags tried", "%u", rounds);
    host_close(host);
}

/* ---- Opcodes ------------------------------------------------------------ */

/* Around each power of two, one bit beside the test engine's, then anything. */
static uint32_t
unknown_opcode(uint32_t round)
{
    uint32_t opcode = 0;
    if (round < 32 * 3)
        opcode = (UINT32_C(1) << round / 3) - 1 + round % 3;
    else if (round < 32 * 4)
        opcode = TEST_ENGINE ^ UINT32_C(1) << round % 32;
    while (opcode == 0 || opcode == TEST_ENGINE)
        opcode = (uint32_t)conform_random(UINT64_C(1) << 32);
    return opcode;
}

/* `opcode N`, and no further digit. */
static bool
names_opcode(const struct outcome *outcome, uint32_t opcode)
{
    char text[32];
    size_t len = (size_t)snprintf(text, sizeof text, "opcode %u", opcode);
    const char *at = memmem(outcome->msg, outcome->msg_len, text, len);
    return at != NULL && (at + len == outcome->msg + outcome->msg_len ||
                          at[len] < '0' || at[len] > '9');
}

static void
expect_opcode_closed(struct host *host, uint64_t ticket, uint32_t opcode)
{
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "opcode %u: a bare ticket", opcode);
    struct outcome outcome = host_take(host, ticket);
    expect_code(FFI_ERR, outcome.code, "opcode %u", opcode);
    expect_text(TEXT_BEGINS, "gusset: no engine handler registered",
                outcome.msg, outcome.msg_len, "opcode %u: the text", opcode);
    expect(names_opcode(&outcome, opcode),
           "the text contains `opcode %u`, the number whole: %s", opcode,
           outcome.msg);
}

CONFORM_CASE(
    random_opcodes, .id = "i2.opcode-closed.random",
    .clauses = "i2.opcode-closed",
    .why = "An opcode of tomorrow that is cut, masked or taken for a range "
           "runs an engine that it was not meant for.",
    .steps = "Opcodes around each power of two, those that differ from the "
             "test engine's in one bit, and random ones; known flags in turn; "
             "an input that the diagnostic engine would echo.",
    .expected = "Accepted, a bare ticket, FFI_ERR that begins as for no engine "
                "and contains `opcode N`; the handle is healthy.",
    .transports = CONFORM_BOTH, .mutant = "opcode-range-diagnostic")
{
    enum { TOGETHER = 6 };
    struct host *host = host_open(2);
    const uint8_t *input = pattern(MODE_ECHO);
    uint32_t rounds = 32 * 4 + conform_rounds(400, 20000);
    for (uint32_t round = 0; round < rounds; round += TOGETHER) {
        uint64_t tickets[TOGETHER];
        uint32_t opcodes[TOGETHER];
        for (uint32_t i = 0; i < TOGETHER; i++) {
            CallHeader header = job_header((round + i) % 4, 0);
            opcodes[i] = unknown_opcode(round + i);
            header.reserved = opcodes[i];
            tickets[i] =
                host_submit_patiently(host, &header, input, random_length());
        }
        for (uint32_t i = 0; i < TOGETHER; i++)
            expect_opcode_closed(host, tickets[i], opcodes[i]);
    }
    conform_evidence("opcodes tried", "%u", rounds);
    host_close(host);
}
