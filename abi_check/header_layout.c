/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/header_layout.h"

#include "gusset.h"

#ifndef HEADER_LAYOUT
#define HEADER_LAYOUT header_layout
#endif

/* By what the type is, never by its name: uint64_t may be either of two. */
#define KIND_OF(expression) \
    _Generic((expression),             \
        signed char: KIND_SIGNED,      \
        short: KIND_SIGNED,            \
        int: KIND_SIGNED,              \
        long: KIND_SIGNED,             \
        long long: KIND_SIGNED,        \
        unsigned char: KIND_UNSIGNED,  \
        unsigned short: KIND_UNSIGNED, \
        unsigned: KIND_UNSIGNED,       \
        unsigned long: KIND_UNSIGNED,  \
        unsigned long long: KIND_UNSIGNED, \
        uint8_t *: KIND_POINTER,       \
        const uint8_t *: KIND_POINTER_TO_CONST, \
        default: KIND_OTHER)

#define FIELD(in, name)                                          \
    {                                                            \
#in, #name, offsetof(in, name), sizeof(((in *)0)->name), \
            KIND_OF(((in *)0)->name), sizeof(((in *)0)->name)    \
    }
#define ARRAY(in, name)                                             \
    {                                                               \
#in, #name, offsetof(in, name), sizeof(((in *)0)->name),    \
            KIND_OF(((in *)0)->name[0]), sizeof(((in *)0)->name[0]) \
    }
#define STRUCT(name)                        \
    {                                       \
#name, sizeof(name), _Alignof(name) \
    }
#define CONSTANT(name)          \
    {                           \
#name, (uint64_t)(name) \
    }

extern const struct header_layout HEADER_LAYOUT;
const struct header_layout HEADER_LAYOUT = {
    .layout = {.side = "gusset.h as compiled",
               .tells = LAYOUT_ALIGNS | LAYOUT_KINDS | LAYOUT_CONSTNESS |
                        LAYOUT_ELEMENTS,
               .structs = {{.is = STRUCT(CallHeader),
                            .fields = {ARRAY(CallHeader, trace_id),
                                       ARRAY(CallHeader, span_id),
                                       FIELD(CallHeader, timeout_ns),
                                       FIELD(CallHeader, flags),
                                       FIELD(CallHeader, reserved)},
                            .field_count = 5},
                           {.is = STRUCT(FfiStatus),
                            .fields = {FIELD(FfiStatus, code),
                                       FIELD(FfiStatus, msg),
                                       FIELD(FfiStatus, msg_len),
                                       FIELD(FfiStatus, file),
                                       FIELD(FfiStatus, file_len),
                                       FIELD(FfiStatus, line)},
                            .field_count = 6},
                           {.is = STRUCT(AbiLayout),
                            .fields = {FIELD(AbiLayout, version),
                                       ARRAY(AbiLayout, sizes),
                                       ARRAY(AbiLayout, aligns)},
                            .field_count = 3},
                           {.is = STRUCT(AllocStats),
                            .fields = {FIELD(AllocStats, live_bytes),
                                       FIELD(AllocStats, peak_bytes),
                                       FIELD(AllocStats, alloc_count)},
                            .field_count = 3}}},
    .constants = {CONSTANT(GUSSET_ABI_VERSION),
                  CONSTANT(FFI_OK),
                  CONSTANT(FFI_ERR),
                  CONSTANT(FFI_PANIC),
                  CONSTANT(FFI_POISONED),
                  CONSTANT(FFI_BAD_ARG),
                  CONSTANT(GUSSET_FLAG_DIAGNOSTIC_ENGINE),
                  CONSTANT(GUSSET_FLAG_INLINE_COMPLETION),
                  CONSTANT(GUSSET_MAX_POOL_SIZE),
                  CONSTANT(GUSSET_DEFAULT_POOL_SIZE),
                  CONSTANT(GUSSET_MAX_INLINE_INPUT),
                  CONSTANT(GUSSET_MAX_BUFFER_BYTES),
                  CONSTANT(GUSSET_BUFFER_ALIGNMENT),
                  CONSTANT(GUSSET_TAKE_OWNED_FLAG),
                  CONSTANT(GUSSET_INLINE_RECORD_FLAG),
                  CONSTANT(GUSSET_INLINE_RESULT_MAX),
                  CONSTANT(GUSSET_INLINE_RECORD_MAX),
                  CONSTANT(GUSSET_RING_OFF_CAPACITY),
                  CONSTANT(GUSSET_RING_OFF_SLOT_BYTES),
                  CONSTANT(GUSSET_RING_OFF_WAITING),
                  CONSTANT(GUSSET_RING_OFF_OVERFLOW),
                  CONSTANT(GUSSET_RING_SLOT_BYTES),
                  CONSTANT(GUSSET_RING_SLOT_OFF_RECORD)}};
