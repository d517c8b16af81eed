/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * text.h - messages: UTF-8 repair and the cap [i2.text-utf8, i2.text-capped].
 */
#ifndef GST_TEXT_H
#define GST_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of an engine's text before the marker. */
#define GST_TEXT_MAX 32768
#define GST_TEXT_MARKER "... [truncated]"

/*
 * A message: counted memory (gst__free) and its length. bytes NULL: none,
 * either because there is nothing to say or for lack of memory.
 */
struct gst__text {
    uint8_t *bytes;
    size_t len;
};

/*
 * Length in bytes of the valid UTF-8 character at bytes (len > 0 bytes are
 * there), 1..4; or 0 if none begins there, and then *invalid is the length,
 * 1..3, of the maximal invalid sequence that one U+FFFD replaces.
 */
size_t gst__utf8_step(const uint8_t *bytes, size_t len, size_t *invalid);

/*
 * prefix, then the len bytes at bytes with invalid sequences replaced, cut to
 * GST_TEXT_MAX bytes (prefix not counted) and marked if longer.
 */
struct gst__text gst__text_engine(const char *prefix, const void *bytes,
                                  size_t len);

/* The same, from a format. */
struct gst__text gst__text_vformat(const char *prefix, const char *format,
                                   va_list args);

/* A message of the runtime's own. */
struct gst__text gst__text_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

void gst__text_free(struct gst__text *text);

#endif
