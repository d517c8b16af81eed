/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * contract.h - docs/contract.md section 1 in C, to be included after gusset.h
 * in any dialect from C99 to C++20: prototypes that conflict with different
 * ones, and assertions, each an array type whose size becomes negative.
 */
#define HOLDS(name, condition) typedef char holds_##name[(condition) ? 1 : -1]
#define SIZE(in, bytes) HOLDS(size_of_##in, sizeof(struct in) == (bytes))
#define PLACE(in, field, at, bytes)             \
    HOLDS(place_of_##in##_##field,              \
          offsetof(struct in, field) == (at) && \
              sizeof(((struct in *)0)->field) == (bytes))
#define VALUE(constant, number) \
    HOLDS(value_of_##constant, (constant) == (number))

#ifdef __cplusplus
extern "C" {
#endif
void gusset_abi_layout(AbiLayout *);
uint32_t gusset_abi_fields(uint32_t *, uint32_t *, uint32_t);
int32_t gusset_init(void);
int32_t gusset_shutdown(uint32_t);
int32_t gusset_handle_open(uint32_t, int32_t, GussetHandle **, FfiStatus *);
int32_t gusset_handle_close(GussetHandle *, FfiStatus *);
int32_t gusset_handle_ring(GussetHandle *, const GussetRing **,
                           const uint8_t **, const uint8_t **, uint64_t *,
                           FfiStatus *);
void gusset_ring_release(const GussetRing *);
int32_t gusset_submit(GussetHandle *, const CallHeader *, const uint8_t *,
                      size_t, uint64_t, uint64_t *, FfiStatus *);
int32_t gusset_take(GussetHandle *, uint64_t, uint64_t *, uint8_t **, size_t *,
                    FfiStatus *);
int32_t gusset_cancel(GussetHandle *, uint64_t, FfiStatus *);
int32_t gusset_cancel_all(GussetHandle *, FfiStatus *);
void gusset_status_free(FfiStatus *);
void gusset_alloc_stats(AllocStats *);
void gusset_drain_logs(uint8_t *, size_t, size_t *);
int32_t gusset_buf_alloc(GussetHandle *, size_t, uint64_t *, uint8_t **,
                         FfiStatus *);
int32_t gusset_buf_free(GussetHandle *, uint64_t, FfiStatus *);
#ifdef __cplusplus
}
#endif

SIZE(CallHeader, 40);
SIZE(FfiStatus, 48);
SIZE(AbiLayout, 36);
SIZE(AllocStats, 24);

PLACE(CallHeader, trace_id, 0, 16);
PLACE(CallHeader, span_id, 16, 8);
PLACE(CallHeader, timeout_ns, 24, 8);
PLACE(CallHeader, flags, 32, 4);
PLACE(CallHeader, reserved, 36, 4);
PLACE(FfiStatus, code, 0, 4);
PLACE(FfiStatus, msg, 8, 8);
PLACE(FfiStatus, msg_len, 16, 8);
PLACE(FfiStatus, file, 24, 8);
PLACE(FfiStatus, file_len, 32, 8);
PLACE(FfiStatus, line, 40, 4);
PLACE(AbiLayout, version, 0, 4);
PLACE(AbiLayout, sizes, 4, 16);
PLACE(AbiLayout, aligns, 20, 16);
PLACE(AllocStats, live_bytes, 0, 8);
PLACE(AllocStats, peak_bytes, 8, 8);
PLACE(AllocStats, alloc_count, 16, 8);

VALUE(GUSSET_ABI_VERSION, 2);
VALUE(FFI_OK, 0);
VALUE(FFI_ERR, 1);
VALUE(FFI_PANIC, 2);
VALUE(FFI_POISONED, 3);
VALUE(FFI_BAD_ARG, 4);
VALUE(GUSSET_FLAG_DIAGNOSTIC_ENGINE, 1u);
VALUE(GUSSET_FLAG_INLINE_COMPLETION, 2u);
VALUE(GUSSET_MAX_POOL_SIZE, 1024);
VALUE(GUSSET_DEFAULT_POOL_SIZE, 4);
VALUE(GUSSET_MAX_INLINE_INPUT, 4096);
VALUE(GUSSET_MAX_BUFFER_BYTES, 1073741824u);
VALUE(GUSSET_BUFFER_ALIGNMENT, 64);
VALUE(GUSSET_TAKE_OWNED_FLAG, UINT64_C(1) << 63);
VALUE(GUSSET_INLINE_RECORD_FLAG, UINT64_C(1) << 63);
VALUE(GUSSET_INLINE_RESULT_MAX, 48);
VALUE(GUSSET_INLINE_RECORD_MAX, 64);
VALUE(GUSSET_RING_OFF_CAPACITY, 0);
VALUE(GUSSET_RING_OFF_SLOT_BYTES, 8);
VALUE(GUSSET_RING_OFF_WAITING, 64);
VALUE(GUSSET_RING_OFF_OVERFLOW, 128);
VALUE(GUSSET_RING_SLOT_BYTES, 128);
VALUE(GUSSET_RING_SLOT_OFF_RECORD, 8);
