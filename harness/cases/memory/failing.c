/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The list of calls that fail. The clauses that are judged over the whole of
 * it are in sweep.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "failing.h"

#define IS(code) (1u << (code))
#define REFUSED (IS(FFI_ERR) | IS(FFI_BAD_ARG))

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};
static const CallHeader no_engine = {.flags = 0};
static const CallHeader unknown_flag = {.flags = DIAGNOSTIC | 4};
static const CallHeader unknown_opcode = {.flags = DIAGNOSTIC, .reserved = 77};

#define H(which) host_handle(rig->which)
#define CALL(name, body)                                                  \
    static int32_t name(struct rig *rig, struct outs *o, uint64_t ticket, \
                        FfiStatus *status)                                \
    {                                                                     \
        (void)rig, (void)o, (void)ticket;                                 \
        return body;                                                      \
    }
#define SIZE_OUT ((size_t *)(void *)&o->len)

/* ---- The calls ---------------------------------------------------------- */

CALL(open_pool,
     api.handle_open(1025, host_write_fd(rig->healthy), &o->handle, status))
CALL(open_negative, api.handle_open(1, -1, &o->handle, status))
CALL(open_closed, api.handle_open(1, rig->closed_fd, &o->handle, status))
CALL(open_null, api.handle_open(1, host_write_fd(rig->healthy), NULL, status))
CALL(close_null, api.handle_close(NULL, status))
CALL(ring_null_handle, api.handle_ring(NULL, &o->ring, &o->shared, &o->slots,
                                       &o->capacity, status))
CALL(ring_null_out, api.handle_ring(H(healthy), &o->ring, &o->shared, NULL,
                                    &o->capacity, status))
CALL(ring_null_ring, api.handle_ring(H(healthy), NULL, &o->shared, &o->slots,
                                     &o->capacity, status))
CALL(ring_null_shared, api.handle_ring(H(healthy), &o->ring, NULL, &o->slots,
                                       &o->capacity, status))
CALL(ring_null_capacity,
     api.handle_ring(H(healthy), &o->ring, &o->shared, &o->slots, NULL, status))
CALL(ring_second, api.handle_ring(H(ringed), &o->ring, &o->shared, &o->slots,
                                  &o->capacity, status))
CALL(submit_null_handle,
     api.submit(NULL, &diagnostic, NULL, 0, 0, &o->ticket, status))
CALL(submit_null_header,
     api.submit(H(healthy), NULL, NULL, 0, 0, &o->ticket, status))
CALL(submit_null_out,
     api.submit(H(healthy), &diagnostic, NULL, 0, 0, NULL, status))
CALL(submit_null_input,
     api.submit(H(healthy), &diagnostic, NULL, 1, 0, &o->ticket, status))
CALL(submit_long,
     api.submit(H(healthy), &diagnostic, conform_pattern(4097, 0, 0), 4097, 0,
                &o->ticket, status))
CALL(submit_longest, api.submit(H(healthy), &diagnostic, (uint8_t *)o, SIZE_MAX,
                                0, &o->ticket, status))
CALL(submit_bit_63,
     api.submit(H(ringed), &diagnostic, NULL, 0,
                rig->foreign_buffer | UINT64_C(1) << 63, &o->ticket, status))
CALL(submit_flag,
     api.submit(H(healthy), &unknown_flag, NULL, 0, 0, &o->ticket, status))
CALL(submit_unknown_buffer, api.submit(H(healthy), &diagnostic, NULL, 0,
                                       UINT64_C(1) << 62, &o->ticket, status))
CALL(submit_freed_buffer, api.submit(H(healthy), &diagnostic, NULL, 0,
                                     rig->freed_buffer, &o->ticket, status))
CALL(submit_foreign_buffer, api.submit(H(healthy), &diagnostic, NULL, 0,
                                       rig->foreign_buffer, &o->ticket, status))
CALL(submit_poisoned,
     api.submit(H(poisoned), &diagnostic, NULL, 0, 0, &o->ticket, status))
CALL(submit_full,
     api.submit(H(full), &diagnostic, NULL, 0, 0, &o->ticket, status))
CALL(submit_healthy,
     api.submit(H(healthy), &diagnostic, NULL, 0, 0, &o->ticket, status))
CALL(take_null_handle, api.take(NULL, 1, &o->id, &o->ptr, SIZE_OUT, status))
CALL(take_null_id,
     api.take(H(ringed), rig->foreign_ticket, NULL, &o->ptr, SIZE_OUT, status))
CALL(take_null_ptr,
     api.take(H(ringed), rig->foreign_ticket, &o->id, NULL, SIZE_OUT, status))
CALL(take_null_len,
     api.take(H(ringed), rig->foreign_ticket, &o->id, &o->ptr, NULL, status))
CALL(take_unknown,
     api.take(H(healthy), UINT64_C(1) << 62, &o->id, &o->ptr, SIZE_OUT, status))
CALL(take_foreign, api.take(H(healthy), rig->foreign_ticket, &o->id, &o->ptr,
                            SIZE_OUT, status))
CALL(take_ended,
     api.take(H(healthy), ticket, &o->id, &o->ptr, SIZE_OUT, status))
CALL(take_zero, api.take(H(healthy), 0, &o->id, &o->ptr, SIZE_OUT, status))
CALL(take_bit_63, api.take(H(ringed), rig->foreign_ticket | UINT64_C(1) << 63,
                           &o->id, &o->ptr, SIZE_OUT, status))
CALL(take_unfinished,
     api.take(H(full), ticket, &o->id, &o->ptr, SIZE_OUT, status))
CALL(take_panicked,
     api.take(H(poisoned), ticket, &o->id, &o->ptr, SIZE_OUT, status))
CALL(cancel_null, api.cancel(NULL, 1, status))
CALL(cancel_all_null, api.cancel_all(NULL, status))
CALL(alloc_null_handle, api.buf_alloc(NULL, 64, &o->id, &o->ptr, status))
CALL(alloc_null_id, api.buf_alloc(H(healthy), 64, NULL, &o->ptr, status))
CALL(alloc_null_ptr, api.buf_alloc(H(healthy), 64, &o->id, NULL, status))
CALL(alloc_zero, api.buf_alloc(H(healthy), 0, &o->id, &o->ptr, status))
CALL(alloc_huge, api.buf_alloc(H(healthy), (size_t)GUSSET_MAX_BUFFER_BYTES + 1,
                               &o->id, &o->ptr, status))
CALL(alloc_longest,
     api.buf_alloc(H(healthy), SIZE_MAX, &o->id, &o->ptr, status))
CALL(alloc_poisoned, api.buf_alloc(H(poisoned), 64, &o->id, &o->ptr, status))
CALL(free_null, api.buf_free(NULL, 1, status))

/* ---- Preparations ------------------------------------------------------- */

static uint64_t
job(struct host *host, const CallHeader *header, const void *input, size_t len)
{
    uint64_t ticket = host_submit_header(host, header, input, len);
    host_wait(host, ticket);
    return ticket;
}

static uint64_t
job_without_engine(struct rig *rig)
{
    return job(rig->healthy, &no_engine, "\1", 1);
}

static uint64_t
job_without_opcode(struct rig *rig)
{
    return job(rig->healthy, &unknown_opcode, "\1", 1);
}

static uint64_t
job_with_error(struct rig *rig)
{
    return job(rig->healthy, &diagnostic, "\20", 1);
}

static uint64_t
job_past_deadline(struct rig *rig)
{
    CallHeader late = diagnostic;
    late.timeout_ns = 1;
    return job(rig->healthy, &late, "\5\3", 2);
}

static uint64_t
job_cancelled(struct rig *rig)
{
    uint64_t ticket = host_submit(rig->healthy, DIAGNOSTIC, "\5\377", 2);
    expect_code(FFI_OK, api.cancel(H(healthy), ticket, NULL), "cancel");
    host_wait(rig->healthy, ticket);
    return ticket;
}

static uint64_t
job_taken(struct rig *rig)
{
    uint64_t ticket = job(rig->healthy, &diagnostic, "\0x", 2);
    expect_code(FFI_OK, host_take(rig->healthy, ticket).code, "take");
    return ticket;
}

/* Its record says it all, or it is taken here. */
static uint64_t
job_inlined(struct rig *rig)
{
    uint64_t ticket = host_submit(rig->healthy, DIAGNOSTIC | INLINE, "\0x", 2);
    struct completion done = host_wait(rig->healthy, ticket);
    expect_code(FFI_OK, host_outcome(rig->healthy, &done).code, "an echo");
    return ticket;
}

/* Expired before a worker came to it. */
static uint64_t
job_expired_in_queue(struct rig *rig)
{
    CallHeader late = diagnostic;
    late.timeout_ns = 1;
    host_submit(rig->healthy, DIAGNOSTIC, "\11\2", 2);
    return job(rig->healthy, &late, "\5\3", 2);
}

static uint64_t
job_panicked(struct rig *rig)
{
    host_close(rig->poisoned);
    rig->poisoned = host_open_with(1, CONFORM_PIPE);
    return job(rig->poisoned, &diagnostic, "\1", 1);
}

static uint64_t
shut_down(struct rig *rig)
{
    (void)rig;
    expect_code(FFI_OK, api.shutdown(5000), "shutdown");
    return 0;
}

static void
re_arm(struct rig *rig)
{
    (void)rig;
    expect_code(FFI_OK, api.init(), "init");
}

static uint64_t
fill(struct rig *rig)
{
    uint64_t first = host_submit_patiently(rig->full, &diagnostic, "\5\377", 2);
    for (int i = 0; i < 2; i++)
        host_submit_patiently(rig->full, &diagnostic, "\5\377", 2);
    return first;
}

/* As fill; the ticket is that of a unit in the queue. */
static uint64_t
fill_and_queue(struct rig *rig)
{
    for (int i = 0; i < 2; i++)
        host_submit_patiently(rig->full, &diagnostic, "\5\377", 2);
    return host_submit_patiently(rig->full, &diagnostic, "\5\377", 2);
}

static void
drain(struct rig *rig)
{
    expect_code(FFI_OK, api.cancel_all(H(full), NULL), "cancel_all");
    for (int i = 0; i < 3; i++)
        host_next(rig->full);
}

/* ---- The list ----------------------------------------------------------- */

#define BAD(what_, call_)                                         \
    {                                                             \
        .what = what_, .codes = IS(FFI_BAD_ARG), .repeats = true, \
        .call = call_                                             \
    }
#define ERR(what_, call_, ...)                                               \
    {                                                                        \
        .what = what_, .codes = IS(FFI_ERR), .repeats = true, .call = call_, \
        __VA_ARGS__                                                          \
    }
#define ANY(what_, call_)                                               \
    {                                                                   \
        .what = what_, .codes = REFUSED, .repeats = true, .call = call_ \
    }
#define ENDED(what_, prepare_)                                    \
    {                                                             \
        .what = what_, .codes = IS(FFI_ERR), .prepare = prepare_, \
        .call = take_ended                                        \
    }

const struct failing failing_calls[] = {
    ANY("handle_open: pool 1025", open_pool),
    ANY("handle_open: descriptor -1", open_negative),
    ANY("handle_open: closed descriptor", open_closed),
    BAD("handle_open: NULL out_handle", open_null),
    BAD("handle_close: NULL", close_null),
    BAD("handle_ring: NULL handle", ring_null_handle),
    BAD("handle_ring: NULL out_ring", ring_null_ring),
    BAD("handle_ring: NULL out_shared", ring_null_shared),
    BAD("handle_ring: NULL out_slots", ring_null_out),
    BAD("handle_ring: NULL out_capacity", ring_null_capacity),
    ERR("handle_ring: second attach", ring_second, .prepare = NULL),
    BAD("submit: NULL handle", submit_null_handle),
    BAD("submit: NULL header", submit_null_header),
    BAD("submit: NULL out_ticket", submit_null_out),
    BAD("submit: NULL input with a length", submit_null_input),
    BAD("submit: 4097 bytes", submit_long),
    BAD("submit: SIZE_MAX bytes", submit_longest),
    ERR("submit: live buffer with bit 63", submit_bit_63, .prepare = NULL),
    ANY("submit: unknown flag", submit_flag),
    ERR("submit: unknown buffer", submit_unknown_buffer, .prepare = NULL),
    ERR("submit: freed buffer", submit_freed_buffer, .prepare = NULL),
    ERR("submit: foreign buffer", submit_foreign_buffer, .prepare = NULL),
    {.what = "submit: poisoned",
     .codes = IS(FFI_POISONED),
     .repeats = true,
     .call = submit_poisoned},
    ERR("submit: full queue", submit_full, .prepare = fill, .undo = drain),
    ERR("submit: shutdown", submit_healthy, .prepare = shut_down,
        .undo = re_arm),
    BAD("take: NULL handle", take_null_handle),
    BAD("take: NULL out_buf_id", take_null_id),
    BAD("take: NULL out_ptr", take_null_ptr),
    BAD("take: NULL out_len", take_null_len),
    ERR("take: never issued", take_unknown, .prepare = NULL),
    ERR("take: another handle's ticket", take_foreign, .prepare = NULL),
    ERR("take: already taken", take_ended, .prepare = job_taken),
    ERR("take: delivered inline", take_ended, .prepare = job_inlined),
    ERR("take: ticket 0", take_zero, .prepare = NULL),
    ERR("take: waiting ticket with bit 63", take_bit_63, .prepare = NULL),
    ERR("take: running", take_unfinished, .prepare = fill, .undo = drain),
    ERR("take: queued", take_unfinished, .prepare = fill_and_queue,
        .undo = drain),
    ENDED("take: no engine", job_without_engine),
    ENDED("take: no such opcode", job_without_opcode),
    ENDED("take: engine error", job_with_error),
    ENDED("take: deadline", job_past_deadline),
    ENDED("take: deadline in the queue", job_expired_in_queue),
    ENDED("take: cancelled", job_cancelled),
    {.what = "take: panic",
     .codes = IS(FFI_PANIC),
     .panic = true,
     .prepare = job_panicked,
     .call = take_panicked},
    BAD("cancel: NULL handle", cancel_null),
    BAD("cancel_all: NULL handle", cancel_all_null),
    BAD("buf_alloc: NULL handle", alloc_null_handle),
    BAD("buf_alloc: NULL out_id", alloc_null_id),
    BAD("buf_alloc: NULL out_ptr", alloc_null_ptr),
    ERR("buf_alloc: length 0", alloc_zero, .prepare = NULL),
    ERR("buf_alloc: over 2^30", alloc_huge, .prepare = NULL),
    ERR("buf_alloc: SIZE_MAX", alloc_longest, .prepare = NULL),
    {.what = "buf_alloc: poisoned",
     .codes = IS(FFI_POISONED),
     .repeats = true,
     .call = alloc_poisoned},
    BAD("buf_free: NULL handle", free_null),
};
const size_t failing_count = sizeof failing_calls / sizeof failing_calls[0];

void
rig_open(struct rig *rig)
{
    rig->healthy = host_open_with(1, CONFORM_PIPE);
    rig->ringed = host_open_with(1, CONFORM_RING);
    rig->poisoned = host_open_with(1, CONFORM_PIPE);
    rig->full = host_open_with(1, CONFORM_PIPE);
    host_call(rig->poisoned, DIAGNOSTIC, "\1", 1);
    /* A high number: no pipe that is opened later gets it by chance. */
    rig->closed_fd = fcntl(host_read_fd(rig->healthy), F_DUPFD_CLOEXEC, 500);
    if (rig->closed_fd < 0)
        conform_broken("no descriptor over 500 to be had");
    close(rig->closed_fd);
    rig->freed_buffer = host_buffer(rig->healthy, NULL, 64, NULL);
    host_buffer_free(rig->healthy, rig->freed_buffer);
    rig->foreign_buffer = host_buffer(rig->ringed, NULL, 64, NULL);
    rig->foreign_ticket = job(rig->ringed, &diagnostic, "\0kept", 5);
}

void
rig_close(struct rig *rig)
{
    struct outcome kept = host_take(rig->ringed, rig->foreign_ticket);
    expect_code(FFI_OK, kept.code, "a result that refused takes left behind");
    expect_bytes("\0kept", 5, kept.bytes, kept.len, "that result");
    host_close(rig->healthy);
    host_close(rig->ringed);
    host_close(rig->poisoned);
    host_close(rig->full);
}
