/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * C engines that panic, each through the whole examination of the zoo.
 */
#include <string.h>

#include "../zoo.h"
#include "gusset_engine.h"

#define OPCODE 0x7a6f6f00u

/* input[0] of a unit. */
enum {
    AT_DEPTH = 1,
    WITH_NUL,
    ONE_MEBIBYTE,
    EMPTY,
    NESTED,
    CAUGHT,
    WITHOUT_PLACE,
    AFTER_OUTPUT,
    VARIADIC
};

static const char nul_text[] = "before \0 and \0\0 behind";
static char long_text[1 << 20];

static uint32_t
strike(void)
{
    GSE_PANIC("at the bottom of %d frames", 400);
}

/* By a pointer, so that no compiler knows that the recursion never returns. */
static uint32_t (*volatile at_the_bottom)(void) = strike;

/* 400 frames with something in each, so that leaving them is real. */
static uint32_t
dig(uint32_t depth)
{
    volatile uint8_t soil[512];
    memset((void *)soil, (int)depth, sizeof soil);
    if (depth == 0)
        return at_the_bottom();
    return dig(depth - 1) + soil[depth % sizeof soil];
}

static void
innermost(const char *text)
{
    GSE_PANIC("%s", text);
}

static void
inner(const char *text)
{
    innermost(text);
}

static void
va(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    gse_vpanic("variadic.c", 4711, format, args);
}

static int32_t
engine(gse_call *call, void *user)
{
    (void)user;
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    zoo_gate_wait();
    switch (len == 0 ? 0 : input[0]) {
    case AT_DEPTH:
        return (int32_t)dig(400);
    case WITH_NUL:
        gse_panic_bytes("nul.c", 12, nul_text, sizeof nul_text - 1);
    case ONE_MEBIBYTE:
        gse_panic_bytes("long.c", 14, long_text, sizeof long_text);
    case EMPTY:
        gse_panic_bytes("empty.c", 15, NULL, 0);
    case NESTED:
        inner("in a nested call");
        break;
    case CAUGHT:
        gse_output_panic(call, "caught.cc", 9, 99, "caught by the engine", 20);
        return GSE_OK;
    case WITHOUT_PLACE:
        gse_panic_bytes(NULL, 0, "from nowhere", 12);
    case AFTER_OUTPUT:
        gse_output_bytes(call, "never seen", 10);
        gse_output_buffer(call, 100000);
        GSE_PANIC("after the output was set");
    case VARIADIC:
        va("%d of %s", 7, "nine");
        break;
    default:
        break;
    }
    return GSE_FAILED;
}

static void
examine(struct specimen specimen)
{
    specimen.opcode = OPCODE;
    specimen.exact = true;
    expect(gse_register_opcode(OPCODE, engine, NULL) == GSE_OK,
           "the engine registers");
    zoo_examine(&specimen);
    gse_clear();
}

#define C_CLAUSES                                   \
    " i2.first-panic-then-poisoned i2.poison-latch" \
    " i2.poison-new-work-only i2.pool-survives i2.poison-per-handle"

#define C_STEPS                                                         \
    "A C engine panics by itself on a pool of 1; amid 7 running "       \
    "siblings, finished results and queued units on a pool of 8, held " \
    "at a gate until all were accepted; beside a held worker on a "     \
    "pool of 2."

#define C_CASE(name_, id_, clauses_, why_, expected_, ...)                     \
    CONFORM_CASE(name_, .id = id_, .clauses = clauses_ C_CLAUSES, .why = why_, \
                 .steps = C_STEPS,                                             \
                 .expected =                                                   \
                     "FFI_PANIC with " expected_ "; poison, siblings, "        \
                     "workers and memory as after any panic.",                 \
                 .needs = "engine", .transports = CONFORM_BOTH,                \
                 .tags = CONFORM_SLEEPS, __VA_ARGS__)

C_CASE(at_depth, "i2.contained.c-at-depth", "i2.contained i2.location",
       "A firewall that can only leave the handler's own frame.",
       "`PANIC: at the bottom of 400 frames` and a place in the engine",
       .mutant = NULL)
{
    examine((struct specimen){.name = "at depth",
                              .input = (const uint8_t[]){AT_DEPTH},
                              .len = 1,
                              .text = "at the bottom of 400 frames",
                              .text_len = 27});
}

C_CASE(with_nul, "i2.nul-safe.c-three-nuls", "i2.nul-safe i2.contained",
       "A text handed on as a C string ends at its first NUL.",
       "every byte of a text with three NULs", .mutant = "nul-cut-message")
{
    examine((struct specimen){.name = "with NUL",
                              .input = (const uint8_t[]){WITH_NUL},
                              .len = 1,
                              .text = nul_text,
                              .text_len = sizeof nul_text - 1});
}

C_CASE(one_mebibyte, "i2.text-capped.c-one-mebibyte",
       "i2.text-capped i2.text-utf8 i2.contained",
       "A text that is copied whole, or cut in the middle of a character.",
       "a prefix of whole 3-byte characters, then the marker", .mutant = NULL)
{
    for (size_t i = 0; i + 3 <= sizeof long_text; i += 3)
        memcpy(long_text + i, "\xe2\x82\xac", 3);
    long_text[sizeof long_text - 1] = '.';
    examine((struct specimen){.name = "one mebibyte",
                              .input = (const uint8_t[]){ONE_MEBIBYTE},
                              .len = 1,
                              .text = long_text,
                              .text_len = sizeof long_text});
}

C_CASE(empty, "i2.contained.c-empty-text", "i2.contained",
       "A panic without a text that is taken for no panic at all.",
       "the bare `PANIC: `", .mutant = NULL)
{
    examine((struct specimen){.name = "empty text",
                              .input = (const uint8_t[]){EMPTY},
                              .len = 1,
                              .text = "",
                              .text_len = 0});
}

C_CASE(nested, "i2.contained.c-nested-call", "i2.contained i2.location",
       "A panic two calls below the handler returns into its callers.",
       "`PANIC: in a nested call`", .mutant = NULL)
{
    examine((struct specimen){.name = "nested call",
                              .input = (const uint8_t[]){NESTED},
                              .len = 1,
                              .text = "in a nested call",
                              .text_len = 16});
}

C_CASE(caught, "i2.contained.c-output-panic", "i2.contained i2.location",
       "A panic that the engine caught itself and reports is taken for a "
       "success because the handler returned.",
       "`PANIC: caught by the engine`", .mutant = NULL)
{
    examine((struct specimen){.name = "output_panic",
                              .input = (const uint8_t[]){CAUGHT},
                              .len = 1,
                              .text = "caught by the engine",
                              .text_len = 20});
}

C_CASE(after_output, "i2.contained.c-after-output", "i2.contained",
       "An output that was set before the panic is delivered in its place, "
       "or leaks.",
       "`PANIC: after the output was set` and no result", .mutant = NULL)
{
    examine((struct specimen){.name = "after output",
                              .input = (const uint8_t[]){AFTER_OUTPUT},
                              .len = 1,
                              .text = "after the output was set",
                              .text_len = 24});
}

C_CASE(without_place, "i2.location-fresh.c-panic-without-place",
       "i2.location-fresh i2.contained",
       "A panic whose place is unknown is given another's.", "no place",
       .mutant = NULL)
{
    examine((struct specimen){.name = "without place",
                              .input = (const uint8_t[]){WITHOUT_PLACE},
                              .len = 1,
                              .text = "from nowhere",
                              .text_len = 12,
                              .placeless = true});
}

/* ---- Places ------------------------------------------------------------- */

CONFORM_CASE(
    vpanic, .id = "i2.location.c-given-place",
    .clauses = "i2.location i2.contained",
    .why = "A place that the engine gives is replaced by the runtime's own.",
    .steps = "C engines panic with gse_panic_bytes, gse_vpanic, "
             "gse_output_panic and GSE_PANIC, each with a place of its own.",
    .expected = "File and line as given, for GSE_PANIC those of the "
                "statement.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "given-place-dropped")
{
    static const struct {
        uint8_t command;
        const char *file;
        uint32_t line;
        const char *text;
    } places[] = {{WITH_NUL, "nul.c", 12, "PANIC: before "},
                  {VARIADIC, "variadic.c", 4711, "PANIC: 7 of nine"},
                  {CAUGHT, "caught.cc", 99, "PANIC: caught by the engine"},
                  {NESTED, "panics.c", 0, "PANIC: in a nested call"}};
    expect(gse_register_opcode(OPCODE, engine, NULL) == GSE_OK,
           "the engine registers");
    for (size_t i = 0; i < 4; i++) {
        struct host *host = host_open(1);
        CallHeader header = zoo_header(0, OPCODE);
        struct outcome o =
            host_call_header(host, &header, &places[i].command, 1);
        host_close(host);
        expect_code(FFI_PANIC, o.code, "%s", places[i].text);
        expect_text(TEXT_BEGINS, places[i].text, o.msg, o.msg_len, "text");
        expect(o.has_file, "%s has a file", places[i].text);
        expect_text(i == 3 ? TEXT_CONTAINS : TEXT_IS, places[i].file, o.file,
                    o.file_len, "file of %s", places[i].text);
        if (i < 3)
            expect_u64(places[i].line, o.line, "line of %s", places[i].text);
        expect_u64_at_least(1, o.line, "line of %s", places[i].text);
    }
    gse_clear();
}
