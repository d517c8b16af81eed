// SPDX-License-Identifier: MIT OR Apache-2.0
//
// gte_register in another language than the runtime's: panics are exceptions
// here, caught at the engine's edge. Modes and texts are gte_run's.
#include <cstring>
#include <stdexcept>
#include <string>

#include "gusset_engine.h"
#include "test_engine.h"

namespace
{

struct panic : std::runtime_error {
    panic(const gte_answer &answer, uint32_t at)
        : std::runtime_error("panic"), line(at),
          text(reinterpret_cast<const char *>(answer.bytes), answer.len)
    {
    }
    uint32_t line; // 0: no place
    std::string text;
};

gse_call *
call_of(void *context)
{
    return static_cast<gse_call *>(context);
}

int32_t
check(void *context)
{
    return gse_check(call_of(context));
}

int32_t
buffer_new(void *context, uintptr_t, size_t len, uint64_t *id, uint8_t **bytes)
{
    return gse_buffer_new(call_of(context), len, id, bytes);
}

int32_t switch_global(void *, int32_t on);

int32_t
answer(gse_call *call, const gte_answer &answer)
{
    switch (answer.kind) {
    case GTE_BYTES:
        return gse_output_bytes(call, answer.bytes, answer.len);
    case GTE_BUFFER:
        gse_output_buffer_id(call, answer.buffer);
        return GSE_OK;
    case GTE_PANIC:
        throw panic(answer, __LINE__);
    case GTE_PANIC_PLACELESS:
        try {
            throw panic(answer, __LINE__);
        } catch (const panic &) {
            throw panic(answer, 0);
        }
    default:
        gse_output_error(call, answer.bytes, answer.len);
        return GSE_FAILED;
    }
}

int32_t
handle(gse_call *call, void *run)
{
    size_t len = 0;
    const uint8_t *input = gse_input(call, &len);
    const gte_unit unit = {call,
                           gse_header(call)->reserved,
                           input,
                           len,
                           gse_input_buffer(call),
                           check,
                           buffer_new,
                           switch_global};
    gte_answer got;
    int32_t result = GSE_FAILED;
    (run == nullptr ? gte_run : gte_run_global)(&unit, &got);
    try {
        result = answer(call, got);
    } catch (const panic &caught) {
        gse_output_panic(call, caught.line != 0 ? __FILE__ : nullptr,
                         std::strlen(__FILE__), caught.line, caught.text.data(),
                         caught.text.size());
    }
    gte_answer_free(&got);
    return result;
}

int32_t
switch_global(void *, int32_t on)
{
    static char global;
    if (on)
        return gse_register_global(handle, &global);
    gse_clear();
    return gse_register_opcode(GTE_OPCODE, handle, nullptr);
}

} // namespace

int32_t
gte_register()
{
    return gse_register_opcode(GTE_OPCODE, handle, nullptr);
}
