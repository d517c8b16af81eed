/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The ring holds bytes, and lines only by their newlines: what
 * is dropped or drained ends at one. After a line was drained in part its
 * rest counts as a line. A character is at most 4 bytes and is never split by
 * eviction or by the cut of an over-long line, only by a drain buffer that is
 * shorter than it.
 */
#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "export.h"
#include "text.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by lock. */
static uint8_t ring[GST_LOG_BYTES];
static size_t start;
static size_t used;

static uint8_t
byte_at(size_t i)
{
    return ring[(start + i) % GST_LOG_BYTES];
}

/* lock is held; the room is there. */
static void
append(const uint8_t *bytes, size_t len)
{
    size_t i;

    for (i = 0; i < len; i++)
        ring[(start + used + i) % GST_LOG_BYTES] = bytes[i];
    used += len;
}

/* lock is held. Drops whole lines until `need` bytes fit. */
static void
evict(size_t need)
{
    while (GST_LOG_BYTES - used < need) {
        size_t line = 0;

        while (byte_at(line) != '\n')
            line++;
        start = (start + line + 1) % GST_LOG_BYTES;
        used -= line + 1;
    }
}

/*
 * Walks the repaired line; write false: only measures. lock is held if it
 * writes. Returns its bytes, at most max.
 */
static size_t
walk(const uint8_t *bytes, size_t len, size_t max, bool write)
{
    size_t total = 0;
    size_t i = 0;

    while (i < len) {
        size_t invalid = 0;
        size_t step = gst__utf8_step(bytes + i, len - i, &invalid);
        const uint8_t *from = bytes + i;
        size_t size = step;

        if (step == 0) {
            from = (const uint8_t *)"\xEF\xBF\xBD";
            size = 3;
        } else if (bytes[i] == '\n') {
            from = (const uint8_t *)" ";
        }
        if (total + size > max)
            break;
        if (write)
            append(from, size);
        total += size;
        i += step > 0 ? step : invalid;
    }
    return total;
}

void
gst__log_line(const void *text, size_t len)
{
    size_t total = walk(text, len, GST_LOG_BYTES - 1, false);

    pthread_mutex_lock(&lock);
    evict(total + 1);
    /* Bounded by the first walk: the bytes may change meanwhile. */
    walk(text, len, total, true);
    append((const uint8_t *)"\n", 1);
    pthread_mutex_unlock(&lock);
}

void
gst__log(const char *format, ...)
{
    char text[257];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (len < 0)
        return;
    if ((size_t)len >= sizeof text)
        len = sizeof text - 1;
    gst__log_line(text, (size_t)len);
}

/* lock is held. How much of the log goes into len bytes. */
static size_t
portion(size_t len)
{
    size_t limit = used < len ? used : len;
    size_t cut;
    size_t i;

    for (i = limit; i > 0; i--)
        if (byte_at(i - 1) == '\n')
            return i;
    /* The first line is longer than the buffer. */
    cut = limit;
    while (cut > 0 && cut < used && (byte_at(cut) & 0xC0) == 0x80)
        cut--;
    return cut > 0 ? cut : limit;
}

size_t
gst__log_drain(uint8_t *buf, size_t len)
{
    size_t bytes;
    size_t i;

    pthread_mutex_lock(&lock);
    bytes = portion(len);
    for (i = 0; i < bytes; i++)
        buf[i] = byte_at(i);
    start = (start + bytes) % GST_LOG_BYTES;
    used -= bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void
gst__log_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
gst__log_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void
gse_log(const char *text, size_t len)
{
    gst__log_line(text, len);
}
