/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What stands between a case and the subject. Every call through `api` hands
 * the subject fenced copies in place of the case's own structs and judges what
 * became of them, so that no case can forget to:
 *   - header and inline input end at an inaccessible page and are inaccessible
 *     themselves from the moment submit has returned;
 *   - out-parameters end at an inaccessible page, have a canary before them and
 *     junk in them: written by FFI_OK, untouched by any other code;
 *   - a status is overwritten, whatever it held, and agrees with the code;
 *   - a ticket is issued once, and gives its result once.
 * What is on purpose no ordinary pointer goes through as it is: NULL, a block
 * of conform_fence, an input that is not to be read.
 */
#include "guard.h"

#include <inttypes.h>
#include <string.h>

#include "internal.h"
#include "tickets.h"

struct conform_api api_raw;

/* ---- One call ---------------------------------------------------------- */

struct guard_out {
    void *caller;
    uint8_t *block;
    size_t bytes;
    const char *name;
};

struct guard_call {
    const char *export;
    struct guard_set *set;
    unsigned first; /* of its cells */
    unsigned count;
    struct guard_out outs[GUARD_CELLS];
};

static struct guard_call
begin(const char *export)
{
    struct guard_call call = {.export = export, .set = guard_set()};
    if (call.set != NULL) {
        call.first = guard_next_bank(call.set);
    }
    return call;
}

/* Where the subject is to write in place of `caller`. */
static void *
out(struct guard_call *call, void *caller, size_t bytes, const char *name)
{
    if (caller == NULL || call->set == NULL || conform_fence_holds(caller)) {
        return caller;
    }
    struct guard_out *entry = &call->outs[call->count];
    entry->block = guard_cell(call->set, call->first + call->count, bytes);
    entry->caller = caller;
    entry->bytes = bytes;
    entry->name = name;
    call->count++;
    return entry->block;
}

static void
check_canary(const struct guard_call *call, const struct guard_out *entry)
{
    if (!guard_canary_holds(entry->block)) {
        expect_unreachable("%s wrote before its %s [i6.self-report-true]",
                           call->export, entry->name);
    }
}

/* Written, or not, as the code has it; then over to the caller. */
static void
finish(struct guard_call *call, int32_t code)
{
    for (unsigned i = 0; i < call->count; i++) {
        struct guard_out *entry = &call->outs[i];
        bool untouched = guard_is_junk(entry->block, entry->bytes);
        check_canary(call, entry);
        if (code != FFI_OK && !untouched) {
            expect_unreachable("%s returned %s and wrote its %s "
                               "[i1.out-only-on-ok]",
                               call->export, conform_code_name(code),
                               entry->name);
        }
        if (code == FFI_OK && untouched) {
            expect_unreachable("%s returned FFI_OK without writing its %s",
                               call->export, entry->name);
        }
        if (code == FFI_OK) {
            memcpy(entry->caller, entry->block, entry->bytes);
        }
        guard_cell_back(call->set, call->first + i);
    }
}

/* ---- The status -------------------------------------------------------- */

/* The last cell of a call is the status's. */
static unsigned
status_cell(const struct guard_call *call)
{
    return call->first + GUARD_CELLS - 1;
}

static bool
is_zero(const FfiStatus *status)
{
    static const FfiStatus zero;
    /* A case may leave it unset, which is nobody's fault. */
    return !UNDER_MEMORY_SANITIZER && memcmp(status, &zero, sizeof zero) == 0;
}

static FfiStatus *
status_in(const struct guard_call *call, FfiStatus *caller)
{
    if (caller == NULL || call->set == NULL || conform_fence_holds(caller)) {
        return caller;
    }
    FfiStatus *cell = (FfiStatus *)(void *)guard_cell(
        call->set, status_cell(call), sizeof *cell);
    if (is_zero(caller)) {
        *cell = conform_dirty_status();
    } else {
        memcpy(cell, caller, sizeof *cell);
    }
    return cell;
}

static void
status_back(const struct guard_call *call, FfiStatus *caller, FfiStatus *cell)
{
    if (cell == caller) {
        return;
    }
    const struct guard_out entry = {.block = (uint8_t *)cell, .name = "status"};
    check_canary(call, &entry);
    memcpy(caller, cell, sizeof *cell);
    guard_cell_back(call->set, status_cell(call));
}

/* After every export with a code and a status. */
static int32_t
settle(struct guard_call *call, int32_t code, FfiStatus *caller,
       FfiStatus *cell)
{
    status_back(call, caller, cell);
    conform_status_judge(code, caller);
    finish(call, code);
    return code;
}

/* ---- Handles ----------------------------------------------------------- */

static int32_t
guarded_open(uint32_t pool, int32_t fd, GussetHandle **handle,
             FfiStatus *status)
{
    struct guard_call call = begin("handle_open");
    FfiStatus *cell = status_in(&call, status);
    GussetHandle **out_handle =
        out(&call, handle, sizeof *handle, "out_handle");
    return settle(&call, api_raw.handle_open(pool, fd, out_handle, cell),
                  status, cell);
}

static int32_t
guarded_close(GussetHandle *handle, FfiStatus *status)
{
    struct guard_call call = begin("handle_close");
    FfiStatus *cell = status_in(&call, status);
    return settle(&call, api_raw.handle_close(handle, cell), status, cell);
}

static int32_t
guarded_ring(GussetHandle *handle, const GussetRing **ring,
             const uint8_t **shared, const uint8_t **slots, uint64_t *capacity,
             FfiStatus *status)
{
    struct guard_call call = begin("handle_ring");
    FfiStatus *cell = status_in(&call, status);
    const GussetRing **out_ring = out(&call, ring, sizeof *ring, "out_ring");
    const uint8_t **out_shared =
        out(&call, shared, sizeof *shared, "out_shared");
    const uint8_t **out_slots = out(&call, slots, sizeof *slots, "out_slots");
    uint64_t *out_capacity =
        out(&call, capacity, sizeof *capacity, "out_capacity");
    int32_t code = api_raw.handle_ring(handle, out_ring, out_shared, out_slots,
                                       out_capacity, cell);
    return settle(&call, code, status, cell);
}

/* ---- Jobs -------------------------------------------------------------- */

/* An input that the subject may read, hence may be copied. */
static bool
is_readable(const uint8_t *input, size_t len, uint64_t buffer_id)
{
    return input != NULL && len > 0 && len <= GUSSET_MAX_INLINE_INPUT &&
           buffer_id == 0 && !conform_fence_holds(input);
}

static int32_t
guarded_submit(GussetHandle *handle, const CallHeader *header,
               const uint8_t *input, size_t len, uint64_t buffer_id,
               uint64_t *ticket, FfiStatus *status)
{
    conform_claims_submit_check(header, input, len);
    struct guard_call call = begin("submit");
    FfiStatus *cell = status_in(&call, status);
    uint64_t *out_ticket = out(&call, ticket, sizeof *ticket, "out_ticket");
    /* A call refused for a NULL reads nothing, hence nothing is copied. */
    bool complete = handle != NULL && header != NULL && ticket != NULL;
    bool copy_header = complete && !conform_fence_holds(header);
    bool copy_input = complete && is_readable(input, len, buffer_id);
    struct guard_pad pad = guard_pad_open(call.set, copy_header ? header : NULL,
                                          copy_input ? input : NULL, len);
    int32_t code =
        api_raw.submit(handle, pad.header != NULL ? pad.header : header,
                       pad.input != NULL ? pad.input : input, len, buffer_id,
                       out_ticket, cell);
    guard_pad_revoke(&pad);
    (void)settle(&call, code, status, cell);
    if (code == FFI_OK && ticket != NULL) {
        conform_ticket_issued(handle, *ticket);
    }
    return code;
}

static int32_t
guarded_take(GussetHandle *handle, uint64_t ticket, uint64_t *id,
             uint8_t **bytes, size_t *len, FfiStatus *status)
{
    struct guard_call call = begin("take");
    FfiStatus *cell = status_in(&call, status);
    uint64_t *out_id = out(&call, id, sizeof *id, "out_buf_id");
    uint8_t **out_bytes = out(&call, bytes, sizeof *bytes, "out_ptr");
    size_t *out_len = out(&call, len, sizeof *len, "out_len");
    int32_t code =
        api_raw.take(handle, ticket, out_id, out_bytes, out_len, cell);
    (void)settle(&call, code, status, cell);
    conform_ticket_answered(handle, ticket, code, status);
    return code;
}

static int32_t
guarded_cancel(GussetHandle *handle, uint64_t ticket, FfiStatus *status)
{
    struct guard_call call = begin("cancel");
    FfiStatus *cell = status_in(&call, status);
    return settle(&call, api_raw.cancel(handle, ticket, cell), status, cell);
}

static int32_t
guarded_cancel_all(GussetHandle *handle, FfiStatus *status)
{
    struct guard_call call = begin("cancel_all");
    FfiStatus *cell = status_in(&call, status);
    return settle(&call, api_raw.cancel_all(handle, cell), status, cell);
}

/* ---- Buffers and statuses ---------------------------------------------- */

static int32_t
guarded_buf_alloc(GussetHandle *handle, size_t len, uint64_t *id,
                  uint8_t **bytes, FfiStatus *status)
{
    struct guard_call call = begin("buf_alloc");
    FfiStatus *cell = status_in(&call, status);
    uint64_t *out_id = out(&call, id, sizeof *id, "out_id");
    uint8_t **out_bytes = out(&call, bytes, sizeof *bytes, "out_ptr");
    return settle(&call,
                  api_raw.buf_alloc(handle, len, out_id, out_bytes, cell),
                  status, cell);
}

static int32_t
guarded_buf_free(GussetHandle *handle, uint64_t id, FfiStatus *status)
{
    struct guard_call call = begin("buf_free");
    FfiStatus *cell = status_in(&call, status);
    return settle(&call, api_raw.buf_free(handle, id, cell), status, cell);
}

static void
guarded_status_free(FfiStatus *status)
{
    struct guard_call call = begin("status_free");
    FfiStatus *cell = status;
    if (status != NULL && call.set != NULL && !conform_fence_holds(status)) {
        cell = (FfiStatus *)(void *)guard_cell(call.set, status_cell(&call),
                                               sizeof *cell);
        memcpy(cell, status, sizeof *cell);
    }
    api_raw.status_free(cell);
    status_back(&call, status, cell);
}

/* ---- Reports ----------------------------------------------------------- */

static void
guarded_layout(AbiLayout *layout)
{
    struct guard_call call = begin("abi_layout");
    api_raw.abi_layout(out(&call, layout, sizeof *layout, "AbiLayout"));
    finish(&call, FFI_OK);
}

static uint32_t
guarded_fields(uint32_t *offsets, uint32_t *sizes, uint32_t cap)
{
    enum { FIELDS = 17 };
    struct guard_call call = begin("abi_fields");
    size_t bytes = (cap < FIELDS ? cap : FIELDS) * sizeof *offsets;
    if (cap == 0) {
        return api_raw.abi_fields(offsets, sizes, cap);
    }
    uint32_t *out_offsets = out(&call, offsets, bytes, "offsets");
    uint32_t *out_sizes = out(&call, sizes, bytes, "sizes");
    uint32_t count = api_raw.abi_fields(out_offsets, out_sizes, cap);
    finish(&call, FFI_OK);
    return count;
}

static void
guarded_stats(AllocStats *stats)
{
    struct guard_call call = begin("alloc_stats");
    api_raw.alloc_stats(out(&call, stats, sizeof *stats, "AllocStats"));
    finish(&call, FFI_OK);
}

static void
guarded_logs(uint8_t *buffer, size_t len, size_t *written)
{
    struct guard_call call = begin("drain_logs");
    uint8_t *log = NULL;
    if (call.set != NULL && buffer != NULL && len > 0 && written != NULL &&
        !conform_fence_holds(buffer) && !conform_fence_holds(written)) {
        log = guard_log(call.set, len);
    }
    if (log == NULL) {
        api_raw.drain_logs(buffer, len, written);
        return;
    }
    size_t *out_written = out(&call, written, sizeof *written, "out_written");
    api_raw.drain_logs(log, len, out_written);
    const struct guard_out entry = {.block = log, .name = "buffer"};
    check_canary(&call, &entry);
    finish(&call, FFI_OK);
    if (*written > len) {
        expect_unreachable("drain_logs says it wrote %zu bytes into a buffer "
                           "of %zu [l.log-lines]",
                           *written, len);
    }
    memcpy(buffer, log, *written);
}

/* ---- Installing -------------------------------------------------------- */

void
conform_guard_install(void)
{
    if (api.submit == NULL) {
        return;
    }
    guard_memory_reserve();
    conform_tickets_reserve();
    api_raw = api;
    api.abi_layout = guarded_layout;
    api.abi_fields = guarded_fields;
    api.handle_open = guarded_open;
    api.handle_close = guarded_close;
    api.handle_ring = guarded_ring;
    api.submit = guarded_submit;
    api.take = guarded_take;
    api.cancel = guarded_cancel;
    api.cancel_all = guarded_cancel_all;
    api.status_free = guarded_status_free;
    api.alloc_stats = guarded_stats;
    api.drain_logs = guarded_logs;
    api.buf_alloc = guarded_buf_alloc;
    api.buf_free = guarded_buf_free;
}

void
conform_guard_end(void)
{
    if (api_raw.submit == NULL) {
        return;
    }
    guard_memory_end();
    conform_tickets_settle();
}
