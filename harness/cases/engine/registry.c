/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which engine runs: the opcode's, the global one, or none. The global handler
 * comes and goes by modes 10 and 11; nothing is submitted for the opcode while
 * a mode 11 runs, because a clear takes all handlers away for a moment.
 */
#include "engine.h"

#include <stdio.h>

static void
expect_global(struct host *host, uint32_t flags, const char *what)
{
    static const uint8_t right[] = {0x47, 1, 'x'};
    CallHeader header = job_header(flags, 0);
    struct outcome o = host_call_header(host, &header, "\1x", 2);
    expect_success_is(&o, right, sizeof right, what);
}

static void
expect_none(struct host *host, uint32_t flags, uint32_t opcode,
            const char *what)
{
    CallHeader header = job_header(flags, 0);
    header.reserved = opcode;
    uint64_t ticket = host_submit_header(host, &header, "\1x", 2);
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "%s: a bare ticket", what);
    struct outcome o = host_take(host, ticket);
    expect_code(FFI_ERR, o.code, "%s", what);
    expect_text(TEXT_BEGINS, TE_NO_HANDLER, o.msg, o.msg_len, "%s", what);
    if (opcode != 0) {
        char number[32];
        snprintf(number, sizeof number, "opcode %u", opcode);
        expect_text(TEXT_CONTAINS, number, o.msg, o.msg_len, "%s", what);
    }
}

CONFORM_CASE(
    outranks, .id = "i2.engine-outranks-flag.mode-1",
    .clauses = "i2.engine-outranks-flag i2.closed-by-default",
    .why = "A stray flag bit swaps the host's engine for one that panics on "
           "demand.",
    .steps = "Register a global engine (mode 10); submit a mode 1 with flag "
             "bit 0 set and clear, bit 1 set and clear, and empty input; "
             "remove it (mode 11).",
    .expected = "The engine's own answer each time; after the removal no "
                "engine without the flag, and the opcode still served.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "diagnostic-before-engine")
{
    struct host *host = host_open(1);
    te_global(host, TE_GLOBAL_ON);
    for (uint32_t flags = 0; flags < 4; flags++)
        expect_global(host, flags, "a registered engine, any flags");
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct outcome o = host_call_header(host, &header, NULL, 0);
    expect_success_is(&o, "G", 1, "a registered engine, no input");
    te_expect_healthy(host, "the opcode beside a global engine");
    te_global(host, TE_GLOBAL_OFF);
    expect_none(host, 0, 0, "after the removal, flag bit 0 clear");
    expect_none(host, INLINE, 0, "after the removal, bit 1 set");
    te_expect_healthy(host, "the opcode after the removal");
    host_close(host);
}

CONFORM_CASE(
    flag_after, .id = "i2.engine-outranks-flag.test-engine-then-flag",
    .clauses = "i2.engine-outranks-flag",
    .why = "A removed engine leaves the diagnostic engine shut out, or an "
           "engine of another opcode shuts it out.",
    .steps = "A diagnostic echo beside the test engine's opcode; register a "
             "global engine and remove it; the echo again.",
    .expected = "The echo both times, and the global engine in between.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "diagnostic-before-engine")
{
    struct host *host = host_open(1);
    expect_handle_healthy(host, "a diagnostic echo beside an opcode engine");
    te_global(host, TE_GLOBAL_ON);
    expect_global(host, DIAGNOSTIC, "the global engine");
    te_global(host, TE_GLOBAL_OFF);
    expect_handle_healthy(host, "a diagnostic echo after the removal");
    host_close(host);
}

/* None of these is the test engine's, and some are nearly. */
static void
expect_unknown_opcodes_closed(struct host *host)
{
    static const uint32_t opcodes[] = {1,
                                       2,
                                       UINT32_C(0x47540000),
                                       UINT32_C(0x47540002),
                                       UINT32_C(0x80000000),
                                       UINT32_MAX};
    for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        expect_none(host, 0, opcodes[i], "an unknown opcode");
        expect_none(host, DIAGNOSTIC, opcodes[i],
                    "an unknown opcode with bit 0");
    }
    te_expect_healthy(host, "the known opcode");
}

CONFORM_CASE(
    opcode_closed, .id = "i2.opcode-closed.test-engine",
    .clauses = "i2.opcode-closed i2.closed-by-default i2.refusal-not-poison",
    .why = "An opcode that falls back to another engine runs the wrong code.",
    .steps = "Beside the test engine's opcode: opcodes 1, 2, the neighbours "
             "of the test engine's, 2^31 and 2^32-1, with and without flag "
             "bit 0.",
    .expected = "No engine, naming the opcode; the handle healthy.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "opcode-lookup-ignores-low-bit")
{
    struct host *host = host_open(1);
    expect_unknown_opcodes_closed(host);
    host_close(host);
}

CONFORM_CASE(
    beside_a_global, .id = "i2.opcode-closed.engines-do-not-matter",
    .clauses = "i2.opcode-closed i2.closed-by-default i2.refusal-not-poison",
    .why = "An opcode without an engine falls back to the global one.",
    .steps = "Opcode 0 beside the test engine's opcode; then, beside a global "
             "engine as well, unknown opcodes with and without flag bit 0.",
    .expected = "Opcode 0 is not served by an opcode's engine, nor an unknown "
                "opcode by the global one; the handle healthy.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "unknown-opcode-runs-global opcode-lookup-ignores-low-bit")
{
    struct host *host = host_open(1);
    expect_none(host, 0, 0, "opcode 0 beside an opcode engine");
    te_global(host, TE_GLOBAL_ON);
    expect_unknown_opcodes_closed(host);
    expect_global(host, 0, "the global engine");
    te_global(host, TE_GLOBAL_OFF);
    host_close(host);
}

CONFORM_CASE(
    global_twice, .id = "i2.engine-outranks-flag.test-engine-twice",
    .clauses = "i2.engine-outranks-flag i2.closed-by-default",
    .why = "A second registration that is counted, queued or replaces the "
           "first outlives one removal.",
    .steps = "Register the global engine twice (the second may be refused); "
             "use it; remove it once; register it once more.",
    .expected = "The engine, then none, then the engine; the opcode served "
                "throughout.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "second-global-survives-a-clear")
{
    struct host *host = host_open(1);
    te_global(host, TE_GLOBAL_ON);
    struct outcome o = te_call(host, TE_GLOBAL_ON, NULL, 0);
    expect(o.code == FFI_OK || o.code == FFI_ERR,
           "a second registration is refused or is the first: %s",
           conform_code_name(o.code));
    expect_global(host, 0, "the global engine, registered twice");
    te_global(host, TE_GLOBAL_OFF);
    expect_none(host, 0, 0, "the global engine, removed once");
    te_expect_healthy(host, "the opcode after a removal");
    te_global(host, TE_GLOBAL_ON);
    expect_global(host, 0, "the global engine, registered again");
    te_expect_healthy(host, "the opcode beside it");
    te_global(host, TE_GLOBAL_OFF);
    host_close(host);
}

/* A pool of one is kept inside the engine with a unit for opcode 0 behind it,
 * and let go. */
struct behind {
    struct host *host;
    uint64_t held;
    uint64_t queued;
};

static struct behind
queue_behind(uint32_t flags)
{
    struct behind behind = {.host = host_open(1)};
    CallHeader header = job_header(flags, 0);
    te_expect_healthy(behind.host, "before the unit that holds the worker");
    behind.held = te_submit(behind.host, 0, 0, TE_UNTIL, NULL, 0);
    behind.queued = host_submit_patiently(behind.host, &header, "\1x", 2);
    return behind;
}

static struct outcome
let_go(struct behind *behind)
{
    te_release(behind->host, behind->held);
    te_expect_cancelled(behind->host, behind->held,
                        "the unit that held the worker");
    struct outcome outcome = job_finish(behind->host, behind->queued);
    host_close(behind->host);
    return outcome;
}

CONFORM_CASE(
    looked_up_late, .id = "i2.opcode-closed.looked-up-when-run",
    .clauses = "i2.opcode-closed i2.engine-outranks-flag",
    .why = "An engine that is fixed at submit runs after it was removed, or "
           "is missing after it came.",
    .steps = "A unit for opcode 0 waits behind one that is inside the engine; "
             "meanwhile, on another handle, the global engine is registered; "
             "let go. The same with a removal. Registering happens while a "
             "job runs.",
    .expected = "The first is served, the second finds no engine; the "
                "running jobs are not touched.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "engine-looked-up-at-submit")
{
    static const uint8_t right[] = {0x47, 1, 'x'};
    struct host *control = host_open(1);
    struct behind behind = queue_behind(DIAGNOSTIC);
    te_global(control, TE_GLOBAL_ON);
    struct outcome o = let_go(&behind);
    expect_success_is(&o, right, sizeof right,
                      "queued before the engine was registered");
    behind = queue_behind(0);
    te_global(control, TE_GLOBAL_OFF);
    o = let_go(&behind);
    expect_code(FFI_ERR, o.code, "queued before the engine was removed");
    expect_text(TEXT_BEGINS, TE_NO_HANDLER, o.msg, o.msg_len,
                "queued before the engine was removed");
    te_expect_healthy(control, "the opcode at the end");
    host_close(control);
}

CONFORM_CASE(
    outlives_poison, .id = "i2.poison-per-handle.registry",
    .clauses = "i2.poison-per-handle i2.engine-outranks-flag",
    .why = "A registry that is tied to a handle dies with it, or stays locked "
           "by a panic.",
    .steps = "The opcode panics on handle A beside a global engine; both run "
             "on B; A is closed; remove and register on B; a fresh handle.",
    .expected = "B and the fresh handle are served; A stays poisoned.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "registry-locked-by-a-panic")
{
    struct host *a = host_open(1);
    struct host *b = host_open(1);
    te_global(b, TE_GLOBAL_ON);
    struct outcome o = te_call(a, TE_PANIC, "on A", 4);
    expect_code(FFI_PANIC, o.code, "the opcode on A");
    expect_global(b, 0, "the global engine on B after A's panic");
    te_expect_healthy(b, "the opcode on B after A's panic");
    te_expect_poisoned(a, "A");
    te_global(b, TE_GLOBAL_OFF);
    expect_none(b, 0, 0, "the global engine on B, removed");
    te_global(b, TE_GLOBAL_ON);
    expect_global(b, 0, "the global engine on B, registered again");
    te_expect_poisoned(a, "A after the removal");
    host_close(a);
    struct host *fresh = host_open(1);
    expect_global(fresh, 0, "the global engine on a fresh handle");
    te_expect_healthy(fresh, "the opcode on a fresh handle");
    te_global(fresh, TE_GLOBAL_OFF);
    host_close(fresh);
    host_close(b);
}

CONFORM_CASE(
    header_opcode, .id = "i4.header-verbatim.test-engine-opcode",
    .clauses = "i4.header-verbatim i2.engine-outranks-flag",
    .why = "A header rebuilt on the way, with the opcode lost: the engine "
           "answers for another.",
    .steps = "Units of the opcode with flags 0 to 3, far and no deadline, "
             "random and empty ids; the test engine compares the opcode of "
             "the header that it got. Then the same for the global handler.",
    .expected = "The opcode as submitted, each time: an echo.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "opcode-not-passed")
{
    static const uint8_t echo[] = {TE_SLEEP, 0, 0, 'x'};
    struct host *host = host_open(2);
    for (uint32_t i = 0; i < 16; i++) {
        CallHeader header = te_header(i % 4, i % 3 ? 0 : 600000 * MS);
        for (size_t k = 0; i % 2 == 0 && k < 24; k++)
            ((uint8_t *)&header)[k] = (uint8_t)conform_random(256);
        struct outcome o = host_call_header(host, &header, echo, sizeof echo);
        expect_success_is(&o, echo, sizeof echo, "an echo of the opcode");
    }
    te_global(host, TE_GLOBAL_ON);
    for (uint32_t flags = 0; flags < 4; flags++)
        expect_global(host, flags, "the global handler");
    te_global(host, TE_GLOBAL_OFF);
    host_close(host);
}
