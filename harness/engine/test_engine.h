/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * test_engine.h - the test engine of docs/contract.md, section 4. How an
 * implementation in any language offers it: README.md beside this file.
 *
 * gte_register is all that the harness calls. What the engine does with a
 * unit is written once, in test_engine.c, as data in and data out: no function
 * here unwinds or calls back but through the three functions of the unit, so
 * a handler in C++, Rust, Zig or Go calls it and then answers in its own way.
 */
#ifndef GUSSET_TEST_ENGINE_H
#define GUSSET_TEST_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GTE_OPCODE 0x47540001u

/*
 * Provided by the implementation: registers a handler for GTE_OPCODE. 0: done;
 * anything else: refused. Called once in a process, before the first submit,
 * from the thread that loaded the library, with no handle open.
 */
int32_t gte_register(void);

/*
 * A unit of work as its handler got it. The three functions are called before
 * gte_run returns, on its thread, with `context` as their first argument; they
 * must return.
 */
struct gte_unit {
    void *context;         /* anything; only handed on */
    uint32_t opcode;       /* `reserved` of the header that the handler got */
    const uint8_t *input;  /* NULL when len is 0 */
    size_t len;            /* bytes */
    uint64_t input_buffer; /* id of the buffer that input lies in; 0: inline */

    /* The implementation's check: 0 goes on, anything else stops. */
    int32_t (*check)(void *context);

    /*
     * Makes a buffer of len bytes that the host does not hold, on the handle
     * of this unit; `handle` is its address as the host knows it, for those
     * that cannot tell otherwise. 0 and both out-parameters, or anything else
     * and neither.
     */
    int32_t (*buffer_new)(void *context, uintptr_t handle, size_t len,
                          uint64_t *id, uint8_t **bytes);

    /*
     * on: registers a global handler that answers with gte_run_global. Else
     * removes it; GTE_OPCODE stays. 0: done.
     */
    int32_t (*global)(void *context, int32_t on);
};

/* What the handler then does. */
enum gte_kind {
    GTE_BYTES = 0,          /* returns `bytes` */
    GTE_BUFFER = 1,         /* returns the buffer `buffer`, whatever it is */
    GTE_ERROR = 2,          /* fails with the text `bytes` */
    GTE_PANIC = 3,          /* panics with the text `bytes`, here */
    GTE_PANIC_PLACELESS = 4 /* raises a panic with a place and catches it; then
                             * panics with the text `bytes` and no place */
};

struct gte_answer {
    uint32_t kind; /* enum gte_kind */
    /* Any bytes, also NUL and what is not UTF-8; NULL when len is 0. They lie
     * in the unit's input or in the answer, until gte_answer_free. */
    const uint8_t *bytes;
    size_t len;
    uint64_t buffer;
    char text[104]; /* the engine's own words */
    void *owned;
};

/*
 * Does what input[0] says (modes 1 and 2, 0 and 5, ... of the table) and fills
 * in *answer. Sleeps on this thread for modes 7, 8 and 9. Keeps nothing: may
 * run on any number of threads at once.
 */
void gte_run(const struct gte_unit *unit, struct gte_answer *answer);

/* The same for the global handler that mode 10 registers: the byte 0x47 and
 * the input. Of the unit only opcode, input and len are looked at. */
void gte_run_global(const struct gte_unit *unit, struct gte_answer *answer);

/* Gives back what the answer owns, once, after `bytes` were copied; a handler
 * that panics may leave it out, then there is nothing to give back. */
void gte_answer_free(struct gte_answer *answer);

/*
 * For an implementation with the API of gusset_engine.h: the body of
 * gte_register (gse_adapter.c). 0, or GSE_FAILED as gse_register_opcode says.
 */
int32_t gte_register_over_gse(void);

#ifdef __cplusplus
}
#endif

#endif /* GUSSET_TEST_ENGINE_H */
