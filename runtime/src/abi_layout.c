/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The self-report [i6.layout, i6.fields], made from the structs themselves,
 * and the contract's own numbers asserted against them.
 */
#include <stddef.h>

#include "export.h"

/* Struct, field, offset, size: the table of section 1.1. */
/* clang-format off */
#define FOR_EACH_FIELD(X) \
    X(CallHeader, trace_id, 0, 16) \
    X(CallHeader, span_id, 16, 8) \
    X(CallHeader, timeout_ns, 24, 8) \
    X(CallHeader, flags, 32, 4) \
    X(CallHeader, reserved, 36, 4) \
    X(FfiStatus, code, 0, 4) \
    X(FfiStatus, msg, 8, 8) \
    X(FfiStatus, msg_len, 16, 8) \
    X(FfiStatus, file, 24, 8) \
    X(FfiStatus, file_len, 32, 8) \
    X(FfiStatus, line, 40, 4) \
    X(AbiLayout, version, 0, 4) \
    X(AbiLayout, sizes, 4, 16) \
    X(AbiLayout, aligns, 20, 16) \
    X(AllocStats, live_bytes, 0, 8) \
    X(AllocStats, peak_bytes, 8, 8) \
    X(AllocStats, alloc_count, 16, 8)
/* clang-format on */

#define CHECK(type, name, at, bytes)                         \
    _Static_assert(offsetof(type, name) == (at) &&           \
                       sizeof(((type *)0)->name) == (bytes), \
                   #type "." #name " is not where the contract has it");
FOR_EACH_FIELD(CHECK)

struct field {
    uint32_t offset;
    uint32_t size;
};

#define REPORT(type, name, at, bytes) \
    {offsetof(type, name), sizeof(((type *)0)->name)},
static const struct field fields[] = {FOR_EACH_FIELD(REPORT)};

#define FIELDS ((uint32_t)(sizeof fields / sizeof fields[0]))

_Static_assert(sizeof fields / sizeof fields[0] == 17, "17 fields");
_Static_assert(sizeof(CallHeader) == 40 && _Alignof(CallHeader) == 8, "");
_Static_assert(sizeof(FfiStatus) == 48 && _Alignof(FfiStatus) == 8, "");
_Static_assert(sizeof(AbiLayout) == 36 && _Alignof(AbiLayout) == 4, "");
_Static_assert(sizeof(AllocStats) == 24 && _Alignof(AllocStats) == 8, "");

void
gusset_abi_layout(AbiLayout *out)
{
    static const AbiLayout layout = {
        GUSSET_ABI_VERSION,
        {sizeof(CallHeader), sizeof(FfiStatus), sizeof(AbiLayout),
         sizeof(AllocStats)},
        {_Alignof(CallHeader), _Alignof(FfiStatus), _Alignof(AbiLayout),
         _Alignof(AllocStats)},
    };

    if (out != NULL)
        *out = layout;
}

uint32_t
gusset_abi_fields(uint32_t *offsets, uint32_t *sizes, uint32_t cap)
{
    uint32_t i;

    for (i = 0; i < FIELDS && i < cap; i++) {
        if (offsets != NULL)
            offsets[i] = fields[i].offset;
        if (sizes != NULL)
            sizes[i] = fields[i].size;
    }
    return FIELDS;
}
