/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Worker threads: partial start, death and replacement, the close budget. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "handle.h"
#include "plat.h"
#include "t.h"

#define OP_DIE 0x1001
#define OP_MEET 0x1002
#define OP_BLOCK 0x1003

static uint64_t
submit_opcode(GussetHandle *handle, uint32_t opcode, int32_t *code)
{
    CallHeader header = {.reserved = opcode};
    uint64_t ticket = 0;

    *code = gusset_submit(handle, &header, NULL, 0, 0, &ticket, NULL);
    return ticket;
}

/* The capacity of a pipe may grow in a refused open; nothing else changes. */
static void
expect_untouched(int fd, int flags)
{
    ck_assert_int_eq(fcntl(fd, F_GETFL), flags);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

#define POOL 4

/* One whole cycle, so that caches of the C library are as they will be. */
static void
warm_up(void)
{
    struct t_pipe pipe = t_pipe_new();

    t_close(t_open(&pipe, POOL));
    t_pipe_drop(&pipe, false);
}

/* The k-th thread cannot be started, k = _i + 1. */
START_TEST(a_partial_start_is_undone)
{
    struct t_pipe pipe;
    struct t_census before;
    GussetHandle *handle = NULL;
    FfiStatus status;
    int flags;
    int32_t code;

    warm_up();
    pipe = t_pipe_new();
    flags = fcntl(pipe.write_end, F_GETFL);
    before = t_census_baseline();
    fault_arm(FAULT_THREAD, (uint64_t)_i + 1, false);
    code = gusset_handle_open(POOL, pipe.write_end, &handle, &status);
    fault_disarm();
    ck_assert_uint_eq(fault_calls(), (uint64_t)_i + 1);
    ck_assert_uint_eq(fault_hits(), 1);
    ck_assert_int_eq(code, FFI_ERR);
    ck_assert_ptr_null(handle);
    ck_assert_ptr_nonnull(status.msg);
    gusset_status_free(&status);
    expect_untouched(pipe.write_end, flags);
    t_census_expect(before, "after the refused open");
    /* The same descriptor serves the next open, which owns it. */
    handle = t_open(&pipe, POOL);
    t_submit(handle, "\0", 1);
    ck_assert_uint_ne(t_pipe_ticket(&pipe), 0);
    t_close(handle);
    ck_assert_uint_eq(t_pipe_ticket(&pipe), 0);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* As above, through every other call that starting a worker makes. */
START_TEST(a_worker_that_cannot_set_up_leaves_nothing)
{
    static const enum fault_kind kinds[] = {FAULT_HEAP,        FAULT_FCNTL,
                                            FAULT_MMAP,        FAULT_MPROTECT,
                                            FAULT_SIGALTSTACK, FAULT_SIGMASK};
    enum fault_kind kind = kinds[_i / 2];
    bool onwards = _i % 2 == 1;
    uint64_t nth;
    uint64_t hits = 1;
    uint64_t refused = 0;

    warm_up();
    /* Until there is no nth call any more. */
    for (nth = 1; hits > 0; nth++) {
        struct t_pipe pipe = t_pipe_new();
        int flags = fcntl(pipe.write_end, F_GETFL);
        struct t_census before = t_census_baseline();
        GussetHandle *handle = NULL;
        int32_t code;

        fault_arm(kind, nth, onwards);
        code = gusset_handle_open(POOL, pipe.write_end, &handle, NULL);
        fault_disarm();
        hits = fault_hits();
        if (code == FFI_OK) {
            t_submit(handle, "\0", 1);
            ck_assert_uint_ne(t_pipe_ticket(&pipe), 0);
            t_close(handle);
            before.descriptors--;
        } else {
            ck_assert_int_eq(code, FFI_ERR);
            ck_assert_ptr_null(handle);
            expect_untouched(pipe.write_end, flags);
            refused++;
        }
        t_census_expect(before, fault_names[kind]);
        t_pipe_drop(&pipe, code != FFI_OK);
    }
    /* The fault must have been met, whatever the kind's outcome is. */
    ck_assert_msg(nth > 2, "%s is never called", fault_names[kind]);
    if (kind == FAULT_HEAP)
        ck_assert_uint_gt(refused, 0);
}
END_TEST

static int32_t
die_handler(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    pthread_exit(NULL);
}

static uint32_t
workers_now(void)
{
    return t_census_take().threads - 1;
}

/* A thread that has ended may stay visible for a moment. */
static void
expect_workers(uint32_t count)
{
    uint64_t end = gst__plat_now() + UINT64_C(60000000000);

    while (workers_now() != count && gst__plat_now() < end)
        sched_yield();
    ck_assert_uint_eq(workers_now(), count);
}

/*
 * The very next submit tries to start a thread [i4.respawn]; that fails if nth
 * is 1.
 */
static void
submit_and_replace(GussetHandle *handle, uint64_t nth)
{
    int32_t code;

    fault_arm(FAULT_THREAD, nth, false);
    submit_opcode(handle, 0, &code);
    fault_disarm();
    ck_assert_uint_eq(fault_calls(), 1);
    ck_assert_uint_eq(fault_hits(), nth);
}

/*
 * An engine ends its own thread. Its ticket completes, and the pool is as wide
 * as before, after as many failed replacements as the fault makes.
 */
START_TEST(a_dead_worker_is_replaced)
{
    struct t_census before = t_census_baseline();
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle;
    FfiStatus status;
    uint64_t ticket;
    uint64_t id;
    uint8_t *bytes;
    size_t len;
    int32_t code;
    int failures;

    ck_assert_int_eq(gse_register_opcode(OP_DIE, die_handler, NULL), GSE_OK);
    handle = t_open(&pipe, 2);
    expect_workers(2);
    ticket = submit_opcode(handle, OP_DIE, &code);
    ck_assert_int_eq(code, FFI_OK);
    ck_assert_uint_eq(t_pipe_ticket(&pipe), ticket);
    code = gusset_take(handle, ticket, &id, &bytes, &len, &status);
    ck_assert_msg(code == FFI_ERR || code == FFI_PANIC, "take gave %d",
                  (int)code);
    gusset_status_free(&status);
    for (failures = 0; failures < _i; failures++) {
        submit_and_replace(handle, 1);
        expect_workers(1);
    }
    submit_and_replace(handle, 0);
    expect_workers(2);
    t_close(handle);
    t_pipe_drop(&pipe, false);
    /* Thread stacks stay in the C library's cache. */
    before.mapped = UINT64_MAX;
    t_census_expect(before, "after close");
}
END_TEST

/* Units that were queued behind the dead worker run all the same. */
START_TEST(queued_units_outlive_a_dead_worker)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle;
    uint64_t tickets[3];
    uint64_t ticket;
    uint32_t accepted = 0;
    uint32_t seen = 0;
    uint32_t k;
    int32_t code = FFI_OK;

    ck_assert_int_eq(gse_register_opcode(OP_DIE, die_handler, NULL), GSE_OK);
    handle = t_open(&pipe, 1);
    /* The last ones may find the queue full, or the handle poisoned. */
    for (k = 0; k < 3 && code == FFI_OK; k++) {
        tickets[k] = submit_opcode(handle, k == 0 ? OP_DIE : 0, &code);
        accepted += code == FFI_OK;
    }
    ck_assert_uint_ge(accepted, 1);
    ck_assert_uint_eq(t_pipe_ticket(&pipe), tickets[0]);
    /* Refused, and replaces the worker unless one above came late enough. */
    submit_opcode(handle, 0, &code);
    ck_assert_int_eq(code, FFI_POISONED);
    for (k = 1; k < accepted; k++) {
        ticket = t_pipe_ticket(&pipe);
        ck_assert(ticket == tickets[1] || ticket == tickets[2]);
        seen |= ticket == tickets[1] ? 1 : 2;
    }
    ck_assert_uint_eq(seen, (1u << (accepted - 1)) - 1);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* Units of one group wait for each other: only a pool that is as wide as the
 * group, with nobody asleep beside a waiting unit, gets through a round. */
struct meeting {
    pthread_barrier_t barrier;
};

static int32_t
meet_handler(gse_call *call, void *user)
{
    struct meeting *meeting = user;

    (void)call;
    pthread_barrier_wait(&meeting->barrier);
    return GSE_OK;
}

static void
spin(uint64_t ns)
{
    uint64_t end = gst__plat_now() + ns;

    while (gst__plat_now() < end)
        gst__plat_pause();
}

START_TEST(no_unit_waits_beside_an_idle_worker)
{
    uint32_t width = 2 + (uint32_t)_i;
    uint64_t random = t_seed();
    struct t_pipe pipe = t_pipe_new();
    struct meeting meeting;
    GussetHandle *handle;
    uint32_t round;
    uint32_t i;
    int32_t code;

    pthread_barrier_init(&meeting.barrier, NULL, width);
    ck_assert_int_eq(gse_register_opcode(OP_MEET, meet_handler, &meeting),
                     GSE_OK);
    handle = t_open(&pipe, width);
    for (round = 0; round < 4000; round++) {
        for (i = 0; i < width; i++) {
            submit_opcode(handle, OP_MEET, &code);
            ck_assert_int_eq(code, FFI_OK);
            /* 0..64 us, most of them short: across a worker's polling. */
            spin(t_below(&random, UINT64_C(1) << t_below(&random, 17)));
        }
        /* A lost wake-up is a completion that never comes. */
        for (i = 0; i < width; i++)
            ck_assert_uint_ne(t_pipe_ticket(&pipe), 0);
    }
    t_close(handle);
    t_pipe_drop(&pipe, false);
    pthread_barrier_destroy(&meeting.barrier);
}
END_TEST

static _Atomic bool blocked_may_end;
static _Atomic uint32_t blocked_now;

static int32_t
block_handler(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    atomic_fetch_add(&blocked_now, 1);
    while (!atomic_load(&blocked_may_end))
        gst__plat_sleep(1000000);
    return GSE_OK;
}

/*
 * Workers still inside an engine when the budget ends: FFI_ERR, and at their
 * end everything is released and the pipe reads its end.
 */
START_TEST(a_close_out_of_budget_is_released_later)
{
    uint32_t pool = 1 + (uint32_t)_i;
    struct t_census before = t_census_baseline();
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle;
    FfiStatus status;
    uint32_t i;
    int32_t code;

    atomic_store(&gst__close_budget_ns, UINT64_C(50000000));
    ck_assert_int_eq(gse_register_opcode(OP_BLOCK, block_handler, NULL),
                     GSE_OK);
    handle = t_open(&pipe, pool);
    for (i = 0; i < pool; i++) {
        submit_opcode(handle, OP_BLOCK, &code);
        ck_assert_int_eq(code, FFI_OK);
    }
    while (atomic_load(&blocked_now) != pool)
        gst__plat_sleep(1000000);
    ck_assert_int_eq(gusset_handle_close(handle, &status), FFI_ERR);
    ck_assert_ptr_nonnull(status.msg);
    gusset_status_free(&status);
    /* Its units are in flight until they end. */
    ck_assert_int_eq(gusset_shutdown(0), FFI_ERR);
    atomic_store(&blocked_may_end, true);
    while (t_pipe_ticket(&pipe) != 0)
        continue;
    ck_assert_int_eq(gusset_init(), FFI_OK);
    t_pipe_drop(&pipe, false);
    /* Thread stacks may stay in the C library's cache. */
    before.mapped = UINT64_MAX;
    t_census_expect(before, "after the last worker ended");
    ck_assert_int_eq(gusset_shutdown(1000), FFI_OK);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = t_case(suite, "pool");

    tcase_add_loop_test(tcase, a_partial_start_is_undone, 0, POOL);
    tcase_add_loop_test(tcase, a_worker_that_cannot_set_up_leaves_nothing, 0,
                        12);
    tcase_add_loop_test(tcase, a_dead_worker_is_replaced, 0, 3);
    tcase_add_test(tcase, queued_units_outlive_a_dead_worker);
    tcase_add_loop_test(tcase, no_unit_waits_beside_an_idle_worker, 0, 3);
    tcase_add_loop_test(tcase, a_close_out_of_budget_is_released_later, 0, 3);
    return suite;
}
