/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * engine.h - jobs of the test engine (docs/contract.md, section 4), for cases
 * with .needs = "test-engine". They use no other engine, so that they also
 * reach an implementation that has an engine of its own.
 */
#ifndef CONFORM_CASES_ENGINE_H
#define CONFORM_CASES_ENGINE_H

#include "../jobs.h"

#define TE_OPCODE UINT32_C(0x47540001)

/* input[0] of a unit. */
enum te_mode {
    TE_ERROR = 0,           /* the error text input[1..] */
    TE_PANIC = 1,           /* a panic with text input[1..] */
    TE_PANIC_PLACELESS = 2, /* the same without a place, after another */
    TE_BUFFER = 3,          /* a new buffer of input[9..], returned */
    TE_KEEP = 4,            /* the same kept; its id as 8 bytes */
    TE_ID = 5,              /* the buffer id at 1..9 as output */
    TE_OWN_INPUT = 6,       /* its input buffer as output */
    TE_SLEEP = 7,           /* sleeps u16 at 1..3 x 100 ms, then echoes */
    TE_UNTIL = 8,           /* until a check fails; then the error input[1..] */
    TE_LATE_ERROR = 9,      /* 100 ms without a check; then the same */
    TE_GLOBAL_ON = 10,      /* a global handler: 0x47 and its input */
    TE_GLOBAL_OFF = 11
};

/* Where TE_BUFFER and TE_KEEP begin the bytes of the buffer. */
#define TE_BYTES_AT 9u

#define TE_NO_HANDLER "gusset: no engine handler registered"

static inline CallHeader
te_header(uint32_t flags, uint64_t timeout_ns)
{
    CallHeader header = job_header(flags, timeout_ns);
    header.reserved = TE_OPCODE;
    return header;
}

/* Input of any length: inline as far as it goes, else in a buffer that is
 * freed at once [i1.free-under-job]. */
static inline uint64_t
te_submit_header(struct host *host, const CallHeader *header, const void *input,
                 size_t len)
{
    if (len <= GUSSET_MAX_INLINE_INPUT)
        return host_submit_patiently(host, header, input, len);
    uint64_t id = host_buffer(host, input, len, NULL);
    uint64_t ticket = host_submit_buffer(host, header, id);
    host_buffer_free(host, id);
    return ticket;
}

/* mode, then the bytes. */
static inline uint64_t
te_submit(struct host *host, uint32_t flags, uint64_t timeout_ns,
          enum te_mode mode, const void *bytes, size_t len)
{
    CallHeader header = te_header(flags, timeout_ns);
    uint8_t *input = conform_pattern(len + 1, 0, 0);
    input[0] = (uint8_t)mode;
    if (len > 0)
        memcpy(input + 1, bytes, len);
    return te_submit_header(host, &header, input, len + 1);
}

static inline struct outcome
te_call(struct host *host, enum te_mode mode, const void *bytes, size_t len)
{
    return job_finish(host, te_submit(host, INLINE, 0, mode, bytes, len));
}

/* TE_BUFFER or TE_KEEP of these bytes. */
static inline uint64_t
te_submit_make(struct host *host, uint32_t flags, enum te_mode mode,
               const void *bytes, size_t len)
{
    CallHeader header = te_header(flags, 0);
    uintptr_t handle = (uintptr_t)host_handle(host);
    uint8_t *input = conform_pattern(TE_BYTES_AT + len, 0, 0);
    memset(input, 0, TE_BYTES_AT);
    input[0] = (uint8_t)mode;
    memcpy(input + 1, &handle, sizeof handle);
    if (len > 0)
        memcpy(input + TE_BYTES_AT, bytes, len);
    return te_submit_header(host, &header, input, TE_BYTES_AT + len);
}

/* A buffer that the engine made and the host does not hold. */
static inline uint64_t
te_made(struct host *host, const void *bytes, size_t len)
{
    uint64_t ticket = te_submit_make(host, 0, TE_KEEP, bytes, len);
    struct outcome made = job_finish(host, ticket);
    expect_code(FFI_OK, made.code, "the engine makes a buffer: %s",
                made.msg != NULL ? made.msg : "made");
    expect_u64(8, made.len, "bytes of the id of a buffer that was made");
    return get_u64le(made.bytes);
}

static inline struct outcome
te_return_id(struct host *host, uint64_t id)
{
    uint8_t bytes[8];
    put_u64le(bytes, id);
    return te_call(host, TE_ID, bytes, sizeof bytes);
}

/* An echo through the opcode arrives, and a buffer can be had. */
static inline void
te_expect_healthy(struct host *host, const char *what)
{
    static const uint8_t bytes[] = {0, 0, 0x5a, 0xa5};
    static const uint8_t right[] = {TE_SLEEP, 0, 0, 0x5a, 0xa5};
    struct outcome echo = te_call(host, TE_SLEEP, bytes, sizeof bytes);
    expect_success_is(&echo, right, sizeof right, what);
    host_buffer_free(host, host_buffer(host, NULL, 64, NULL));
}

/* The latch of i2.poison-latch, by opcode. */
static inline void
te_expect_poisoned(struct host *host, const char *what)
{
    CallHeader header = te_header(0, 0);
    struct outcome refusal = host_try_submit(host, &header, "\7\0\0", 3, 0);
    expect_code(FFI_POISONED, refusal.code, "%s: submit on a poisoned handle",
                what);
    expect_text(TEXT_CONTAINS, "handle is poisoned", refusal.msg,
                refusal.msg_len, "%s: text of the refused submit", what);
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.buf_alloc(host_handle(host), 64, &id, &bytes, &status);
    refusal = conform_settle(code, &status);
    expect_code(FFI_POISONED, refusal.code,
                "%s: buf_alloc on a poisoned handle", what);
}

/*
 * What an implementation sets up with its first jobs is there afterwards, so
 * that live_bytes can be compared around the next ones.
 */
static inline void
te_warm_up(struct host *host)
{
    static const size_t sizes[] = {1, 9000};
    for (size_t i = 0; i < 4; i++) {
        size_t len = sizes[i % 2];
        const uint8_t *bytes = conform_pattern(len, 0, i);
        struct outcome o = te_return_id(host, te_made(host, bytes, len));
        expect_success_is(&o, bytes, len, "a result, for the warm-up");
    }
    te_expect_healthy(host, "in the warm-up");
}

/*
 * A unit that stays inside the engine until te_release. Behind it an echo goes
 * through on another worker of the pool (2 at least): units start in the order
 * of their submission [i4.queue-order], so it has begun when this returns.
 */
static inline uint64_t
te_hold(struct host *host, const char *text)
{
    uint64_t ticket = te_submit(host, INLINE, 0, TE_UNTIL, text, strlen(text));
    struct outcome echo = te_call(host, TE_SLEEP, "\0", 2);
    expect_code(FFI_OK, echo.code, "an echo beside a unit that stays inside");
    return ticket;
}

static inline void
te_release(struct host *host, uint64_t ticket)
{
    FfiStatus status = conform_dirty_status();
    int32_t code = api.cancel(host_handle(host), ticket, &status);
    expect_code(FFI_OK, conform_settle(code, &status).code, "cancel");
}

/* The end of a held unit. */
static inline void
te_expect_cancelled(struct host *host, uint64_t ticket, const char *what)
{
    struct outcome outcome = job_finish(host, ticket);
    expect_failure_is(&outcome, EXPLICIT_TEXT, what);
}

/* Registers or removes the global handler. */
static inline void
te_global(struct host *host, enum te_mode on_or_off)
{
    struct outcome outcome = te_call(host, on_or_off, NULL, 0);
    expect_code(FFI_OK, outcome.code, "the global handler is %s: %s",
                on_or_off == TE_GLOBAL_ON ? "registered" : "removed",
                outcome.msg != NULL ? outcome.msg : "done");
}

#endif /* CONFORM_CASES_ENGINE_H */
