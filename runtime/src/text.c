/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "text.h"

#include <stdio.h>
#include <string.h>

#include "stats.h"

static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD}; /* U+FFFD */

/* Continuation bytes after a lead byte; 0: not a lead of two bytes or more. */
static size_t
tail_bytes(uint8_t lead)
{
    if (lead >= 0xC2 && lead <= 0xDF)
        return 1;
    if (lead >= 0xE0 && lead <= 0xEF)
        return 2;
    if (lead >= 0xF0 && lead <= 0xF4)
        return 3;
    return 0;
}

/* The second byte is where overlong forms, surrogates and more than U+10FFFF
 * are kept out. */
static bool
second_fits(uint8_t lead, uint8_t second)
{
    uint8_t low = 0x80;
    uint8_t high = 0xBF;

    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    return second >= low && second <= high;
}

size_t
gst__utf8_step(const uint8_t *bytes, size_t len, size_t *invalid)
{
    size_t tail = tail_bytes(bytes[0]);
    size_t i;

    if (bytes[0] < 0x80)
        return 1;
    *invalid = 1;
    if (tail == 0 || len < 2 || !second_fits(bytes[0], bytes[1]))
        return 0;
    for (i = 2; i <= tail; i++) {
        if (i >= len || (bytes[i] & 0xC0) != 0x80) {
            *invalid = i;
            return 0;
        }
    }
    return tail + 1;
}

/*
 * Repairs into out (NULL: only counts) at most max bytes; *whole is false if
 * not all of it fitted.
 */
static size_t
repair(uint8_t *out, size_t max, const uint8_t *bytes, size_t len, bool *whole)
{
    size_t used = 0;
    size_t i = 0;

    *whole = true;
    while (i < len) {
        size_t invalid = 0;
        size_t step = gst__utf8_step(bytes + i, len - i, &invalid);
        const uint8_t *from = step > 0 ? bytes + i : replacement;
        size_t size = step > 0 ? step : sizeof replacement;

        if (used + size > max) {
            *whole = false;
            break;
        }
        if (out != NULL)
            memcpy(out + used, from, size);
        used += size;
        i += step > 0 ? step : invalid;
    }
    return used;
}

struct gst__text
gst__text_engine(const char *prefix, const void *bytes, size_t len)
{
    struct gst__text text = {NULL, 0};
    size_t before = strlen(prefix);
    size_t after;
    size_t body;
    bool whole;

    body = repair(NULL, GST_TEXT_MAX, bytes, len, &whole);
    after = whole ? 0 : sizeof GST_TEXT_MARKER - 1;
    /* An empty message would read as a missing one. */
    if (before + body + after == 0)
        return gst__text_format("engine error without a text");
    text.bytes = gst__alloc(before + body + after);
    if (text.bytes == NULL)
        return text;
    memcpy(text.bytes, prefix, before);
    /* Bounded by the first pass: the bytes may lie in memory that the host
     * changes meanwhile. */
    body = repair(text.bytes + before, body, bytes, len, &whole);
    memcpy(text.bytes + before + body, GST_TEXT_MARKER, after);
    text.len = before + body + after;
    return text;
}

struct gst__text
gst__text_vformat(const char *prefix, const char *format, va_list args)
{
    /* Repair never shortens a text, so a few bytes over the cap are enough
     * to make and to mark the longest message. */
    enum { ENOUGH = GST_TEXT_MAX + 8 };
    struct gst__text text = {NULL, 0};
    va_list again;
    char small[256];
    char *bytes = small;
    size_t size = sizeof small;
    int len;

    va_copy(again, args);
    len = vsnprintf(small, sizeof small, format, args);
    if (len < 0) {
        len = snprintf(small, sizeof small, "text could not be formatted");
    } else if ((size_t)len >= sizeof small) {
        size = len < ENOUGH ? (size_t)len + 1 : (size_t)ENOUGH + 1;
        bytes = gst__alloc(size);
        if (bytes == NULL) {
            va_end(again);
            return text;
        }
        len = vsnprintf(bytes, size, format, again);
        if (len < 0 || (size_t)len >= size)
            len = len < 0 ? 0 : (int)size - 1;
    }
    va_end(again);
    text = gst__text_engine(prefix, bytes, (size_t)len);
    if (bytes != small)
        gst__free(bytes);
    return text;
}

struct gst__text
gst__text_format(const char *format, ...)
{
    struct gst__text text;
    va_list args;

    va_start(args, format);
    text = gst__text_vformat("", format, args);
    va_end(args);
    return text;
}

void
gst__text_free(struct gst__text *text)
{
    gst__free(text->bytes);
    text->bytes = NULL;
    text->len = 0;
}
