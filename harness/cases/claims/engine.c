/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Whether the implementation has an engine of its own: the claim `engine`.
 */
#include "../jobs.h"

static const char no_engine[] = "gusset: no engine handler registered";

static const struct {
    const char *name;
    size_t len;
} inputs[] = {{"an empty input", 0}, {"one byte", 1}, {"4096 bytes", 4096}};
enum { INPUTS = sizeof inputs / sizeof inputs[0] };

/* What becomes of a unit with neither an opcode nor the diagnostic flag. */
static struct outcome
bare_unit(struct host *host, size_t i)
{
    return host_call(host, 0, conform_pattern(4096, MODE_ECHO, 1),
                     inputs[i].len);
}

static bool
is_unserved(const struct outcome *outcome)
{
    size_t len = sizeof no_engine - 1;
    return outcome->code == FFI_ERR && outcome->msg_len >= len &&
           memcmp(outcome->msg, no_engine, len) == 0;
}

static void
expect_no_engine(void)
{
    struct host *host = host_open(1);
    for (size_t i = 0; i < INPUTS; i++) {
        struct outcome outcome = bare_unit(host, i);
        expect(is_unserved(&outcome),
               "%s: FFI_ERR, `%s`; it is %s (%s): an engine serves units "
               "although none was registered. An implementation that "
               "registers one by itself says so in its claims file (engine = "
               "own)",
               inputs[i].name, no_engine, conform_code_name(outcome.code),
               outcome.msg != NULL ? outcome.msg : "no text");
    }
    host_close(host);
}

/* A fresh handle each time: what the engine makes of it is its own affair. */
static void
expect_own_engine(void)
{
    for (size_t i = 0; i < INPUTS; i++) {
        struct host *host = host_open(1);
        struct outcome outcome = bare_unit(host, i);
        expect(!is_unserved(&outcome),
               "%s: the claims file says engine = own, but no engine is "
               "registered: `%s`",
               inputs[i].name, no_engine);
        conform_evidence("own engine", "%s: %s", inputs[i].name,
                         conform_code_name(outcome.code));
        host_close(host);
    }
}

CONFORM_CASE(
    no_engine_of_its_own, .id = "i2.closed-by-default.none-of-its-own",
    .clauses = "i2.closed-by-default",
    .why = "A library that brings an engine along and does not say so answers "
           "units that its host never meant for it.",
    .steps = "Units without an opcode and without flag bit 0: an empty input, "
             "1 and 4096 bytes.",
    .expected = "FFI_ERR, `gusset: no engine handler registered`; out of reach "
                "where the claims file says engine = own.",
    .transports = CONFORM_BOTH, .mutant = "diagnostic-by-default")
{
    expect_no_engine();
}

CONFORM_CASE(
    engine_as_claimed, .id = "i2.closed-by-default.engine-as-claimed",
    .clauses = "i2.closed-by-default",
    .why = "Whoever claims an engine of its own is excused from all that needs "
           "the diagnostic engine: the claim must be true.",
    .steps = "Units without an opcode and without flag bit 0: an empty input, "
             "1 and 4096 bytes.",
    .expected = "Claim none: no engine serves them. Claim own: some engine "
                "does, whatever comes of it.",
    .needs = "claim:engine", .mutant = "diagnostic-by-default")
{
    if (conform_claims("engine", "own"))
        expect_own_engine();
    else
        expect_no_engine();
}
