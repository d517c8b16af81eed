/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * C engines that fail without a panic: an error is an answer, not a fault.
 */
#include <string.h>

#include "../zoo.h"
#include "gusset_engine.h"

#define OPCODE 0x65727200u

enum {
    WITH_TEXT = 1,
    WITHOUT_TEXT,
    TWO_OUTPUTS,
    FORMATTED,
    NOTHING = 6,
    ERROR_AFTER_OUTPUT = 7
};

static int32_t
engine(gse_call *call, void *user)
{
    (void)user;
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    switch (len == 0 ? 0 : input[0]) {
    case WITH_TEXT:
        gse_output_error(call, input + 1, len - 1);
        return GSE_FAILED;
    case WITHOUT_TEXT:
        return GSE_FAILED;
    case TWO_OUTPUTS:
        gse_output_bytes(call, "one", 3);
        gse_output_bytes(call, "two", 3);
        return GSE_OK;
    case FORMATTED:
        gse_output_errorf(call, "no route to %s in %d ms", "dough", 42);
        return GSE_FAILED;
    case ERROR_AFTER_OUTPUT:
        gse_output_bytes(call, "never seen", 10);
        gse_output_error(call, "in the end", 10);
        return GSE_FAILED;
    default:
        return GSE_OK;
    }
}

static struct host *
open_with_engine(void)
{
    expect(gse_register_opcode(OPCODE, engine, NULL) == GSE_OK,
           "the engine registers");
    return host_open(2);
}

static void
close_with_engine(struct host *host)
{
    zoo_expect_healthy(host, "after engine errors");
    host_close(host);
    gse_clear();
}

static struct outcome
fail_with(struct host *host, const void *input, size_t len)
{
    CallHeader header = zoo_header(INLINE, OPCODE);
    uint64_t ticket = host_submit_header(host, &header, input, len);
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "an error is never delivered inline");
    struct outcome o = host_take(host, ticket);
    expect_code(FFI_ERR, o.code, "an engine error");
    zoo_expect_no_place(&o, "an engine error");
    return o;
}

CONFORM_CASE(
    error_texts, .id = "i2.error-not-panic.texts",
    .clauses = "i2.error-not-panic i2.refusal-not-poison i2.nul-safe "
               "i2.text-utf8",
    .why = "An engine that merely says no is taken for one that broke, and "
           "its handle is closed to everybody.",
    .steps = "A C engine fails with a text, an empty one, one with NULs, one "
             "that is not UTF-8, a formatted one, after an output was set, "
             "and with the words of a cancellation and of a panic.",
    .expected = "FFI_ERR with exactly that text, no place, never poisoned.",
    .mutant = "inline-record-for-error error-is-a-panic", .needs = "engine",
    .transports = CONFORM_BOTH)
{
    static const struct {
        const char *input;
        size_t len;
        const char *text;
        size_t text_len;
    } errors[] = {{"\1out of cheese", 14, "out of cheese", 13},
                  {"\1a\0b\0", 5, "a\0b\0", 4},
                  {"\1a\xff"
                   "b",
                   4,
                   "a\xef\xbf\xbd"
                   "b",
                   5},
                  {"\4", 1, "no route to dough in 42 ms", 26},
                  {"\7", 1, "in the end", 10},
                  {"\1cancelled: Explicit", 20, "cancelled: Explicit", 19},
                  {"\1PANIC: not one", 15, "PANIC: not one", 14}};
    struct host *host = open_with_engine();
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct outcome o = fail_with(host, errors[i].input, errors[i].len);
        expect_bytes(errors[i].text, errors[i].text_len, o.msg, o.msg_len,
                     "text of engine error %zu", i);
    }
    close_with_engine(host);
}

CONFORM_CASE(
    error_misuse, .id = "i2.error-not-panic.misuse",
    .clauses = "i2.error-not-panic i2.refusal-not-poison",
    .why = "A handler that breaks the engine API's rules must be told so, not "
           "crash the host or pass for a success.",
    .steps = "A C engine fails without a text; another sets two outputs; a "
             "third sets none.",
    .expected = "FFI_ERR with a text for the first two, an empty result for "
                "the third; the handle healthy.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "two-outputs-accepted")
{
    struct host *host = open_with_engine();
    fail_with(host, "\2", 1);
    fail_with(host, "\3", 1);
    CallHeader header = zoo_header(0, OPCODE);
    struct outcome o = host_call_header(host, &header, "\6", 1);
    expect_code(FFI_OK, o.code, "an engine that sets no output");
    expect_u64(0, o.len, "its result");
    close_with_engine(host);
}
