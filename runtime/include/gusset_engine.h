/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * gusset_engine.h - what an engine may call (the guest's side of gusset.h).
 *
 * An engine is a handler that the runtime calls on one of its worker threads
 * (at least 8 MiB of stack) for each unit of work. It reads the header and
 * the input, sets one output, and returns. docs/contract.md, section 4.
 *
 * What a panic may cross. GSE_PANIC never returns: the runtime leaves the
 * handler by longjmp and runs no more of its code. That is sound only over
 * frames that own nothing: no C++ destructors, no Rust drops, no
 * __attribute__((cleanup)), no locks held, no Go frames. A C++ or Rust engine
 * catches its own unwinding at its edge and reports it with
 * gse_output_panic; an exception or unwind must never leave a handler.
 * What no runtime can survive: abort, a stack overflow, SIGSEGV, a second
 * panic inside a Rust drop, a Rust build with panic = "abort".
 */
#ifndef GUSSET_ENGINE_H
#define GUSSET_ENGINE_H

#include <stdarg.h>

#include "gusset.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define GSE_PRINTF(at, first) __attribute__((__format__(__printf__, at, first)))
#define GSE_NORETURN __attribute__((__noreturn__))
#else
#define GSE_PRINTF(at, first)
#define GSE_NORETURN
#endif

#define GSE_API_VERSION 1

/* One call of a handler; valid on its thread until the handler returns. */
typedef struct gse_call gse_call;

/*
 * A handler returns GSE_OK with at most one output set (none: an empty
 * result), or GSE_FAILED with an error text set by gse_output_error. A
 * handler that returns GSE_FAILED without a text, or sets two outputs, is
 * reported as an engine error that says so. It may be called on several
 * threads at once. user is the pointer given at registration.
 */
typedef int32_t (*gse_handler)(gse_call *call, void *user);
#define GSE_OK 0
#define GSE_FAILED 1

/* gse_api_version returns GSE_API_VERSION of the runtime; any thread. */
uint32_t gse_api_version(void);

/*
 * Registration is process-wide, legal while jobs run, and blocks none of
 * them. GSE_OK, or GSE_FAILED: opcode 0, a second handler for the same opcode
 * (the first stays), a second global handler, no memory. user must stay valid
 * until gse_clear has returned and no job of that handler runs any more.
 */
int32_t gse_register_global(gse_handler handler, void *user);
int32_t gse_register_opcode(uint32_t opcode, gse_handler handler, void *user);

/* gse_clear removes all handlers; jobs that already run go on. */
void gse_clear(void);

/* The submission's own header, byte for byte; valid during the call. */
const CallHeader *gse_header(const gse_call *call);

/* The input, read-only, valid during the call; NULL when *len is 0. */
const uint8_t *gse_input(const gse_call *call, size_t *len);

/* The id of the input buffer, or 0 when the input came inline. */
uint64_t gse_input_buffer(const gse_call *call);

/*
 * gse_check tells whether to go on: GSE_OK, or GSE_FAILED after a cancel, a
 * passed deadline or a shutdown. After GSE_FAILED an engine that returns
 * GSE_FAILED is reported with the canonical cancellation text whatever words
 * it used [i3.engine-wording]. Costs a few loads and one clock read; call it
 * every millisecond or less, and outside the innermost loop.
 */
int32_t gse_check(gse_call *call);

/* The output is a copy of len bytes. GSE_FAILED: no memory, or too long. */
int32_t gse_output_bytes(gse_call *call, const void *bytes, size_t len);

/*
 * The output is a runtime buffer of len zero bytes, built in place and handed
 * to the host without a copy. NULL: no memory, len 0 or over
 * GUSSET_MAX_BUFFER_BYTES. Valid during the call, until another output is set.
 */
uint8_t *gse_output_buffer(gse_call *call, size_t len);

/*
 * A new buffer on this call's handle that the host does not hold, to be given
 * as an output by gse_output_buffer_id in this or a later call. Owned by the
 * handle until then. GSE_FAILED: as gse_output_buffer.
 */
int32_t gse_buffer_new(gse_call *call, size_t len, uint64_t *id,
                       uint8_t **bytes);

/* The output is the buffer id; judged when the handler returns [i1.output-*].
 */
void gse_output_buffer_id(gse_call *call, uint64_t id);

/*
 * The error text (len bytes, any bytes: invalid UTF-8 is replaced, over
 * 32 768 bytes is cut) that goes with GSE_FAILED. Copied.
 */
void gse_output_error(gse_call *call, const void *text, size_t len);
void gse_output_errorf(gse_call *call, const char *format, ...)
    GSE_PRINTF(2, 3);

/*
 * Reports a panic that the engine caught itself (C++, Rust); the handler then
 * returns, with any value. file may be NULL: place unknown. file must be
 * static: it is not copied.
 */
void gse_output_panic(gse_call *call, const char *file, size_t file_len,
                      uint32_t line, const void *text, size_t text_len);

/*
 * Ends the job as a panic with text and place and poisons the handle. Never
 * returns; see "What a panic may cross". Only on a worker inside a handler:
 * elsewhere it aborts the process. file is a NUL-terminated static string or
 * NULL (place unknown).
 */
#define GSE_PANIC(...) gse_panic(__FILE__, __LINE__, __VA_ARGS__)
GSE_NORETURN void gse_panic(const char *file, uint32_t line, const char *format,
                            ...) GSE_PRINTF(3, 4);
GSE_NORETURN void gse_vpanic(const char *file, uint32_t line,
                             const char *format, va_list args);
GSE_NORETURN void gse_panic_bytes(const char *file, uint32_t line,
                                  const void *text, size_t len);

/*
 * Appends one line (len bytes; a newline is added) to the process-wide log
 * ring. Any thread; never blocks on a reader; embedded newlines and invalid
 * UTF-8 are replaced.
 */
void gse_log(const char *text, size_t len);

/*
 * Memory counted in gusset_alloc_stats. malloc's rules: NULL for lack of
 * memory, freed only by gse_free (NULL: no-op). Any thread.
 */
void *gse_alloc(size_t size);
void *gse_realloc(void *memory, size_t size);
void gse_free(void *memory);

#ifdef __cplusplus
}
#endif

#endif /* GUSSET_ENGINE_H */
