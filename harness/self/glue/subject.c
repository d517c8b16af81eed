/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A subject that does each job within submit and keeps a handful of results.
 * It exists so that the oracles of harness/lib can be shown to refuse: it does
 * the one thing wrong that a case asks of it, and the rest right.
 */
#define _GNU_SOURCE
#include "subject.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gusset.h"

#define RESULTS 64
#define CAPACITY 4

enum glue_fault glue_fault;
uint64_t glue_live_bytes = 4096;

struct GussetHandle {
    int fd;
    int ring_attached;
    uint64_t published;
};

struct GussetRing {
    _Alignas(128) uint8_t header[256];
    _Alignas(128) uint8_t slots[CAPACITY][GUSSET_RING_SLOT_BYTES];
};

static GussetHandle the_handle;
static struct GussetRing the_ring;
static _Alignas(64) uint8_t the_result[64];
static uint64_t last_ticket;
static uint8_t stored[RESULTS]; /* 1: the result is there */
static const uint8_t *kept;
static uint64_t *kept_ticket;
static volatile uint64_t sink;

static int
does(enum glue_fault fault)
{
    return glue_fault == fault;
}

/* ---- Statuses ---------------------------------------------------------- */

static int32_t
good(FfiStatus *status)
{
    if (status != NULL && does(GLUE_STATUS_KEPT)) {
        status->code = FFI_OK;
    } else if (status != NULL) {
        memset(status, 0, sizeof *status);
    }
    if (status != NULL && does(GLUE_BEHIND_STATUS)) {
        *(volatile uint64_t *)(status + 1) = 0;
    }
    return FFI_OK;
}

static int32_t
refuse(int32_t code, FfiStatus *status, const char *text)
{
    if (status != NULL) {
        memset(status, 0, sizeof *status);
        status->code = does(GLUE_CODE_DIFFERS) ? FFI_PANIC : code;
        status->msg = (uint8_t *)strdup(text);
        status->msg_len = strlen(text);
    }
    return code;
}

void
gusset_status_free(FfiStatus *status)
{
    if (status != NULL) {
        free(status->msg);
        status->msg = NULL;
        status->msg_len = 0;
    }
}

/* ---- Reports ----------------------------------------------------------- */

void
gusset_abi_layout(AbiLayout *out)
{
    (void)out;
}

uint32_t
gusset_abi_fields(uint32_t *offsets, uint32_t *sizes, uint32_t cap)
{
    (void)offsets;
    (void)sizes;
    (void)cap;
    return 0;
}

void
gusset_alloc_stats(AllocStats *out)
{
    out->live_bytes = glue_live_bytes;
    out->peak_bytes = glue_live_bytes;
    out->alloc_count = 0;
    if (does(GLUE_BEHIND_STATS)) {
        *(volatile uint64_t *)(out + 1) = 0;
    }
}

void
gusset_drain_logs(uint8_t *buf, size_t len, size_t *out_written)
{
    if (does(GLUE_BEHIND_LOG)) {
        *(volatile uint8_t *)(buf + len) = '\n';
    }
    *out_written = 0;
}

/* ---- Handles ----------------------------------------------------------- */

int32_t
gusset_init(void)
{
    return FFI_OK;
}

int32_t
gusset_shutdown(uint32_t drain_ms)
{
    (void)drain_ms;
    return FFI_OK;
}

int32_t
gusset_handle_open(uint32_t pool_size, int32_t pipe_write_fd,
                   GussetHandle **out_handle, FfiStatus *status)
{
    (void)pool_size;
    the_handle = (GussetHandle){.fd = pipe_write_fd};
    *out_handle = &the_handle;
    return good(status);
}

int32_t
gusset_handle_close(GussetHandle *handle, FfiStatus *status)
{
    if (does(GLUE_OUT_LATE)) {
        *kept_ticket = last_ticket;
    }
    close(handle->fd);
    return good(status);
}

/* ---- The ring ---------------------------------------------------------- */

static void
store(uint8_t *at, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_SEQ_CST);
}

int32_t
gusset_handle_ring(GussetHandle *handle, const GussetRing **out_ring,
                   const uint8_t **out_shared, const uint8_t **out_slots,
                   uint64_t *out_capacity, FfiStatus *status)
{
    handle->ring_attached = 1;
    store(the_ring.header + GUSSET_RING_OFF_CAPACITY, CAPACITY);
    store(the_ring.header + GUSSET_RING_OFF_SLOT_BYTES, GUSSET_RING_SLOT_BYTES);
    for (uint64_t i = 0; i < CAPACITY; i++) {
        store(the_ring.slots[i], i);
    }
    *out_ring = &the_ring;
    *out_shared = the_ring.header;
    *out_slots = the_ring.slots[0];
    *out_capacity = CAPACITY;
    return good(status);
}

void
gusset_ring_release(const GussetRing *ring)
{
    (void)ring;
}

static void
publish(GussetHandle *handle, uint64_t ticket)
{
    uint64_t position = handle->published++;
    uint8_t *slot = the_ring.slots[position % CAPACITY];
    store(slot + GUSSET_RING_SLOT_OFF_RECORD, ticket);
    store(slot, position + 1);
    if (does(GLUE_RING_CAPACITY)) {
        store(the_ring.header + GUSSET_RING_OFF_CAPACITY, 2 * CAPACITY);
    }
    if (does(GLUE_RING_SEQUENCE)) {
        store(the_ring.slots[(position + 1) % CAPACITY], 4711);
    }
}

/* In place of the C library's: the moment in which a worker that outlived the
 * close gets the core. */
int
sched_yield(void)
{
    if (does(GLUE_RING_AFTER_CLOSE)) {
        store(the_ring.slots[1] + GUSSET_RING_SLOT_OFF_RECORD, last_ticket);
    }
    return (int)syscall(SYS_sched_yield);
}

/* ---- Jobs -------------------------------------------------------------- */

static void
write_record(GussetHandle *handle, uint64_t ticket)
{
    if (write(handle->fd, &ticket, sizeof ticket) != (ssize_t)sizeof ticket) {
        abort();
    }
}

static void
complete(GussetHandle *handle, uint64_t ticket)
{
    if (does(GLUE_COMPLETION_LOST)) {
        return;
    }
    if (handle->ring_attached) {
        publish(handle, ticket);
        return;
    }
    write_record(handle, ticket);
    if (does(GLUE_COMPLETION_TWICE)) {
        write_record(handle, ticket);
    }
    if (does(GLUE_COMPLETION_OTHER)) {
        write_record(handle, ticket + RESULTS);
    }
}

int32_t
gusset_submit(GussetHandle *handle, const CallHeader *header,
              const uint8_t *input_ptr, size_t input_len, uint64_t buffer_id,
              uint64_t *out_ticket, FfiStatus *status)
{
    (void)buffer_id;
    kept_ticket = out_ticket;
    if (does(GLUE_BEHIND_HEADER)) {
        sink = *(const volatile uint8_t *)(header + 1);
    }
    if (does(GLUE_BEHIND_INPUT)) {
        sink = *(const volatile uint8_t *)(input_ptr + input_len);
    }
    if (does(GLUE_HEADER_KEPT)) {
        kept = header->trace_id;
    } else if (does(GLUE_INPUT_KEPT)) {
        kept = input_ptr;
    }
    if (last_ticket == 0 || !does(GLUE_TICKET_TWICE)) {
        last_ticket++;
    }
    stored[last_ticket % RESULTS] = 1;
    if (does(GLUE_BEFORE_TICKET)) {
        *(volatile uint64_t *)(out_ticket - 1) = last_ticket;
    }
    if (!does(GLUE_OUT_UNWRITTEN)) {
        *out_ticket = last_ticket;
    }
    complete(handle, last_ticket);
    return good(status);
}

int32_t
gusset_take(GussetHandle *handle, uint64_t ticket, uint64_t *out_buf_id,
            uint8_t **out_ptr, size_t *out_len, FfiStatus *status)
{
    char text[80];
    int there = stored[ticket % RESULTS] && ticket <= last_ticket;
    (void)handle;
    if (kept != NULL) {
        sink = *(const volatile uint8_t *)kept;
    }
    if ((!there && !does(GLUE_RESULT_OTHER)) || does(GLUE_RESULT_LOST)) {
        if (does(GLUE_OUT_ON_ERROR)) {
            *out_len = 0;
        }
        snprintf(text, sizeof text, "ticket %llu not found or already taken",
                 (unsigned long long)ticket);
        return refuse(FFI_ERR, status, text);
    }
    stored[ticket % RESULTS] = does(GLUE_RESULT_TWICE);
    *out_buf_id = 1;
    *out_ptr = the_result;
    *out_len = sizeof the_result;
    return good(status);
}

int32_t
gusset_cancel(GussetHandle *handle, uint64_t ticket, FfiStatus *status)
{
    (void)handle;
    (void)ticket;
    return good(status);
}

int32_t
gusset_cancel_all(GussetHandle *handle, FfiStatus *status)
{
    (void)handle;
    return good(status);
}

/* ---- Buffers ----------------------------------------------------------- */

int32_t
gusset_buf_alloc(GussetHandle *handle, size_t len, uint64_t *out_id,
                 uint8_t **out_ptr, FfiStatus *status)
{
    (void)handle;
    (void)len;
    (void)out_id;
    (void)out_ptr;
    return refuse(FFI_ERR, status, "no buffers here");
}

int32_t
gusset_buf_free(GussetHandle *handle, uint64_t id, FfiStatus *status)
{
    (void)handle;
    (void)id;
    return good(status);
}
