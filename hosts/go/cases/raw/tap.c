/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counters are exact. The log of calls is a ring under a lock: the order in it
 * is that in which the calls returned.
 */
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"

static uint64_t counts[TAP_FUNCTIONS];
static struct tap_call calls[TAP_CALLS];
static uint64_t written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static int held[TAP_FUNCTIONS];
static __thread uint32_t depth;

static void
begin(enum tap_function function)
{
    if (depth++ > 0)
        return;
    __atomic_fetch_add(&counts[function], 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&held[function], __ATOMIC_SEQ_CST))
        return;
    pthread_mutex_lock(&lock);
    while (held[function])
        pthread_cond_wait(&released, &lock);
    pthread_mutex_unlock(&lock);
}

void
tap_hold(uint32_t function, int hold)
{
    pthread_mutex_lock(&lock);
    if (function < TAP_FUNCTIONS)
        __atomic_store_n(&held[function], hold, __ATOMIC_SEQ_CST);
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

static void
end(const struct tap_call *call)
{
    if (--depth > 0)
        return;
    pthread_mutex_lock(&lock);
    calls[written % TAP_CALLS] = *call;
    written++;
    pthread_mutex_unlock(&lock);
}

uint64_t
tap_count(uint32_t function)
{
    return function < TAP_FUNCTIONS
               ? __atomic_load_n(&counts[function], __ATOMIC_SEQ_CST)
               : 0;
}

uint64_t
tap_written(void)
{
    pthread_mutex_lock(&lock);
    uint64_t now = written;
    pthread_mutex_unlock(&lock);
    return now;
}

int
tap_read(uint64_t at, struct tap_call *call)
{
    pthread_mutex_lock(&lock);
    int there = at < written && written - at <= TAP_CALLS;
    if (there)
        *call = calls[at % TAP_CALLS];
    pthread_mutex_unlock(&lock);
    return there;
}

static uint64_t
address_of(const void *memory)
{
    return (uint64_t)(uintptr_t)memory;
}

/*
 * A library whose report of its structs is another: RAW_DRIFT in the
 * environment is "WHAT INDEX NUMBER", with WHAT one of version, size, align,
 * offset, width, count. It is read when the package asks for the report, which
 * is before main.
 */
static int
drift(const char *what, uint32_t *index, uint32_t *number)
{
    const char *text = getenv("RAW_DRIFT");
    size_t len = strlen(what);
    char *rest = NULL;
    if (text == NULL || strncmp(text, what, len) != 0 || text[len] != ' ')
        return 0;
    *index = (uint32_t)strtoul(text + len, &rest, 10);
    *number = (uint32_t)strtoul(rest, NULL, 10);
    return 1;
}

void
__wrap_gusset_abi_layout(AbiLayout *out)
{
    struct tap_call call = {.function = TAP_ABI_LAYOUT};
    uint32_t index = 0, number = 0;
    begin(TAP_ABI_LAYOUT);
    __real_gusset_abi_layout(out);
    if (drift("version", &index, &number))
        out->version = number;
    if (drift("size", &index, &number) && index < 4)
        out->sizes[index] = number;
    if (drift("align", &index, &number) && index < 4)
        out->aligns[index] = number;
    end(&call);
}

uint32_t
__wrap_gusset_abi_fields(uint32_t *offsets, uint32_t *sizes, uint32_t cap)
{
    struct tap_call call = {.function = TAP_ABI_FIELDS, .argument = cap};
    uint32_t index = 0, number = 0;
    begin(TAP_ABI_FIELDS);
    uint32_t count = __real_gusset_abi_fields(offsets, sizes, cap);
    if (drift("offset", &index, &number) && index < cap)
        offsets[index] = number;
    if (drift("width", &index, &number) && index < cap)
        sizes[index] = number;
    if (drift("count", &index, &number))
        count = number;
    end(&call);
    return count;
}

int32_t
__wrap_gusset_init(void)
{
    struct tap_call call = {.function = TAP_INIT};
    begin(TAP_INIT);
    call.code = __real_gusset_init();
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_shutdown(uint32_t drain_ms)
{
    struct tap_call call = {.function = TAP_SHUTDOWN, .subject = drain_ms};
    begin(TAP_SHUTDOWN);
    call.code = __real_gusset_shutdown(drain_ms);
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_handle_open(uint32_t pool_size, int32_t fd, GussetHandle **out,
                          FfiStatus *status)
{
    struct tap_call call = {.function = TAP_HANDLE_OPEN, .subject = pool_size};
    begin(TAP_HANDLE_OPEN);
    call.code = __real_gusset_handle_open(pool_size, fd, out, status);
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_handle_close(GussetHandle *handle, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_HANDLE_CLOSE};
    begin(TAP_HANDLE_CLOSE);
    call.code = __real_gusset_handle_close(handle, status);
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_handle_ring(GussetHandle *handle, const GussetRing **ring,
                          const uint8_t **shared, const uint8_t **slots,
                          uint64_t *capacity, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_HANDLE_RING};
    begin(TAP_HANDLE_RING);
    call.code = __real_gusset_handle_ring(handle, ring, shared, slots, capacity,
                                          status);
    end(&call);
    return call.code;
}

void
__wrap_gusset_ring_release(const GussetRing *ring)
{
    struct tap_call call = {.function = TAP_RING_RELEASE};
    begin(TAP_RING_RELEASE);
    __real_gusset_ring_release(ring);
    end(&call);
}

int32_t
__wrap_gusset_submit(GussetHandle *handle, const CallHeader *header,
                     const uint8_t *input, size_t len, uint64_t buffer_id,
                     uint64_t *ticket, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_SUBMIT,
                            .argument = len,
                            .buffer = buffer_id,
                            .address = address_of(input)};
    if (header != NULL)
        call.header = *header;
    begin(TAP_SUBMIT);
    call.code = __real_gusset_submit(handle, header, input, len, buffer_id,
                                     ticket, status);
    if (call.code == FFI_OK && ticket != NULL)
        call.subject = *ticket;
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_take(GussetHandle *handle, uint64_t ticket, uint64_t *id,
                   uint8_t **data, size_t *len, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_TAKE, .subject = ticket};
    begin(TAP_TAKE);
    call.code = __real_gusset_take(handle, ticket, id, data, len, status);
    if (call.code == FFI_OK) {
        call.buffer = id == NULL ? 0 : *id;
        call.address = data == NULL ? 0 : address_of(*data);
        call.argument = len == NULL ? 0 : *len;
    }
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_cancel(GussetHandle *handle, uint64_t ticket, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_CANCEL, .subject = ticket};
    begin(TAP_CANCEL);
    call.code = __real_gusset_cancel(handle, ticket, status);
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_cancel_all(GussetHandle *handle, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_CANCEL_ALL};
    begin(TAP_CANCEL_ALL);
    call.code = __real_gusset_cancel_all(handle, status);
    end(&call);
    return call.code;
}

void
__wrap_gusset_status_free(FfiStatus *status)
{
    struct tap_call call = {.function = TAP_STATUS_FREE};
    begin(TAP_STATUS_FREE);
    __real_gusset_status_free(status);
    end(&call);
}

void
__wrap_gusset_alloc_stats(AllocStats *out)
{
    struct tap_call call = {.function = TAP_ALLOC_STATS};
    begin(TAP_ALLOC_STATS);
    __real_gusset_alloc_stats(out);
    end(&call);
}

void
__wrap_gusset_drain_logs(uint8_t *buffer, size_t cap, size_t *out_written)
{
    struct tap_call call = {.function = TAP_DRAIN_LOGS, .argument = cap};
    begin(TAP_DRAIN_LOGS);
    __real_gusset_drain_logs(buffer, cap, out_written);
    end(&call);
}

int32_t
__wrap_gusset_buf_alloc(GussetHandle *handle, size_t len, uint64_t *id,
                        uint8_t **data, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_BUF_ALLOC, .argument = len};
    begin(TAP_BUF_ALLOC);
    call.code = __real_gusset_buf_alloc(handle, len, id, data, status);
    if (call.code == FFI_OK) {
        call.subject = id == NULL ? 0 : *id;
        call.address = data == NULL ? 0 : address_of(*data);
    }
    end(&call);
    return call.code;
}

int32_t
__wrap_gusset_buf_free(GussetHandle *handle, uint64_t id, FfiStatus *status)
{
    struct tap_call call = {.function = TAP_BUF_FREE, .subject = id};
    begin(TAP_BUF_FREE);
    call.code = __real_gusset_buf_free(handle, id, status);
    end(&call);
    return call.code;
}
