/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "table.h"

#define STRUCT(name, size, align, fields)                                      \
    {                                                                          \
#name, size, align, (uint32_t)sizeof(name), (uint32_t) _Alignof(name), \
            fields                                                             \
    }
#define FIELD(in, field, offset, size)                               \
    {                                                                \
#in "." #field, offset, size, (uint32_t)offsetof(in, field), \
            (uint32_t)sizeof(((in *)0)->field)                       \
    }

const struct abi_struct_row conform_abi_structs[STRUCTS] = {
    STRUCT(CallHeader, 40, 8, 5),
    STRUCT(FfiStatus, 48, 8, 6),
    STRUCT(AbiLayout, 36, 4, 3),
    STRUCT(AllocStats, 24, 8, 3),
};

const struct abi_field_row conform_abi_fields[FIELDS] = {
    FIELD(CallHeader, trace_id, 0, 16),    FIELD(CallHeader, span_id, 16, 8),
    FIELD(CallHeader, timeout_ns, 24, 8),  FIELD(CallHeader, flags, 32, 4),
    FIELD(CallHeader, reserved, 36, 4),    FIELD(FfiStatus, code, 0, 4),
    FIELD(FfiStatus, msg, 8, 8),           FIELD(FfiStatus, msg_len, 16, 8),
    FIELD(FfiStatus, file, 24, 8),         FIELD(FfiStatus, file_len, 32, 8),
    FIELD(FfiStatus, line, 40, 4),         FIELD(AbiLayout, version, 0, 4),
    FIELD(AbiLayout, sizes, 4, 16),        FIELD(AbiLayout, aligns, 20, 16),
    FIELD(AllocStats, live_bytes, 0, 8),   FIELD(AllocStats, peak_bytes, 8, 8),
    FIELD(AllocStats, alloc_count, 16, 8),
};
