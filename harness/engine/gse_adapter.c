/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The test engine for implementations with the API of gusset_engine.h. The
 * handler owns nothing when it panics: gse_panic_bytes leaves it by longjmp.
 */
#include "gusset_engine.h"
#include "test_engine.h"

static int32_t
check(void *context)
{
    return gse_check(context);
}

/* The call knows its handle. */
static int32_t
buffer_new(void *context, uintptr_t handle, size_t len, uint64_t *id,
           uint8_t **bytes)
{
    (void)handle;
    return gse_buffer_new(context, len, id, bytes);
}

static int32_t switch_global(void *context, int32_t on);

static void
describe(struct gte_unit *unit, gse_call *call)
{
    *unit = (struct gte_unit){.context = call,
                              .opcode = gse_header(call)->reserved,
                              .input_buffer = gse_input_buffer(call),
                              .check = check,
                              .buffer_new = buffer_new,
                              .global = switch_global};
    unit->input = gse_input(call, &unit->len);
}

static int32_t
give(gse_call *call, const struct gte_answer *answer)
{
    static const char file[] = "caught-inside";
    switch (answer->kind) {
    case GTE_BYTES:
        return gse_output_bytes(call, answer->bytes, answer->len);
    case GTE_BUFFER:
        gse_output_buffer_id(call, answer->buffer);
        return GSE_OK;
    case GTE_PANIC_PLACELESS:
        /* How an engine reports a panic that it caught itself. */
        gse_output_panic(call, file, sizeof file - 1, 1, "caught", 6);
        gse_panic_bytes(NULL, 0, answer->bytes, answer->len);
    case GTE_PANIC:
        gse_panic_bytes(__FILE__, __LINE__, answer->bytes, answer->len);
    default:
        gse_output_error(call, answer->bytes, answer->len);
        return GSE_FAILED;
    }
}

static int32_t
handle_opcode(gse_call *call, void *user)
{
    struct gte_unit unit;
    struct gte_answer answer;
    (void)user;
    describe(&unit, call);
    gte_run(&unit, &answer);
    int32_t result = give(call, &answer);
    gte_answer_free(&answer);
    return result;
}

static int32_t
handle_global(gse_call *call, void *user)
{
    struct gte_unit unit;
    struct gte_answer answer;
    (void)user;
    describe(&unit, call);
    gte_run_global(&unit, &answer);
    int32_t result = give(call, &answer);
    gte_answer_free(&answer);
    return result;
}

/*
 * gse_clear takes the opcode away as well, for a moment: the cases submit
 * nothing for it while mode 11 runs.
 */
static int32_t
switch_global(void *context, int32_t on)
{
    (void)context;
    if (on) {
        return gse_register_global(handle_global, NULL);
    }
    gse_clear();
    return gse_register_opcode(GTE_OPCODE, handle_opcode, NULL);
}

int32_t
gte_register_over_gse(void)
{
    return gse_register_opcode(GTE_OPCODE, handle_opcode, NULL);
}
