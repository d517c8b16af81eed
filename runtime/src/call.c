/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a handler may do with its call: the gse_ functions that take one. All
 * run on the call's own worker, so nothing here is locked.
 */
#include <stdarg.h>
#include <string.h>

#include "engine.h"
#include "handle.h"
#include "lifecycle.h"
#include "plat.h"

enum gst__reason
gst__job_reason(struct GussetHandle *handle, struct gst__slot *slot)
{
    /* Partner: the add in gusset_cancel_all and gst__handle_close. */
    if (gst__slot_cancelled(slot) ||
        GST_LOAD_ACQUIRE(&handle->cancel_epoch) != slot->cancel_epoch)
        return GST_EXPLICIT;
    /* Partner: the add in gst__lifecycle_shutdown. */
    if (GST_LOAD_ACQUIRE(&gst__epoch) != slot->epoch)
        return GST_SHUTDOWN;
    if (slot->deadline != GST_FOREVER && gst__plat_now() >= slot->deadline)
        return GST_DEADLINE;
    return GST_GO_ON;
}

static void
drop_output(gse_call *call)
{
    gst__buffer_drop(call->buffer);
    call->buffer = NULL;
    call->output = GST_OUTPUT_NONE;
}

void
gst__call_drop(gse_call *call)
{
    drop_output(call);
    gst__text_free(&call->text);
}

static void
set_output(gse_call *call, enum gst__output output)
{
    if (call->output != GST_OUTPUT_NONE) {
        call->twice = true;
        drop_output(call);
    }
    call->output = output;
}

const CallHeader *
gse_header(const gse_call *call)
{
    return &call->slot->header;
}

const uint8_t *
gse_input(const gse_call *call, size_t *len)
{
    const struct gst__slot *slot = call->slot;

    if (slot->place == GST_INPUT_BUFFER) {
        *len = slot->buffer->len;
        return slot->buffer->bytes;
    }
    *len = slot->input_len;
    if (slot->input_len == 0)
        return NULL;
    return slot->place == GST_INPUT_HEAP ? slot->heap : slot->input;
}

uint64_t
gse_input_buffer(const gse_call *call)
{
    const struct gst__slot *slot = call->slot;

    return slot->place == GST_INPUT_BUFFER ? slot->buffer->id : 0;
}

int32_t
gse_check(gse_call *call)
{
    enum gst__reason reason = gst__job_reason(call->handle, call->slot);

    if (reason == GST_GO_ON)
        return GSE_OK;
    call->stopped = reason;
    return GSE_FAILED;
}

/* A buffer that is in no table; NULL: no memory, or no such length. */
static struct gst__buffer *
new_buffer(size_t len)
{
    enum gst__buffer_error why;

    if (len == 0 || len > GUSSET_MAX_BUFFER_BYTES)
        return NULL;
    return gst__buffer_new(len, &why);
}

int32_t
gse_output_bytes(gse_call *call, const void *bytes, size_t len)
{
    struct gst__buffer *buffer;

    if (len <= sizeof call->small) {
        set_output(call, GST_OUTPUT_SMALL);
        call->small_len = (uint32_t)len;
        if (len > 0)
            memcpy(call->small, bytes, len);
        return GSE_OK;
    }
    buffer = new_buffer(len);
    if (buffer == NULL)
        return GSE_FAILED;
    memcpy(buffer->bytes, bytes, len);
    set_output(call, GST_OUTPUT_BUFFER);
    call->buffer = buffer;
    return GSE_OK;
}

uint8_t *
gse_output_buffer(gse_call *call, size_t len)
{
    struct gst__buffer *buffer = new_buffer(len);

    if (buffer == NULL)
        return NULL;
    set_output(call, GST_OUTPUT_BUFFER);
    call->buffer = buffer;
    return buffer->bytes;
}

int32_t
gse_buffer_new(gse_call *call, size_t len, uint64_t *id, uint8_t **bytes)
{
    struct gst__buffer *buffer = new_buffer(len);

    if (buffer == NULL)
        return GSE_FAILED;
    *id = buffer->id;
    *bytes = buffer->bytes;
    gst__buffer_list(&call->handle->buffers, buffer, false);
    return GSE_OK;
}

void
gse_output_buffer_id(gse_call *call, uint64_t id)
{
    set_output(call, GST_OUTPUT_ID);
    call->output_id = id;
}

void
gse_output_error(gse_call *call, const void *text, size_t len)
{
    gst__text_free(&call->text);
    call->text = gst__text_engine("", text, len);
    call->failed_text = true;
}

void
gse_output_errorf(gse_call *call, const char *format, ...)
{
    va_list args;

    gst__text_free(&call->text);
    va_start(args, format);
    call->text = gst__text_vformat("", format, args);
    va_end(args);
    call->failed_text = true;
}

void
gse_output_panic(gse_call *call, const char *file, size_t file_len,
                 uint32_t line, const void *text, size_t text_len)
{
    gst__text_free(&call->text);
    call->text = gst__text_engine("PANIC: ", text, text_len);
    call->place.file = file;
    call->place.file_len = file == NULL ? 0 : file_len;
    call->place.line = file == NULL ? 0 : line;
    call->panicked = true;
}
