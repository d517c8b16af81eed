/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/frozen.h"

#include <string.h>

const char *const frozen_exports[FROZEN_EXPORTS] = {
    "gusset_abi_layout",  "gusset_abi_fields",   "gusset_init",
    "gusset_shutdown",    "gusset_handle_open",  "gusset_handle_close",
    "gusset_handle_ring", "gusset_ring_release", "gusset_submit",
    "gusset_take",        "gusset_cancel",       "gusset_cancel_all",
    "gusset_status_free", "gusset_alloc_stats",  "gusset_drain_logs",
    "gusset_buf_alloc",   "gusset_buf_free",
};

const struct abi_struct frozen_structs[FROZEN_STRUCTS] = {
    {"CallHeader", 40, 8},
    {"FfiStatus", 48, 8},
    {"AbiLayout", 36, 4},
    {"AllocStats", 24, 8},
};

const struct abi_field frozen_fields[FROZEN_FIELDS] = {
    {"CallHeader", "trace_id", 0, 16, KIND_UNSIGNED, 1},
    {"CallHeader", "span_id", 16, 8, KIND_UNSIGNED, 1},
    {"CallHeader", "timeout_ns", 24, 8, KIND_UNSIGNED, 8},
    {"CallHeader", "flags", 32, 4, KIND_UNSIGNED, 4},
    {"CallHeader", "reserved", 36, 4, KIND_UNSIGNED, 4},
    {"FfiStatus", "code", 0, 4, KIND_SIGNED, 4},
    {"FfiStatus", "msg", 8, 8, KIND_POINTER, 8},
    {"FfiStatus", "msg_len", 16, 8, KIND_UNSIGNED, 8},
    {"FfiStatus", "file", 24, 8, KIND_POINTER_TO_CONST, 8},
    {"FfiStatus", "file_len", 32, 8, KIND_UNSIGNED, 8},
    {"FfiStatus", "line", 40, 4, KIND_UNSIGNED, 4},
    {"AbiLayout", "version", 0, 4, KIND_UNSIGNED, 4},
    {"AbiLayout", "sizes", 4, 16, KIND_UNSIGNED, 4},
    {"AbiLayout", "aligns", 20, 16, KIND_UNSIGNED, 4},
    {"AllocStats", "live_bytes", 0, 8, KIND_UNSIGNED, 8},
    {"AllocStats", "peak_bytes", 8, 8, KIND_UNSIGNED, 8},
    {"AllocStats", "alloc_count", 16, 8, KIND_UNSIGNED, 8},
};

const struct abi_constant frozen_constants[FROZEN_CONSTANTS] = {
    {"GUSSET_ABI_VERSION", 2},
    {"FFI_OK", 0},
    {"FFI_ERR", 1},
    {"FFI_PANIC", 2},
    {"FFI_POISONED", 3},
    {"FFI_BAD_ARG", 4},
    {"GUSSET_FLAG_DIAGNOSTIC_ENGINE", 1},
    {"GUSSET_FLAG_INLINE_COMPLETION", 2},
    {"GUSSET_MAX_POOL_SIZE", 1024},
    {"GUSSET_DEFAULT_POOL_SIZE", 4},
    {"GUSSET_MAX_INLINE_INPUT", 4096},
    {"GUSSET_MAX_BUFFER_BYTES", UINT64_C(1) << 30},
    {"GUSSET_BUFFER_ALIGNMENT", 64},
    {"GUSSET_TAKE_OWNED_FLAG", UINT64_C(1) << 63},
    {"GUSSET_INLINE_RECORD_FLAG", UINT64_C(1) << 63},
    {"GUSSET_INLINE_RESULT_MAX", 48},
    {"GUSSET_INLINE_RECORD_MAX", 64},
    {"GUSSET_RING_OFF_CAPACITY", 0},
    {"GUSSET_RING_OFF_SLOT_BYTES", 8},
    {"GUSSET_RING_OFF_WAITING", 64},
    {"GUSSET_RING_OFF_OVERFLOW", 128},
    {"GUSSET_RING_SLOT_BYTES", 128},
    {"GUSSET_RING_SLOT_OFF_RECORD", 8},
};

bool
frozen_is_export(const char *name)
{
    for (int i = 0; i < FROZEN_EXPORTS; i++)
        if (strcmp(frozen_exports[i], name) == 0)
            return true;
    return false;
}

const char *
field_kind_name(enum field_kind kind)
{
    switch (kind) {
    case KIND_SIGNED:
        return "signed";
    case KIND_UNSIGNED:
        return "unsigned";
    case KIND_POINTER:
        return "pointer";
    case KIND_POINTER_TO_CONST:
        return "pointer to const";
    case KIND_OTHER:
        break;
    }
    return "other";
}
