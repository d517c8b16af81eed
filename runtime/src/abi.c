/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The exports: reset the status, check the arguments one a line, call.
 * None of them can panic: a panic is only ever raised by engine code, on a
 * worker.
 */
#include "export.h"
#include "handle.h"
#include "lifecycle.h"
#include "log.h"
#include "stats.h"
#include "status.h"

/* Refuses a call that lacks a required pointer [i1.check-order]. */
#define REQUIRE(pointer, what)                                 \
    do {                                                       \
        if ((pointer) == NULL)                                 \
            return gst__fail(status, FFI_BAD_ARG, "%s", what); \
    } while (0)

/* In a forked child no worker serves an inherited handle, and its locks may
 * be held for ever: every call refuses. */
#define REQUIRE_OWN(handle)                                               \
    do {                                                                  \
        if ((handle)->fork_count != GST_LOAD_RELAXED(&gst__forks))        \
            return gst__fail(status, FFI_ERR,                             \
                             "the handle belongs to the parent process"); \
    } while (0)

int32_t
gusset_init(void)
{
    return gst__lifecycle_init();
}

int32_t
gusset_shutdown(uint32_t drain_ms)
{
    return gst__lifecycle_shutdown(drain_ms);
}

int32_t
gusset_handle_open(uint32_t pool_size, int32_t pipe_write_fd,
                   GussetHandle **out_handle, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(out_handle, "null out pointer passed to handle_open");
    return gst__handle_open(pool_size, pipe_write_fd, out_handle, status);
}

int32_t
gusset_handle_close(GussetHandle *handle, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(handle, "handle is null");
    REQUIRE_OWN(handle);
    return gst__handle_close(handle, status);
}

int32_t
gusset_handle_ring(GussetHandle *handle, const GussetRing **out_ring,
                   const uint8_t **out_shared, const uint8_t **out_slots,
                   uint64_t *out_capacity, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(handle, "null handle or out pointer");
    REQUIRE(out_ring, "null handle or out pointer");
    REQUIRE(out_shared, "null handle or out pointer");
    REQUIRE(out_slots, "null handle or out pointer");
    REQUIRE(out_capacity, "null handle or out pointer");
    REQUIRE_OWN(handle);
    return gst__handle_ring(handle, out_ring, out_shared, out_slots,
                            out_capacity, status);
}

void
gusset_ring_release(const GussetRing *ring)
{
    if (ring != NULL)
        gst__ring_drop((struct GussetRing *)(uintptr_t)ring);
}

int32_t
gusset_submit(GussetHandle *handle, const CallHeader *header,
              const uint8_t *input_ptr, size_t input_len, uint64_t buffer_id,
              uint64_t *out_ticket, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(handle, "null argument passed to submit");
    REQUIRE(header, "null argument passed to submit");
    REQUIRE(out_ticket, "null argument passed to submit");
    REQUIRE_OWN(handle);
    return gst__handle_submit(handle, header, input_ptr, input_len, buffer_id,
                              out_ticket, status);
}

int32_t
gusset_take(GussetHandle *handle, uint64_t ticket, uint64_t *out_buf_id,
            uint8_t **out_ptr, size_t *out_len, FfiStatus *status)
{
    struct gst__result result;

    gst__status_reset(status);
    REQUIRE(handle, "null argument passed to take");
    REQUIRE(out_buf_id, "null argument passed to take");
    REQUIRE(out_ptr, "null argument passed to take");
    REQUIRE(out_len, "null argument passed to take");
    REQUIRE_OWN(handle);
    if (!gst__jobs_take(&handle->jobs, ticket, &result))
        return gst__fail(status, FFI_ERR,
                         "ticket %llu not found or already taken",
                         (unsigned long long)ticket);
    /* The worker does this too, but perhaps has not come to it yet. */
    if (result.code == FFI_PANIC)
        GST_OR_SEQ(&handle->gate, GST_GATE_POISONED);
    if (result.code != FFI_OK) {
        gst__status_place(status, &result.place);
        return gst__fail_text(status, result.code, &result.text);
    }
    *out_buf_id = 0;
    *out_ptr = NULL;
    *out_len = 0;
    if (result.buffer == NULL)
        return FFI_OK;
    *out_buf_id = result.buffer->id;
    *out_ptr = result.buffer->bytes;
    *out_len = result.buffer->len;
    if (result.buffer->len > GUSSET_MAX_INLINE_INPUT)
        *out_buf_id |= GUSSET_TAKE_OWNED_FLAG;
    gst__buffer_hand_over(&handle->buffers, result.buffer);
    return FFI_OK;
}

int32_t
gusset_cancel(GussetHandle *handle, uint64_t ticket, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(handle, "null argument passed to cancel");
    REQUIRE_OWN(handle);
    gst__jobs_cancel(&handle->jobs, ticket);
    return FFI_OK;
}

int32_t
gusset_cancel_all(GussetHandle *handle, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(handle, "null argument passed to cancel_all");
    REQUIRE_OWN(handle);
    /* Partner: the load in gst__job_reason. */
    GST_ADD_SEQ(&handle->cancel_epoch, 1);
    return FFI_OK;
}

void
gusset_status_free(FfiStatus *status)
{
    if (status == NULL)
        return;
    gst__free(status->msg);
    status->msg = NULL;
    status->msg_len = 0;
}

void
gusset_alloc_stats(AllocStats *out)
{
    if (out != NULL)
        gst__stats_read(out);
}

void
gusset_drain_logs(uint8_t *buf, size_t len, size_t *out_written)
{
    if (out_written == NULL)
        return;
    *out_written = 0;
    if (buf != NULL && len > 0)
        *out_written = gst__log_drain(buf, len);
}

int32_t
gusset_buf_alloc(GussetHandle *handle, size_t len, uint64_t *out_id,
                 uint8_t **out_ptr, FfiStatus *status)
{
    struct gst__buffer *buffer;
    enum gst__buffer_error why;

    gst__status_reset(status);
    REQUIRE(handle, "null argument passed to buf_alloc");
    REQUIRE(out_id, "null argument passed to buf_alloc");
    REQUIRE(out_ptr, "null argument passed to buf_alloc");
    REQUIRE_OWN(handle);
    /* Partner: the or in finish_bare. */
    if ((GST_LOAD_ACQUIRE(&handle->gate) & GST_GATE_POISONED) != 0)
        return gst__fail(status, FFI_POISONED, "handle is poisoned");
    if (len == 0)
        return gst__fail(status, FFI_ERR,
                         "buffer length must be greater than zero");
    if (len > GUSSET_MAX_BUFFER_BYTES)
        return gst__fail(status, FFI_ERR,
                         "buffer length %zu exceeds the maximum of %u", len,
                         GUSSET_MAX_BUFFER_BYTES);
    buffer = gst__buffer_new(len, &why);
    if (buffer == NULL)
        return gst__fail(status, FFI_ERR, "%s",
                         why == GST_BUFFER_NO_IDS
                             ? "buffer ids are used up"
                             : "out of memory for a buffer");
    *out_id = buffer->id;
    *out_ptr = buffer->bytes;
    gst__buffer_list(&handle->buffers, buffer, true);
    return FFI_OK;
}

int32_t
gusset_buf_free(GussetHandle *handle, uint64_t id, FfiStatus *status)
{
    gst__status_reset(status);
    REQUIRE(handle, "null argument passed to buf_free");
    REQUIRE_OWN(handle);
    gst__buffer_release(&handle->buffers, id);
    return FFI_OK;
}
