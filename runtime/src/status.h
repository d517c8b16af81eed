/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * status.h - what an export reports. A NULL status is legal everywhere and
 * changes no code [i1.null-status-same-code].
 */
#ifndef GST_STATUS_H
#define GST_STATUS_H

#include "export.h"
#include "text.h"

/* Overwrites the status with FFI_OK without freeing what was there. */
void gst__status_reset(FfiStatus *status);

/* Stores code and a formatted message; returns code. */
int32_t gst__fail(FfiStatus *status, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Stores code and a message, whose memory moves into the status. */
int32_t gst__fail_text(FfiStatus *status, int32_t code, struct gst__text *text);

/* Where a panic began; file NULL: unknown. */
struct gst__place {
    const char *file;
    size_t file_len;
    uint32_t line;
};
void gst__status_place(FfiStatus *status, const struct gst__place *place);

#endif
