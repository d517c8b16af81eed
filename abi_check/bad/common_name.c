/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gusset_take in one object with a helper of a name that others have too. */
#include "gusset.h"

int queue_push(void);
int
queue_push(void)
{
    return FFI_ERR;
}

int32_t
gusset_take(GussetHandle *handle, uint64_t ticket, uint64_t *out_buf_id,
            uint8_t **out_ptr, size_t *out_len, FfiStatus *status)
{
    (void)handle, (void)ticket, (void)out_buf_id, (void)out_ptr;
    (void)out_len, (void)status;
    return queue_push();
}
