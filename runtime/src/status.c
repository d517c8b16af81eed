/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "status.h"

#include "stats.h"

void
gst__status_reset(FfiStatus *status)
{
    if (status == NULL)
        return;
    status->code = FFI_OK;
    status->msg = NULL;
    status->msg_len = 0;
    status->file = NULL;
    status->file_len = 0;
    status->line = 0;
}

int32_t
gst__fail(FfiStatus *status, int32_t code, const char *format, ...)
{
    struct gst__text text;
    va_list args;

    if (status == NULL)
        return code;
    va_start(args, format);
    text = gst__text_vformat("", format, args);
    va_end(args);
    return gst__fail_text(status, code, &text);
}

int32_t
gst__fail_text(FfiStatus *status, int32_t code, struct gst__text *text)
{
    if (status == NULL) {
        gst__text_free(text);
        return code;
    }
    status->code = code;
    status->msg = text->bytes;
    status->msg_len = text->len;
    text->bytes = NULL;
    text->len = 0;
    return code;
}

void
gst__status_place(FfiStatus *status, const struct gst__place *place)
{
    if (status == NULL || place->file == NULL)
        return;
    status->file = (const uint8_t *)place->file;
    status->file_len = place->file_len;
    status->line = place->line;
}
