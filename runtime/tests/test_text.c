/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Messages: UTF-8 repair and the cap. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"
#include "t.h"
#include "text.h"

#define R "\xEF\xBF\xBD" /* U+FFFD */

struct repair_row {
    const char *in;
    const char *out;
};

/*
 * One U+FFFD per maximal subpart, as Unicode's chapter 3 (tables 3-8 to 3-11
 * and the text around them) shows it, and the edges of table 3-7.
 */
static const struct repair_row rows[] = {
    /* Valid, first and last of each length. */
    {"", ""},
    {"\x01\x7F", "\x01\x7F"},
    {"\xC2\x80\xDF\xBF", "\xC2\x80\xDF\xBF"},
    {"\xE0\xA0\x80\xED\x9F\xBF", "\xE0\xA0\x80\xED\x9F\xBF"},
    {"\xEE\x80\x80\xEF\xBF\xBF", "\xEE\x80\x80\xEF\xBF\xBF"},
    {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},
    /* Table 3-8: overlong forms, each byte on its own. */
    {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", R R R R R R R R "A"},
    /* Table 3-9: surrogates. */
    {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", R R R R R R R R "A"},
    /* Table 3-10: beyond U+10FFFF and bytes that are never used. */
    {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", R R R R R "A" R R "B"},
    /* Table 3-11: truncated sequences, one each. */
    {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", R R R R "A"},
    /* The classic example: a truncated four-byte form between letters. */
    {"a\xF1\x80\x80\xE1\x80\xC2"
     "b\x80"
     "c\x80\xBF"
     "d",
     "a" R R R "b" R "c" R R "d"},
    /* Truncated at the very end, by one, two and three bytes. */
    {"x\xC3", "x" R},
    {"x\xE2\x82", "x" R},
    {"x\xF0\x9F\x98", "x" R},
    {"x\xF0\x9F", "x" R},
    {"x\xF0", "x" R},
    /* Leads that are never legal. */
    {"\xC0", R},
    {"\xC1\xBF", R R},
    {"\xF5\x80\x80\x80", R R R R},
    {"\xF8\x88\x80\x80\x80", R R R R R},
    {"\xFE\xFF", R R},
    /* Just below and above the second byte's range. */
    {"\xE0\x9F\x80", R R R},
    {"\xF0\x8F\x80\x80", R R R R},
    {"\xF4\x90\x80\x80", R R R R},
    {"\xED\x9F\xBF\xED\xA0\x80", "\xED\x9F\xBF" R R R},
    /* A character right after a broken one is kept. */
    {"\xE2\x82\xE2\x82\xAC", R "\xE2\x82\xAC"},
    {"\xF0\x9F\x98\xC3\xA9", R "\xC3\xA9"},
};
#define ROWS ((int)(sizeof rows / sizeof rows[0]))

START_TEST(repair_follows_the_table)
{
    const struct repair_row *row = &rows[_i];
    /* An exact copy, so that a sanitizer sees a read past its end. */
    size_t len = strlen(row->in);
    char *in = malloc(len > 0 ? len : 1);
    struct gst__text text;

    ck_assert_ptr_nonnull(in);
    memcpy(in, row->in, len);
    text = gst__text_engine("P:", in, len);
    ck_assert_ptr_nonnull(text.bytes);
    ck_assert_msg(text.len == 2 + strlen(row->out) &&
                      memcmp(text.bytes + 2, row->out, text.len - 2) == 0,
                  "row %d: expected \"%s\", got \"%.*s\"", _i, row->out,
                  (int)text.len - 2, (const char *)text.bytes + 2);
    gst__text_free(&text);
    free(in);
}
END_TEST

/* Code points by arithmetic: an encoder that shares nothing with the code. */
static size_t
encode(uint32_t point, uint8_t *out)
{
    if (point < 0x80) {
        out[0] = (uint8_t)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (uint8_t)(0xC0 + point / 64);
        out[1] = (uint8_t)(0x80 + point % 64);
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (uint8_t)(0xE0 + point / 4096);
        out[1] = (uint8_t)(0x80 + point / 64 % 64);
        out[2] = (uint8_t)(0x80 + point % 64);
        return 3;
    }
    out[0] = (uint8_t)(0xF0 + point / 262144);
    out[1] = (uint8_t)(0x80 + point / 4096 % 64);
    out[2] = (uint8_t)(0x80 + point / 64 % 64);
    out[3] = (uint8_t)(0x80 + point % 64);
    return 4;
}

START_TEST(every_code_point_is_one_step)
{
    uint8_t bytes[4];
    uint32_t point;
    size_t invalid;
    size_t len;
    size_t step;
    bool valid;

    for (point = 0; point < 0x120000; point++) {
        len = encode(point, bytes);
        step = gst__utf8_step(bytes, len, &invalid);
        valid = point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        if (step != (valid ? len : 0))
            ck_abort_msg("U+%X: %zu bytes, step %zu", (unsigned)point, len,
                         step);
    }
}
END_TEST

/* Every string of up to four bytes from a set that covers table 3-7's edges:
 * the repair is valid, consumes everything, and never exceeds three for one. */
START_TEST(steps_cover_every_string)
{
    static const uint8_t edge[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                   0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED,
                                   0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF};
    enum { EDGES = sizeof edge };
    uint32_t code;
    size_t i;

    for (code = 0; code < EDGES * EDGES * EDGES * EDGES; code++) {
        uint8_t bytes[4] = {edge[code % EDGES], edge[code / EDGES % EDGES],
                            edge[code / EDGES / EDGES % EDGES],
                            edge[code / EDGES / EDGES / EDGES]};

        for (i = 0; i < sizeof bytes;) {
            size_t invalid = 0;
            size_t step = gst__utf8_step(bytes + i, sizeof bytes - i, &invalid);
            size_t used = step > 0 ? step : invalid;

            if (used < 1 || used > (step > 0 ? 4u : 3u) ||
                used > sizeof bytes - i)
                ck_abort_msg("%02x %02x %02x %02x at %zu: step %zu, invalid "
                             "%zu",
                             bytes[0], bytes[1], bytes[2], bytes[3], i, step,
                             invalid);
            i += used;
        }
    }
}
END_TEST

static bool
is_valid(const uint8_t *bytes, size_t len)
{
    size_t invalid;
    size_t step;
    size_t i;

    for (i = 0; i < len; i += step) {
        step = gst__utf8_step(bytes + i, len - i, &invalid);
        if (step == 0)
            return false;
    }
    return true;
}

/*
 * The cap with characters of width 1 to 4 (and 1 that becomes 3), from well
 * under to over the bound: unchanged up to it, else a long prefix and the
 * marker.
 */
START_TEST(the_cap_keeps_a_long_prefix)
{
    static const char *const units[] = {"A", "\xC3\xA9", "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80", "\xFF"};
    const char *unit = units[_i % 5];
    const char *shown = _i % 5 == 4 ? R : unit;
    size_t marker = strlen(GST_TEXT_MARKER);
    size_t bytes;

    for (bytes = GST_TEXT_MAX - 8; bytes <= GST_TEXT_MAX + 8; bytes++) {
        size_t count = bytes / strlen(unit);
        size_t i;
        char *in = malloc(bytes + 1);
        struct gst__text text;
        size_t repaired = count * strlen(shown);
        size_t body;

        ck_assert_ptr_nonnull(in);
        for (i = 0; i < count; i++)
            memcpy(in + i * strlen(unit), unit, strlen(unit));
        text = gst__text_engine("", in, count * strlen(unit));
        ck_assert_ptr_nonnull(text.bytes);
        ck_assert(is_valid(text.bytes, text.len));
        body = repaired;
        if (repaired > GST_TEXT_MAX) {
            body = text.len - marker;
            ck_assert_uint_ge(body, 32750);
            ck_assert_uint_le(body, GST_TEXT_MAX);
            ck_assert_mem_eq(text.bytes + body, GST_TEXT_MARKER, marker);
        } else {
            ck_assert_uint_eq(text.len, repaired);
        }
        ck_assert_uint_eq(body % strlen(shown), 0);
        for (i = 0; i < body / strlen(shown); i++)
            ck_assert(memcmp(text.bytes + i * strlen(shown), shown,
                             strlen(shown)) == 0);
        gst__text_free(&text);
        free(in);
    }
}
END_TEST

START_TEST(the_prefix_is_not_counted)
{
    char *in = malloc(GST_TEXT_MAX);
    struct gst__text text;

    ck_assert_ptr_nonnull(in);
    memset(in, 'x', GST_TEXT_MAX);
    text = gst__text_engine("PANIC: ", in, GST_TEXT_MAX);
    ck_assert_uint_eq(text.len, strlen("PANIC: ") + GST_TEXT_MAX);
    ck_assert_mem_eq(text.bytes, "PANIC: x", strlen("PANIC: x"));
    ck_assert_uint_eq(text.bytes[text.len - 1], 'x');
    gst__text_free(&text);
    free(in);
}
END_TEST

START_TEST(a_nul_is_a_character)
{
    struct gst__text text = gst__text_engine("", "a\0b", 3);

    ck_assert_uint_eq(text.len, 3);
    ck_assert_mem_eq(text.bytes, "a\0b", 3);
    gst__text_free(&text);
}
END_TEST

static struct gst__text __attribute__((format(printf, 1, 2)))
format_text(const char *format, ...)
{
    struct gst__text text;
    va_list args;

    va_start(args, format);
    text = gst__text_vformat("", format, args);
    va_end(args);
    return text;
}

/* A format's result at every size around the buffers it may go through. */
START_TEST(a_format_is_whole_or_marked)
{
    static const size_t sizes[] = {1,     2,     255,   256,   257,   511,
                                   4095,  4096,  32766, 32767, 32768, 32769,
                                   32776, 32777, 65536, 200000};
    size_t len = sizes[_i];
    size_t marker = strlen(GST_TEXT_MARKER);
    char *in = malloc(len + 1);
    struct gst__text text;

    ck_assert_ptr_nonnull(in);
    memset(in, 'y', len);
    in[len] = '\0';
    in[0] = 'b';
    text = format_text("%s", in);
    ck_assert_ptr_nonnull(text.bytes);
    if (len <= GST_TEXT_MAX) {
        ck_assert_uint_eq(text.len, len);
        ck_assert_mem_eq(text.bytes, in, len);
    } else {
        ck_assert_uint_ge(text.len, 32750 + marker);
        ck_assert_uint_le(text.len, GST_TEXT_MAX + marker);
        ck_assert_mem_eq(text.bytes, in, text.len - marker);
        ck_assert_mem_eq(text.bytes + text.len - marker, GST_TEXT_MARKER,
                         marker);
    }
    gst__text_free(&text);
    ck_assert_ptr_null(text.bytes);
    free(in);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = t_case(suite, "text");

    tcase_add_loop_test(tcase, repair_follows_the_table, 0, ROWS);
    tcase_add_test(tcase, every_code_point_is_one_step);
    tcase_add_test(tcase, steps_cover_every_string);
    tcase_add_loop_test(tcase, the_cap_keeps_a_long_prefix, 0, 5);
    tcase_add_test(tcase, the_prefix_is_not_counted);
    tcase_add_test(tcase, a_nul_is_a_character);
    tcase_add_loop_test(tcase, a_format_is_whole_or_marked, 0, 16);
    return suite;
}
