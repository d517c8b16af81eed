/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An artifact in shape only: the 17 symbols and the four structs in its
 * debug information. abi_check/bad/inputs.sh makes the good control and the
 * wrong inputs from it; TAKE and TAKE_AS change the name and the attributes
 * of gusset_take. Nothing here is ever called.
 */
#include "gusset.h"

#ifndef TAKE
#define TAKE gusset_take
#endif
#ifndef TAKE_AS
#define TAKE_AS
#endif

void
gusset_abi_layout(AbiLayout *out)
{
    (void)out;
}

uint32_t
gusset_abi_fields(uint32_t *offsets, uint32_t *sizes, uint32_t cap)
{
    (void)offsets, (void)sizes, (void)cap;
    return 0;
}

int32_t
gusset_init(void)
{
    return FFI_ERR;
}

int32_t
gusset_shutdown(uint32_t drain_ms)
{
    (void)drain_ms;
    return FFI_ERR;
}

int32_t
gusset_handle_open(uint32_t pool_size, int32_t pipe_write_fd,
                   GussetHandle **out_handle, FfiStatus *status)
{
    (void)pool_size, (void)pipe_write_fd, (void)out_handle, (void)status;
    return FFI_ERR;
}

int32_t
gusset_handle_close(GussetHandle *handle, FfiStatus *status)
{
    (void)handle, (void)status;
    return FFI_ERR;
}

int32_t
gusset_handle_ring(GussetHandle *handle, const GussetRing **out_ring,
                   const uint8_t **out_shared, const uint8_t **out_slots,
                   uint64_t *out_capacity, FfiStatus *status)
{
    (void)handle, (void)out_ring, (void)out_shared, (void)out_slots;
    (void)out_capacity, (void)status;
    return FFI_ERR;
}

void
gusset_ring_release(const GussetRing *ring)
{
    (void)ring;
}

int32_t
gusset_submit(GussetHandle *handle, const CallHeader *header,
              const uint8_t *input_ptr, size_t input_len, uint64_t buffer_id,
              uint64_t *out_ticket, FfiStatus *status)
{
    (void)handle, (void)header, (void)input_ptr, (void)input_len;
    (void)buffer_id, (void)out_ticket, (void)status;
    return FFI_ERR;
}

TAKE_AS int32_t TAKE(GussetHandle *handle, uint64_t ticket,
                     uint64_t *out_buf_id, uint8_t **out_ptr, size_t *out_len,
                     FfiStatus *status);
TAKE_AS int32_t
TAKE(GussetHandle *handle, uint64_t ticket, uint64_t *out_buf_id,
     uint8_t **out_ptr, size_t *out_len, FfiStatus *status)
{
    (void)handle, (void)ticket, (void)out_buf_id, (void)out_ptr;
    (void)out_len, (void)status;
    return FFI_ERR;
}

int32_t
gusset_cancel(GussetHandle *handle, uint64_t ticket, FfiStatus *status)
{
    (void)handle, (void)ticket, (void)status;
    return FFI_ERR;
}

int32_t
gusset_cancel_all(GussetHandle *handle, FfiStatus *status)
{
    (void)handle, (void)status;
    return FFI_ERR;
}

void
gusset_status_free(FfiStatus *status)
{
    (void)status;
}

void
gusset_alloc_stats(AllocStats *out)
{
    (void)out;
}

void
gusset_drain_logs(uint8_t *buf, size_t len, size_t *out_written)
{
    (void)buf, (void)len, (void)out_written;
}

int32_t
gusset_buf_alloc(GussetHandle *handle, size_t len, uint64_t *out_id,
                 uint8_t **out_ptr, FfiStatus *status)
{
    (void)handle, (void)len, (void)out_id, (void)out_ptr, (void)status;
    return FFI_ERR;
}

int32_t
gusset_buf_free(GussetHandle *handle, uint64_t id, FfiStatus *status)
{
    (void)handle, (void)id, (void)status;
    return FFI_ERR;
}
