/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Open changes the descriptor's flags last, when nothing can
 * fail any more, so that a refused open leaves them alone; the pipe may have
 * grown by then. Close frees nothing while a worker may use it: either the
 * closer joined them all, or the last of them frees the handle.
 */
#include "handle.h"

#include <string.h>

#include "lifecycle.h"
#include "log.h"
#include "plat.h"
#include "stats.h"
#include "unit.h"

#define KNOWN_FLAGS \
    (GUSSET_FLAG_DIAGNOSTIC_ENGINE | GUSSET_FLAG_INLINE_COMPLETION)

_Atomic uint64_t gst__close_budget_ns = GST_CLOSE_BUDGET_NS;

/* Opening */

static int32_t
check_pipe(int32_t fd, FfiStatus *status)
{
    switch (gst__plat_pipe_kind(fd)) {
    case GST_PIPE_WRITE_END:
        return FFI_OK;
    case GST_PIPE_READ_END:
        return gst__fail(status, FFI_ERR,
                         "descriptor %d is not the write end of its pipe",
                         (int)fd);
    case GST_PIPE_NOT_A_PIPE:
        return gst__fail(status, FFI_ERR, "descriptor %d is not a pipe",
                         (int)fd);
    case GST_PIPE_NOT_OPEN:
        break;
    }
    return gst__fail(status, FFI_ERR, "descriptor %d is not open", (int)fd);
}

/* Makes room for one completion of each worker at once [i4.pipe-capacity]. */
static int32_t
check_capacity(struct GussetHandle *handle, uint32_t pool, FfiStatus *status)
{
    size_t records = (size_t)pool * GUSSET_INLINE_RECORD_MAX;
    size_t tickets = (size_t)pool * sizeof(uint64_t);
    size_t capacity = gst__plat_pipe_grow(handle->fd, records);

    /* Equivalent [compare]: growing to what there is changes nothing. */
    if (capacity < tickets)
        capacity = gst__plat_pipe_grow(handle->fd, tickets);
    handle->pipe_inline = capacity >= records;
    if (capacity >= tickets)
        return FFI_OK;
    return gst__fail(status, FFI_ERR,
                     "the pipe holds %zu bytes, a pool of %u needs %zu: use a "
                     "smaller pool or raise fs.pipe-user-pages-soft",
                     capacity, (unsigned)pool, tickets);
}

/* NULL: no memory. */
static struct GussetHandle *
make(uint32_t pool, int fd)
{
    struct GussetHandle *handle =
        gst__alloc_zeroed(sizeof *handle, GST_CACHE_LINE);
    unsigned cpus = gst__plat_cpus();

    if (handle == NULL)
        return NULL;
    handle->fd = fd;
    handle->fork_count = GST_LOAD_RELAXED(&gst__forks);
    /* Equivalent [call, drop-one, constant]: how many workers poll before
     * they sleep is a matter of speed, and zeroed memory lets none. */
    gst__park_init(&handle->park, cpus - 1);
    /* 3 x pool may be in flight, and results wait to be taken. */
    /* Equivalent [constant `4 * pool`]: more are made when they are needed. */
    /* Unseen [guard `!gst__jobs_init(&handle->jobs, 4 * pool)`]: the first
     * submit makes the slots, and Linux takes a destroyed mutex for a new one.
     */
    if (!gst__jobs_init(&handle->jobs, 4 * pool)) {
        gst__free(handle);
        return NULL;
    }
    if (!gst__queue_init(&handle->queue, 2 * pool)) {
        gst__jobs_destroy(&handle->jobs);
        gst__free(handle);
        return NULL;
    }
    gst__buffers_init(&handle->buffers);
    return handle;
}

/* Everything but the pool, the list and the descriptor. */
static void
unmake(struct GussetHandle *handle)
{
    gst__jobs_destroy(&handle->jobs);
    gst__buffers_destroy(&handle->buffers);
    gst__queue_destroy(&handle->queue);
    gst__free(handle);
}

/* Starts the threads; on failure none is left. */
static int32_t
start(struct GussetHandle *handle, uint32_t pool, FfiStatus *status)
{
    int error = gst__pool_start(handle, pool);

    if (error != 0) {
        gst__pool_destroy(&handle->pool);
        return gst__fail(status, FFI_ERR,
                         "worker threads could not be started (error %d)",
                         error);
    }
    error = gst__plat_pipe_nonblocking(handle->fd);
    if (error == 0)
        return FFI_OK;
    /* Equivalent [order-acq_rel, order-relaxed]: there is no unit yet whose
     * cancellation a worker would have to see before it. */
    GST_OR_SEQ(&handle->gate, GST_GATE_CLOSING);
    gst__pool_stop(handle, GST_FOREVER);
    gst__pool_destroy(&handle->pool);
    return gst__fail(status, FFI_ERR,
                     "descriptor %d cannot be made non-blocking (error %d)",
                     handle->fd, error);
}

static int32_t
open_held(uint32_t pool, int32_t fd, GussetHandle **out_handle,
          FfiStatus *status)
{
    struct GussetHandle *handle = make(pool, fd);
    int32_t code;

    if (handle == NULL)
        return gst__fail(status, FFI_ERR, "out of memory for a handle");
    code = check_capacity(handle, pool, status);
    if (code == FFI_OK)
        code = start(handle, pool, status);
    if (code != FFI_OK) {
        unmake(handle);
        return code;
    }
    gst__lifecycle_add(handle);
    *out_handle = handle;
    return FFI_OK;
}

int32_t
gst__handle_open(uint32_t pool_size, int32_t fd, GussetHandle **out_handle,
                 FfiStatus *status)
{
    uint32_t pool = pool_size == 0 ? GUSSET_DEFAULT_POOL_SIZE : pool_size;
    int32_t code;
    int error;

    if (pool > GUSSET_MAX_POOL_SIZE)
        return gst__fail(status, FFI_ERR, "pool size %u exceeds maximum %u",
                         (unsigned)pool, (unsigned)GUSSET_MAX_POOL_SIZE);
    code = check_pipe(fd, status);
    if (code != FFI_OK)
        return code;
    error = gst__lifecycle_hold();
    if (error != 0)
        return gst__fail(status, FFI_ERR,
                         "process-wide set-up failed (error %d)", error);
    code = open_held(pool, fd, out_handle, status);
    if (code != FFI_OK)
        gst__lifecycle_release();
    return code;
}

/* Closing */

void
gst__handle_destroy(struct GussetHandle *handle)
{
    struct GussetRing *ring = GST_LOAD_RELAXED(&handle->ring);
    int fd = handle->fd;
    struct gst__sigpipe held;
    uint32_t index;

    /* Units are left only if every worker died. */
    if (gst__queue_ready(&handle->queue)) {
        gst__plat_sigpipe_hold(&held);
        while (gst__queue_pop(&handle->queue, &index))
            gst__unit_abandon(handle, index);
        gst__plat_sigpipe_release(&held);
    }
    gst__lifecycle_remove(handle);
    gst__pool_destroy(&handle->pool);
    if (ring != NULL)
        gst__ring_drop(ring);
    unmake(handle);
    gst__lifecycle_release();
    /* Last: who reads EOF finds everything released. */
    gst__plat_pipe_close(fd);
}

int32_t
gst__handle_close(GussetHandle *handle, FfiStatus *status)
{
    uint64_t budget = GST_LOAD_RELAXED(&gst__close_budget_ns);
    uint32_t running;

    /* Partner: the load in gst__job_reason. Cancelled before CLOSING is
     * seen, so that what a worker still pops does not run. */
    /* Equivalent [order-acq_rel, order-relaxed]: the or below releases it. */
    /* Equivalent [constant]: any number that no job has seen will do. */
    GST_ADD_SEQ(&handle->cancel_epoch, 1);
    /* Partner: the loads in write_pipe and closing. */
    /* Equivalent [order-acq_rel]: a worker that sees it late finds the grant
     * of gst__park_stop in place of sleep. */
    /* Unseen [order-relaxed]: a worker might see it before the add, but not on
     * a machine whose read-modify-writes are ordered. */
    GST_OR_SEQ(&handle->gate, GST_GATE_CLOSING);
    running = gst__pool_stop(handle, budget);
    if (running == 0) {
        gst__handle_destroy(handle);
        return FFI_OK;
    }
    gst__log("gusset: handle closed with %u workers still running",
             (unsigned)running);
    gst__pool_drop(handle);
    return gst__fail(status, FFI_ERR, "%u workers still running",
                     (unsigned)running);
}

int32_t
gst__handle_ring(GussetHandle *handle, const GussetRing **out_ring,
                 const uint8_t **out_shared, const uint8_t **out_slots,
                 uint64_t *out_capacity, FfiStatus *status)
{
    struct GussetRing *none = NULL;
    struct GussetRing *ring =
        gst__ring_new(gst__ring_capacity(handle->pool.size));

    if (ring == NULL)
        return gst__fail(status, FFI_ERR, "out of memory for a ring");
    /* Partner: the load in deliver. */
    /* Equivalent [order-acq_rel]: the ring is published, which is a release;
     * there is no second word to be in order with. */
    if (!GST_CAS_STRONG_SEQ(&handle->ring, &none, ring)) {
        gst__ring_drop(ring);
        gst__ring_drop(ring);
        return gst__fail(status, FFI_ERR, "the handle has a ring already");
    }
    *out_ring = ring;
    *out_shared = ring->shared;
    *out_slots = ring->slots;
    *out_capacity = ring->capacity;
    return FFI_OK;
}

/* Submitting */

/* The gate is not 0: repairs what can be, or refuses. */
static int32_t
pass_gate(GussetHandle *handle, uint32_t gate, FfiStatus *status)
{
    /* Equivalent [constant]: only a dead worker leads to where it is read. */
    int error = 0;

    /* Equivalent [constant `(gate & GST_GATE_DEAD) != 0`]: where no worker is
     * dead there is nothing to repair. */
    /* Equivalent [constant `(gate & GST_GATE_READER_GONE) != 0`, compare
     * `error != 0`, constant `error != 0`, guard `error != 0`]: a worker that
     * died has poisoned the handle, and that is what the call says. */
    /* Also on a poisoned handle: units accepted before go on. */
    if ((gate & GST_GATE_DEAD) != 0)
        error = gst__pool_repair(handle);
    if ((gate & GST_GATE_POISONED) != 0)
        return gst__fail(status, FFI_POISONED, "handle is poisoned");
    if ((gate & GST_GATE_READER_GONE) != 0)
        return gst__fail(status, FFI_ERR,
                         "the completion pipe has no reader any more");
    if (error != 0)
        return gst__fail(status, FFI_ERR,
                         "a dead worker could not be replaced (error %d)",
                         error);
    return FFI_OK;
}

static int32_t
check_request(const CallHeader *header, const uint8_t *input, size_t len,
              uint64_t buffer_id, FfiStatus *status)
{
    if ((header->flags & ~KNOWN_FLAGS) != 0)
        return gst__fail(status, FFI_ERR, "unknown CallHeader flag 0x%x",
                         (unsigned)(header->flags & ~KNOWN_FLAGS));
    if (buffer_id != 0)
        return FFI_OK;
    if (input == NULL && len > 0)
        return gst__fail(status, FFI_BAD_ARG,
                         "input_ptr is NULL, input_len is %zu", len);
    if (len > GUSSET_MAX_INLINE_INPUT)
        return gst__fail(status, FFI_BAD_ARG,
                         "input of %zu bytes is over the limit of %d: use a "
                         "buffer",
                         len, GUSSET_MAX_INLINE_INPUT);
    return FFI_OK;
}

/* Copies the request into the slot; false: no memory for the input. */
static bool
fill(struct gst__slot *slot, const CallHeader *header, const uint8_t *input,
     size_t len)
{
    uint8_t *to = slot->input;

    slot->place = GST_INPUT_SLOT;
    slot->input_len = (uint32_t)len;
    slot->header = *header;
    slot->deadline = GST_FOREVER;
    if (header->timeout_ns != 0) {
        uint64_t now = gst__plat_now();

        /* Too far for the clock is as good as never. */
        /* Equivalent [compare]: their sum is then GST_FOREVER itself. */
        if (header->timeout_ns < GST_FOREVER - now)
            slot->deadline = now + header->timeout_ns;
    }
    /* Equivalent [compare]: what just fits may lie in either place. */
    if (len > sizeof slot->input) {
        slot->heap = gst__alloc(len);
        if (slot->heap == NULL)
            return false;
        slot->place = GST_INPUT_HEAP;
        to = slot->heap;
    }
    if (len > 0)
        memcpy(to, input, len);
    return true;
}

static int32_t
refuse_slot(enum gst__jobs_error why, FfiStatus *status)
{
    if (why == GST_JOBS_TOO_MANY)
        return gst__fail(status, FFI_ERR,
                         "too many results not taken, at most %u",
                         (unsigned)GST_MAX_SLOTS);
    if (why == GST_JOBS_NO_TICKETS)
        return gst__fail(status, FFI_ERR, "ticket numbers are used up");
    return gst__fail(status, FFI_ERR, "out of memory for a job");
}

/* What has to be undone if the unit is not queued after all. */
struct attempt {
    GussetHandle *handle;
    struct gst__buffer *buffer;
    uint64_t epoch;
};

static int32_t
queue_unit(const struct attempt *attempt, const CallHeader *header,
           const uint8_t *input, size_t len, uint64_t *out_ticket,
           FfiStatus *status)
{
    GussetHandle *handle = attempt->handle;
    enum gst__jobs_error why;
    struct gst__slot *slot;
    uint64_t ticket;

    slot = gst__jobs_get(&handle->jobs, &ticket, &why);
    if (slot == NULL)
        return refuse_slot(why, status);
    if (!fill(slot, header, input, len)) {
        gst__jobs_put(&handle->jobs, slot);
        return gst__fail(status, FFI_ERR, "out of memory for the input");
    }
    if (attempt->buffer != NULL) {
        slot->place = GST_INPUT_BUFFER;
        slot->buffer = attempt->buffer;
    }
    slot->epoch = attempt->epoch;
    /* Partner: the add in gusset_cancel_all. */
    /* Equivalent [order-relaxed]: the number is all; a host that orders its
     * cancel_all before this call sees the new one in any order. */
    slot->cancel_epoch = GST_LOAD_ACQUIRE(&handle->cancel_epoch);
    gst__jobs_queue(slot, ticket);
    if (!gst__queue_push(&handle->queue, slot->index)) {
        if (slot->place == GST_INPUT_HEAP)
            gst__free(slot->heap);
        gst__jobs_put(&handle->jobs, slot);
        return gst__fail(status, FFI_ERR, "submission queue is full");
    }
    /* The slot is the worker's now. */
    gst__park_wake(&handle->park);
    *out_ticket = ticket;
    return FFI_OK;
}

int32_t
gst__handle_submit(GussetHandle *handle, const CallHeader *header,
                   const uint8_t *input, size_t len, uint64_t buffer_id,
                   uint64_t *out_ticket, FfiStatus *status)
{
    /* Partner: the or in finish_bare. */
    /* Equivalent [order-relaxed]: a host that has read the completion is
     * ordered behind the bit already, and nothing else is read through it. */
    uint32_t gate = GST_LOAD_ACQUIRE(&handle->gate);
    /* Equivalent [constant]: gst__lifecycle_enter sets the epoch. */
    struct attempt attempt = {handle, NULL, 0};
    int32_t code = gate == 0 ? FFI_OK : pass_gate(handle, gate, status);

    if (code == FFI_OK)
        code = check_request(header, input, len, buffer_id, status);
    if (code != FFI_OK)
        return code;
    if (!gst__lifecycle_enter(handle, &attempt.epoch))
        return gst__fail(status, FFI_ERR, "gusset runtime is shutting down");
    if (buffer_id != 0) {
        len = 0;
        attempt.buffer = gst__buffer_read(&handle->buffers, buffer_id);
    }
    if (buffer_id != 0 && attempt.buffer == NULL)
        code = gst__fail(status, FFI_ERR, "buffer id %llu not found",
                         (unsigned long long)buffer_id);
    else
        code = queue_unit(&attempt, header, input, len, out_ticket, status);
    if (code == FFI_OK)
        return FFI_OK;
    if (attempt.buffer != NULL)
        gst__buffer_read_end(&handle->buffers, attempt.buffer);
    gst__lifecycle_leave(handle);
    return code;
}
