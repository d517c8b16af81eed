/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * log.h - the process-wide log ring of 65 536 bytes [l.log-*]. Lock: the
 * log's own, innermost of all, held for a copy at most.
 */
#ifndef GST_LOG_H
#define GST_LOG_H

#include <stddef.h>
#include <stdint.h>

#define GST_LOG_BYTES 65536

/*
 * Appends one line: invalid UTF-8 is replaced, newlines become spaces, one
 * newline is added. Makes room by dropping whole lines, oldest first; a line
 * that is longer than the ring is cut on a character boundary.
 */
void gst__log_line(const void *text, size_t len);

/* The same from a format; at most 256 bytes. */
void gst__log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Moves lines out as gusset_drain_logs says; returns their bytes. */
size_t gst__log_drain(uint8_t *buf, size_t len);

/* For fork: the log is whole between these two. */
void gst__log_lock(void);
void gst__log_unlock(void);

#endif
