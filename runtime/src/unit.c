/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The end of a unit, in this order, each step for the next:
 *   1 the output is judged, while the input still counts as being read;
 *   2 the input is released, so that its memory is gone when the completion
 *     is readable [i1.input-buffer-rule];
 *   3 the result becomes takeable, so that a host that read the completion
 *     finds it [i4.completion-order b];
 *   4 a panic poisons the handle [i4.completion-order d];
 *   5 the completion is delivered;
 *   6 the unit leaves the in-flight count.
 * After step 3 the slot may be taken and used again at once: only the copies
 * on this stack count from there. An inline result is never takeable; its
 * slot is freed after step 5, since a record that does not go out is stored
 * after all.
 */
#include "unit.h"

#include <string.h>

#include "completion.h"
#include "diagnostic.h"
#include "handle.h"
#include "lifecycle.h"
#include "pool.h"
#include "stats.h"

/* How a unit ended: the result, and its bytes as long as they are few. */
struct ending {
    struct gst__result result;
    const uint8_t *small; /* of a success that is not in result.buffer */
    size_t small_len;
};

static void
fail(struct gst__result *result, struct gst__text text)
{
    result->code = FFI_ERR;
    result->text = text;
}

static void
fail_cancelled(struct gst__result *result, enum gst__reason reason)
{
    const char *name = "Explicit";

    if (reason == GST_SHUTDOWN)
        name = "Shutdown";
    else if (reason == GST_DEADLINE)
        name = "DeadlineExceeded";
    fail(result, gst__text_format("cancelled: %s", name));
}

static void
fail_closed(struct gst__result *result, uint32_t opcode)
{
    const char *text = "gusset: no engine handler registered";

    if (opcode == 0)
        fail(result, gst__text_format("%s", text));
    else
        fail(result, gst__text_format("%s for opcode %u", text, opcode));
}

static void
release_input(struct GussetHandle *handle, struct gst__slot *slot)
{
    if (slot->place == GST_INPUT_BUFFER)
        gst__buffer_read_end(&handle->buffers, slot->buffer);
    else if (slot->place == GST_INPUT_HEAP)
        gst__free(slot->heap);
    slot->place = GST_INPUT_SLOT;
}

/* Few bytes that did not go inline become a buffer, as larger ones are. */
static void
store_small(struct ending *end)
{
    enum gst__buffer_error why;

    if (end->small_len == 0)
        return;
    end->result.buffer = gst__buffer_new(end->small_len, &why);
    if (end->result.buffer != NULL)
        memcpy(end->result.buffer->bytes, end->small, end->small_len);
    else if (why == GST_BUFFER_NO_IDS)
        fail(&end->result, gst__text_format("buffer ids are used up"));
    else
        fail(&end->result, gst__text_format("out of memory for a result"));
    end->small_len = 0;
}

/* Steps 3 to 5 for a bare ticket. */
static void
finish_bare(struct GussetHandle *handle, struct gst__slot *slot,
            uint64_t ticket, struct ending *end, bool announce)
{
    bool panicked = end->result.code == FFI_PANIC;

    store_small(end);
    slot->result = end->result;
    gst__slot_done(slot);
    if (panicked)
        GST_OR_SEQ(&handle->gate, GST_GATE_POISONED);
    if (announce)
        gst__complete_bare(handle, ticket);
}

/* Steps 2 to 6. */
static void
finish(struct GussetHandle *handle, struct gst__slot *slot, struct ending *end)
{
    uint64_t ticket = gst__slot_ticket(slot);
    enum gst__delivery way = GST_NEEDS_BARE;

    release_input(handle, slot);
    if (end->result.code == FFI_OK && end->result.buffer == NULL &&
        (slot->header.flags & GUSSET_FLAG_INLINE_COMPLETION) != 0) {
        gst__slot_inline(slot);
        way = gst__complete_inline(handle, ticket, end->small, end->small_len);
    }
    if (way == GST_DELIVERED)
        gst__jobs_put(&handle->jobs, slot);
    else
        finish_bare(handle, slot, ticket, end, way == GST_NEEDS_BARE);
    gst__lifecycle_leave(handle);
}

static void
judge_output(gse_call *call, struct ending *end)
{
    /* No output at all is an empty one, inline as well. */
    end->small = call->small;
    if (call->twice) {
        fail(&end->result, gst__text_format("engine set two outputs"));
    } else if (call->output == GST_OUTPUT_SMALL) {
        end->small_len = call->small_len;
    } else if (call->output == GST_OUTPUT_BUFFER) {
        end->result.buffer = call->buffer;
        call->buffer = NULL;
    } else if (call->output == GST_OUTPUT_ID) {
        end->result.buffer =
            gst__buffer_claim(&call->handle->buffers, call->output_id,
                              gse_input_buffer(call), &end->result.text);
        if (end->result.buffer == NULL)
            end->result.code = FFI_ERR;
    }
}

static void
move_text(struct ending *end, int32_t code, struct gst__text *text)
{
    end->result.code = code;
    end->result.text = *text;
    text->bytes = NULL;
    text->len = 0;
}

/* What came of a handler that returned. */
static void
judge(gse_call *call, struct ending *end)
{
    if (call->panicked) {
        move_text(end, FFI_PANIC, &call->text);
        end->result.place = call->place;
    } else if (call->returned == GSE_OK) {
        judge_output(call, end);
    } else if (call->returned != GSE_FAILED) {
        fail(&end->result,
             gst__text_format("engine returned %d, not GSE_OK or GSE_FAILED",
                              (int)call->returned));
    } else if (call->stopped != GST_GO_ON) {
        fail_cancelled(&end->result, call->stopped);
    } else if (call->failed_text) {
        move_text(end, FFI_ERR, &call->text);
    } else {
        fail(&end->result,
             gst__text_format("engine failed without an error text"));
    }
    gst__call_drop(call);
}

static void
run_handler(void *argument)
{
    gse_call *call = argument;
    int ignored;

    /* An engine may end its own thread; the runtime's own calls are no place
     * to be cancelled at. */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &ignored);
    call->returned = call->handler.call(call, call->handler.user);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
}

static void
run(struct gst__worker *worker, struct ending *end)
{
    gse_call *call = &worker->call;
    struct gst__panic panic;
    int ignored;

    if (gst__firewall_run(&worker->firewall, run_handler, call, &panic)) {
        judge(call, end);
        return;
    }
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
    move_text(end, FFI_PANIC, &panic.text);
    end->result.place = panic.place;
    gst__panic_dispose(&worker->firewall, &panic);
    gst__call_drop(call);
}

/* The handler for a unit; call NULL: none. */
static struct gst__handler
choose(const CallHeader *header)
{
    struct gst__handler handler = gst__engine_find(header->reserved);

    if (handler.call == NULL && header->reserved == 0 &&
        (header->flags & GUSSET_FLAG_DIAGNOSTIC_ENGINE) != 0)
        handler.call = gst__diagnostic;
    return handler;
}

void
gst__unit_run(struct gst__worker *worker, uint32_t index)
{
    struct GussetHandle *handle = worker->handle;
    struct gst__slot *slot = gst__jobs_slot(&handle->jobs, index);
    gse_call *call = &worker->call;
    struct ending end = {.result = {.code = FFI_OK}};
    enum gst__reason reason = gst__job_reason(handle, slot);

    memset(call, 0, sizeof *call);
    call->handle = handle;
    if (reason != GST_GO_ON) {
        fail_cancelled(&end.result, reason);
    } else {
        call->handler = choose(&slot->header);
        call->slot = slot;
        if (call->handler.call == NULL)
            fail_closed(&end.result, slot->header.reserved);
        else
            run(worker, &end);
        call->slot = NULL;
    }
    finish(handle, slot, &end);
}

void
gst__unit_abandon(struct GussetHandle *handle, uint32_t index)
{
    struct gst__slot *slot = gst__jobs_slot(&handle->jobs, index);
    struct ending end = {.result = {.code = FFI_OK}};

    fail_cancelled(&end.result, GST_EXPLICIT);
    finish(handle, slot, &end);
}

void
gst__unit_died(struct gst__worker *worker)
{
    gse_call *call = &worker->call;
    struct gst__slot *slot = call->slot;
    struct ending end = {.result = {.code = FFI_PANIC}};

    if (slot == NULL)
        return;
    call->slot = NULL;
    gst__call_drop(call);
    end.result.text =
        gst__text_format("PANIC: the engine ended its worker thread");
    finish(worker->handle, slot, &end);
}
