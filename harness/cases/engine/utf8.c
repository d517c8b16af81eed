/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What becomes of an engine's bytes that are no text, in errors and panics. */
#include "engine.h"

struct repair {
    const char *bytes;
    const char *repaired;
};

#define R "\xef\xbf\xbd"

/* One invalid sequence between valid characters: there is one way to read
 * these. */
static const struct repair repairs[] = {
    {"a\xff"
     "b",
     "a" R "b"},
    {"a\x80"
     "b",
     "a" R "b"},
    {"\xe2\x82"
     "A",
     R "A"}, /* a cut 3-byte character */
    {"\xf0\x9f\x98"
     "A",
     R "A"}, /* a cut 4-byte character */
    {"\xc3"
     "A",
     R "A"},                          /* a cut 2-byte character */
    {"end \xe2\x82", "end " R},       /* cut by the end of the text */
    {"end \xf0\x9f", "end " R},       /* the same, of 4 */
    {"\xff", R},                      /* nothing else */
    {"\xe2\x82\xac", "\xe2\x82\xac"}, /* valid: unchanged */
    {"\xc3\xa9\xf0\x9f\x98\x80", "\xc3\xa9\xf0\x9f\x98\x80"}};

/* Neighbouring invalid sequences, each the longest that could have begun a
 * character (the Unicode standard's substitution of maximal subparts). */
static const struct repair subparts[] = {
    {"\xff\xfe", R R},
    {"\xc0\xaf", R R},             /* over-long: C0 begins nothing */
    {"\xed\xa0\x80", R R R},       /* a surrogate */
    {"\xf4\x90\x80\x80", R R R R}, /* above U+10FFFF */
    {"\xe2\x82\xe2\x82\xac", R "\xe2\x82\xac"},
    {"\xf0\x9f\xe2\x82"
     "A",
     R R "A"},
    {"\xe0\x80\x80", R R R}, /* over-long */
    {"\xf5\x80", R R}};

static void
expect_repaired(const struct repair *table, size_t count)
{
    struct host *healthy = host_open(1);
    for (size_t i = 0; i < count; i++) {
        const char *bytes = table[i].bytes;
        const char *repaired = table[i].repaired;
        struct outcome o = te_call(healthy, TE_ERROR, bytes, strlen(bytes));
        expect_code(FFI_ERR, o.code, "the error text %zu", i);
        expect_bytes(repaired, strlen(repaired), o.msg, o.msg_len,
                     "the error text %zu, repaired", i);
        struct host *host = host_open(1);
        o = te_call(host, TE_PANIC, bytes, strlen(bytes));
        host_close(host);
        char right[64] = "PANIC: ";
        strcat(right, repaired);
        expect_code(FFI_PANIC, o.code, "the panic text %zu", i);
        expect_bytes(right, strlen(right), o.msg, o.msg_len,
                     "the panic text %zu, repaired", i);
    }
    te_expect_healthy(healthy, "after engine errors");
    host_close(healthy);
}

CONFORM_CASE(
    invalid, .id = "i2.text-utf8.test-engine-invalid",
    .clauses = "i2.text-utf8 i2.contained i2.error-not-panic",
    .why = "Bytes that are no text reach a host whose strings must be.",
    .steps = "Errors and panics with texts that hold one invalid or cut UTF-8 "
             "sequence, in the middle, at the end, alone.",
    .expected = "U+FFFD in place of each, every other byte unchanged.",
    .mutant = "utf8-not-repaired", .needs = "test-engine",
    .transports = CONFORM_BOTH)
{
    expect_repaired(repairs, sizeof repairs / sizeof repairs[0]);
}

CONFORM_CASE(
    maximal, .id = "i2.text-utf8.test-engine-maximal-sequences",
    .clauses = "i2.text-utf8",
    .why = "Two implementations that count invalid sequences differently give "
           "two texts for one failure.",
    .steps = "Errors and panics with neighbouring invalid sequences: over-long "
             "forms, surrogates, cut characters in a row.",
    .expected = "One U+FFFD for each maximal subpart, as the Unicode standard "
                "counts them.",
    .mutant = "utf8-not-repaired replaced-byte-by-byte", .needs = "test-engine",
    .transports = CONFORM_BOTH)
{
    expect_repaired(subparts, sizeof subparts / sizeof subparts[0]);
}

CONFORM_CASE(
    embedded_nul, .id = "i2.nul-safe.test-engine",
    .clauses = "i2.nul-safe i2.contained i2.error-not-panic",
    .why = "A text handed on as a C string ends at its first NUL.",
    .steps = "Errors and panics with texts of one NUL, and with NULs inside "
             "and at the end.",
    .expected = "Every byte.", .mutant = "nul-cut-message",
    .needs = "test-engine", .transports = CONFORM_BOTH)
{
    static const struct {
        const char *bytes;
        size_t len;
    } texts[] = {{"\0", 1}, {"before \0 and \0\0 behind", 22}, {"end\0", 4}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct host *host = host_open(1);
        struct outcome o =
            te_call(host, TE_ERROR, texts[i].bytes, texts[i].len);
        expect_code(FFI_ERR, o.code, "error text %zu", i);
        expect_bytes(texts[i].bytes, texts[i].len, o.msg, o.msg_len,
                     "error text %zu", i);
        o = te_call(host, TE_PANIC, texts[i].bytes, texts[i].len);
        expect_code(FFI_PANIC, o.code, "panic text %zu", i);
        expect_text(TEXT_BEGINS, "PANIC: ", o.msg, o.msg_len, "panic text %zu",
                    i);
        expect_bytes(texts[i].bytes, texts[i].len, o.msg + 7, o.msg_len - 7,
                     "panic text %zu", i);
        host_close(host);
    }
}
