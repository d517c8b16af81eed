/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Texts of engine errors: they arrive as they are, cut at the cap. */
#include "engine.h"

#define CAP 32768u
#define CUT_AT_LEAST 32750u
#define MARKER "... [truncated]"

static struct outcome
fail_with(struct host *host, const void *text, size_t len)
{
    uint64_t ticket = te_submit(host, INLINE, 0, TE_ERROR, text, len);
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "an error is never delivered inline");
    struct outcome o = host_take(host, ticket);
    expect_code(FFI_ERR, o.code, "an engine error of %zu bytes", len);
    expect(!o.has_file, "an engine error has no file");
    expect_u64(0, o.file_len, "an engine error has no length of a file");
    expect_u64(0, o.line, "an engine error has no line");
    return o;
}

/* The message is a prefix of text, cut as i2.text-capped has it. */
static void
expect_capped(const uint8_t *text, size_t len, const struct outcome *o)
{
    const size_t marker = sizeof MARKER - 1;
    expect_u64_at_most(65536, o->msg_len, "bytes of a capped text in all");
    expect_u64_at_least(CUT_AT_LEAST + marker, o->msg_len,
                        "bytes that survive the cap");
    size_t kept = o->msg_len - marker;
    expect_u64_at_most(CAP, kept, "bytes of the text before the marker");
    expect_bytes(text, kept, o->msg, kept, "a text of %zu bytes up to the cap",
                 len);
    expect_bytes(MARKER, marker, o->msg + kept, marker, "the marker");
    bool boundary = kept == len || (text[kept] & 0xc0) != 0x80;
    expect(boundary, "the cut at byte %zu lies between two characters", kept);
}

CONFORM_CASE(
    error_texts, .id = "i2.error-not-panic.test-engine-texts",
    .clauses = "i2.error-not-panic i2.refusal-not-poison i2.nul-safe "
               "i2.text-utf8 i2.location-only-on-panic",
    .why = "An engine that merely says no is taken for one that broke, and "
           "its handle is closed to everybody.",
    .steps = "Engine errors (mode 0) with a plain text, one with NULs, some "
             "that are not UTF-8, with the words of a cancellation and of a "
             "panic, and with none.",
    .expected = "FFI_ERR with exactly that text (U+FFFD for what is no text, "
                "some text for none), no place, never poisoned.",
    .mutant = "inline-record-for-error error-is-a-panic nul-cut-message "
              "utf8-not-repaired error-without-a-text",
    .needs = "test-engine", .transports = CONFORM_BOTH)
{
    static const struct {
        const char *text;
        size_t len;
        const char *right;
        size_t right_len;
    } errors[] = {
        {"out of cheese", 13, "out of cheese", 13},
        {"a\0b\0", 4, "a\0b\0", 4},
        {"\0", 1, "\0", 1},
        {"a\xff"
         "b",
         3,
         "a\xef\xbf\xbd"
         "b",
         5},
        {"end \xe2\x82", 6, "end \xef\xbf\xbd", 7},
        {"\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 9},
        {"cancelled: Explicit", 19, "cancelled: Explicit", 19},
        {"PANIC: not one", 14, "PANIC: not one", 14},
        {"handle is poisoned", 18, "handle is poisoned", 18}};
    struct host *host = host_open(2);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct outcome o = fail_with(host, errors[i].text, errors[i].len);
        expect_bytes(errors[i].right, errors[i].right_len, o.msg, o.msg_len,
                     "text of engine error %zu", i);
    }
    struct outcome o = fail_with(host, NULL, 0);
    expect_u64_at_least(1, o.msg_len, "bytes of the message without a text");
    te_expect_healthy(host, "after engine errors");
    host_close(host);
}

CONFORM_CASE(
    error_capped, .id = "i2.text-capped.test-engine-error",
    .clauses = "i2.text-capped i2.text-utf8 i2.error-not-panic",
    .why = "An engine's error text is copied whole, cut in the middle of a "
           "character, or cut where it fits.",
    .steps = "Error texts of 3-byte characters and of single bytes, 1 byte to "
             "1 MiB long, around the cap byte by byte.",
    .expected = "Unchanged up to 32 768 bytes; above, a prefix of whole "
                "characters, then `... [truncated]`.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "cap-includes-the-prefix cut-inside-a-character "
              "text-not-capped")
{
    static const uint32_t lengths[] = {1,     3,     32765,  32766, 32767,
                                       32768, 32769, 32770,  32771, 32783,
                                       65536, 65538, 1 << 20};
    uint8_t *plain = conform_pattern(1 << 20, 'z', 0);
    uint8_t *euros = conform_pattern(1 << 20, '.', 0);
    memset(plain, 'z', 1 << 20);
    for (size_t i = 0; i + 3 <= 1 << 20; i += 3)
        memcpy(euros + i, "\xe2\x82\xac", 3);
    euros[(1 << 20) - 1] = '.';
    struct host *host = host_open(1);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t len = lengths[i];
        struct outcome o = fail_with(host, plain, len);
        if (len <= CAP)
            expect_bytes(plain, len, o.msg, o.msg_len, "a text that fits");
        else
            expect_capped(plain, len, &o);
        size_t whole = len / 3 * 3;
        if (whole == 0)
            continue;
        o = fail_with(host, euros, whole);
        if (whole <= CAP)
            expect_bytes(euros, whole, o.msg, o.msg_len, "a text that fits");
        else
            expect_capped(euros, whole, &o);
    }
    host_close(host);
}

CONFORM_CASE(
    error_repaired, .id = "i2.text-utf8.test-engine-before-the-cap",
    .clauses = "i2.text-utf8 i2.text-capped",
    .why = "A text that is measured before its invalid bytes are replaced "
           "grows past the cap, or is cut inside a replacement.",
    .steps = "Error texts of 10 922, 10 923 and 20 000 bytes 0xff: repaired "
             "they are three times as long.",
    .expected = "32 766 bytes of U+FFFD unchanged; the longer ones cut "
                "between two of them, then `... [truncated]`.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "capped-before-the-repair")
{
    static const uint32_t lengths[] = {10922, 10923, 20000};
    uint8_t *bad = conform_pattern(20000, 0, 0);
    uint8_t *repaired = conform_pattern(60000, 0, 0);
    memset(bad, 0xff, 20000);
    for (size_t i = 0; i < 60000; i += 3)
        memcpy(repaired + i, "\xef\xbf\xbd", 3);
    struct host *host = host_open(1);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t len = 3 * (size_t)lengths[i];
        struct outcome o = fail_with(host, bad, lengths[i]);
        if (len <= CAP)
            expect_bytes(repaired, len, o.msg, o.msg_len,
                         "a repaired text that fits");
        else
            expect_capped(repaired, len, &o);
    }
    host_close(host);
}
