/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What of a handle cannot be reached from outside: exact limits, refusals that
 * need a full table, workers that all died, keys and slots that stay. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "completion.h"
#include "fault.h"
#include "handle.h"
#include "plat.h"
#include "t.h"

#define OP_WAIT 0x1001
#define OP_WAIT_AND_DIE 0x1002

static _Atomic bool may_go_on;
static _Atomic uint32_t waiting;

static int32_t
wait_handler(gse_call *call, void *user)
{
    (void)call;
    atomic_fetch_add(&waiting, 1);
    while (!atomic_load(&may_go_on))
        gst__plat_sleep(1000000);
    if (user != NULL)
        pthread_exit(NULL);
    return GSE_OK;
}

/* A worker is inside OP_WAIT, or OP_WAIT_AND_DIE. */
static uint64_t
occupy(GussetHandle *handle, uint32_t opcode)
{
    CallHeader header = {.reserved = opcode};
    uint64_t ticket;

    atomic_store(&may_go_on, false);
    atomic_store(&waiting, 0);
    ck_assert_int_eq(gse_register_opcode(opcode, wait_handler,
                                         opcode == OP_WAIT ? NULL : &waiting),
                     GSE_OK);
    ck_assert_int_eq(gusset_submit(handle, &header, NULL, 0, 0, &ticket, NULL),
                     FFI_OK);
    while (atomic_load(&waiting) == 0)
        gst__plat_sleep(1000000);
    return ticket;
}

static int32_t
submit(GussetHandle *handle, const void *input, size_t len, FfiStatus *status)
{
    CallHeader header = {.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE};
    uint64_t ticket;

    return gusset_submit(handle, &header, input, len, 0, &ticket, status);
}

START_TEST(a_ring_is_no_larger_than_it_must_be)
{
    static const uint64_t pairs[][2] = {{1, 2}, {2, 2},   {3, 4},      {4, 4},
                                        {5, 8}, {64, 64}, {1024, 1024}};
    uint32_t i;

    for (i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        ck_assert_uint_eq(gst__ring_capacity((uint32_t)pairs[i][0]),
                          pairs[i][1]);
}
END_TEST

/* A page holds the records of 64 workers and not a byte more. */
START_TEST(a_pipe_that_just_fits_takes_inline_records)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle;
    long page = sysconf(_SC_PAGESIZE);

    ck_assert_int_eq(fcntl(pipe.write_end, F_SETPIPE_SZ, (int)page), page);
    handle = t_open(&pipe, (uint32_t)page / GUSSET_INLINE_RECORD_MAX);
    ck_assert_int_eq(fcntl(pipe.read_end, F_GETPIPE_SZ), page);
    ck_assert(handle->pipe_inline);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

START_TEST(a_read_end_is_refused)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = NULL;
    FfiStatus status;

    ck_assert_int_eq(gusset_handle_open(1, pipe.read_end, &handle, &status),
                     FFI_ERR);
    t_expect_text(&status, "is not the write end of its pipe");
    gusset_status_free(&status);
    t_pipe_drop(&pipe, true);
}
END_TEST

/* Keys of the process that are left; takes none for good. */
static uint32_t
keys_left(void)
{
    static pthread_key_t keys[4096];
    uint32_t count = 0;
    uint32_t i;

    while (count < 4096 && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    for (i = 0; i < count; i++)
        pthread_key_delete(keys[i]);
    return count;
}

START_TEST(no_key_stays_behind)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = NULL;
    uint32_t before = keys_left();

    fault_arm(FAULT_THREAD, 1, false);
    ck_assert_int_eq(gusset_handle_open(2, pipe.write_end, &handle, NULL),
                     FFI_ERR);
    fault_disarm();
    ck_assert_uint_eq(keys_left(), before);
    t_close(t_open(&pipe, 2));
    ck_assert_uint_eq(keys_left(), before);
    t_pipe_drop(&pipe, false);
}
END_TEST

START_TEST(without_a_key_nothing_opens)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = NULL;
    pthread_key_t key;
    FfiStatus status;

    while (pthread_key_create(&key, NULL) == 0)
        continue;
    ck_assert_int_eq(gusset_handle_open(1, pipe.write_end, &handle, &status),
                     FFI_ERR);
    t_expect_text(&status, "process-wide set-up failed");
    gusset_status_free(&status);
    t_pipe_drop(&pipe, true);
}
END_TEST

/* The table is made to look full; every slot there is is taken. */
START_TEST(a_full_table_is_named)
{
    static struct gst__slot *taken[64];
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    uint32_t count = atomic_load(&handle->jobs.count);
    enum gst__jobs_error why;
    FfiStatus status;
    uint64_t ticket;
    uint32_t i;

    ck_assert_uint_le(count, 64);
    for (i = 0; i < count; i++) {
        taken[i] = gst__jobs_get(&handle->jobs, &ticket, &why);
        ck_assert_ptr_nonnull(taken[i]);
    }
    atomic_store(&handle->jobs.count, GST_MAX_SLOTS);
    ck_assert_int_eq(submit(handle, NULL, 0, &status), FFI_ERR);
    t_expect_text(&status, "too many results not taken");
    gusset_status_free(&status);
    atomic_store(&handle->jobs.count, count);
    for (i = 0; i < count; i++)
        gst__jobs_put(&handle->jobs, taken[i]);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

START_TEST(used_up_tickets_are_named)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    FfiStatus status;
    uint32_t stripe;

    for (stripe = 0; stripe < GST_STRIPES; stripe++)
        gst__generation_set(stripe, GST_GENERATION_MAX + 1);
    ck_assert_int_eq(submit(handle, NULL, 0, &status), FFI_ERR);
    t_expect_text(&status, "ticket numbers are used up");
    gusset_status_free(&status);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

START_TEST(a_lack_of_memory_is_named)
{
    static const uint8_t input[GUSSET_MAX_INLINE_INPUT];
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    FfiStatus status;
    int32_t code;

    /* The first block is the input, the second the message. */
    fault_arm(FAULT_HEAP, 1, false);
    code = submit(handle, input, sizeof input, &status);
    fault_disarm();
    ck_assert_int_eq(code, FFI_ERR);
    t_expect_text(&status, "out of memory for the input");
    gusset_status_free(&status);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* However often a submit is refused, for lack of room or of memory. */
START_TEST(a_refused_submit_gives_its_slot_back)
{
    static const uint8_t input[GUSSET_MAX_INLINE_INPUT];
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    uint32_t count = atomic_load(&handle->jobs.count);
    uint64_t live;
    int i;

    occupy(handle, OP_WAIT);
    for (i = 0; i < 500; i++) {
        int32_t code;

        fault_arm(FAULT_HEAP, 1, true);
        code = submit(handle, input, sizeof input, NULL);
        fault_disarm();
        ck_assert_int_eq(code, FFI_ERR);
    }
    ck_assert_uint_eq(atomic_load(&handle->jobs.count), count);
    while (submit(handle, input, sizeof input, NULL) == FFI_OK)
        continue;
    live = t_census_take().live;
    for (i = 0; i < 500; i++)
        ck_assert_int_eq(submit(handle, input, sizeof input, NULL), FFI_ERR);
    ck_assert_uint_eq(atomic_load(&handle->jobs.count), count);
    ck_assert_uint_eq(t_census_take().live, live);
    atomic_store(&may_go_on, true);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* To a forked child the handle looks as if it were opened before. */
START_TEST(a_child_delivers_nothing)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    struct pollfd readable = {.fd = pipe.read_end, .events = POLLIN};

    handle->fork_count--;
    ck_assert_int_eq(gst__complete_bare(handle, 77), GST_GIVEN_UP);
    ck_assert_int_eq(poll(&readable, 1, 0), 0);
    handle->fork_count++;
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* Of every length, none and one and the most. */
START_TEST(a_small_pipe_takes_no_inline_record)
{
    static const size_t lengths[] = {0, 1, GUSSET_INLINE_RESULT_MAX};
    static const uint8_t bytes[GUSSET_INLINE_RESULT_MAX];
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    uint32_t i;

    handle->pipe_inline = false;
    for (i = 0; i < 3; i++)
        ck_assert_int_eq(gst__complete_inline(handle, 77, bytes, lengths[i]),
                         GST_NEEDS_BARE);
    ck_assert_int_eq(gst__complete_bare(handle, 77), GST_DELIVERED);
    ck_assert_uint_eq(t_pipe_ticket(&pipe), 77);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* Ends the only worker of a handle while two units wait behind it. */
static void
kill_the_worker(GussetHandle *handle)
{
    occupy(handle, OP_WAIT_AND_DIE);
    ck_assert_int_eq(submit(handle, NULL, 0, NULL), FFI_OK);
    ck_assert_int_eq(submit(handle, NULL, 0, NULL), FFI_OK);
    atomic_store(&may_go_on, true);
    while ((atomic_load(&handle->gate) & GST_GATE_DEAD) == 0)
        gst__plat_sleep(1000000);
}

/* Nobody is left to run them: the close ends them, on the host's thread. */
START_TEST(units_of_dead_workers_are_completed)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    sigset_t before;
    sigset_t after;
    int tickets = 0;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    kill_the_worker(handle);
    t_close(handle);
    while (t_pipe_ticket(&pipe) != 0)
        tickets++;
    ck_assert_int_eq(tickets, 3);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    ck_assert_int_eq(sigismember(&before, SIGPIPE), 0);
    ck_assert_int_eq(sigismember(&after, SIGPIPE), 0);
    ck_assert_int_eq(gusset_shutdown(0), FFI_OK);
    t_pipe_drop(&pipe, false);
}
END_TEST

/* The same with nobody to read them: a SIGPIPE would end this process. */
START_TEST(units_of_dead_workers_outlive_the_reader)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);

    signal(SIGPIPE, SIG_DFL);
    kill_the_worker(handle);
    t_pipe_drop(&pipe, false);
    t_close(handle);
    ck_assert_int_eq(gusset_shutdown(0), FFI_OK);
}
END_TEST

START_TEST(a_close_out_of_budget_is_logged_and_ends)
{
    struct t_pipe pipe = t_pipe_new();
    struct pollfd readable = {.fd = pipe.read_end, .events = POLLIN};
    GussetHandle *handle = t_open(&pipe, 1);
    static uint8_t log[65536];
    size_t written;

    atomic_store(&gst__close_budget_ns, UINT64_C(50000000));
    occupy(handle, OP_WAIT);
    ck_assert_int_eq(gusset_handle_close(handle, NULL), FFI_ERR);
    gusset_drain_logs(log, sizeof log - 1, &written);
    log[written] = 0;
    ck_assert_ptr_nonnull(
        strstr((char *)log, "handle closed with 1 workers still running"));
    atomic_store(&may_go_on, true);
    do
        ck_assert_int_eq(poll(&readable, 1, 30000), 1);
    while (t_pipe_ticket(&pipe) != 0);
    t_pipe_drop(&pipe, false);
}
END_TEST

struct drops {
    struct GussetRing *ring;
    pthread_barrier_t barrier;
};

/* Uses its half of the ring and lets go of it. */
static void
use_and_drop(void *argument, unsigned i)
{
    struct drops *drops = argument;

    pthread_barrier_wait(&drops->barrier);
    memset(drops->ring->slots + i * GUSSET_RING_SLOT_BYTES, 1,
           GUSSET_RING_SLOT_BYTES);
    gst__ring_drop(drops->ring);
}

/* Who frees the ring comes after all that the other did with it. */
START_TEST(the_last_of_two_holders_frees)
{
    uint64_t live = t_census_take().live;
    struct drops drops;
    int round;

    pthread_barrier_init(&drops.barrier, NULL, 2);
    for (round = 0; round < 200; round++) {
        drops.ring = gst__ring_new(2);
        ck_assert_ptr_nonnull(drops.ring);
        t_threads(2, use_and_drop, &drops);
        ck_assert_uint_eq(t_census_take().live, live);
    }
    pthread_barrier_destroy(&drops.barrier);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("handle");
    TCase *open = t_case(suite, "open");
    TCase *submits = t_case(suite, "submit");
    TCase *ends = t_case(suite, "end");
    TCase *ring = t_case(suite, "ring");

    tcase_add_test(open, a_pipe_that_just_fits_takes_inline_records);
    tcase_add_test(open, a_read_end_is_refused);
    tcase_add_test(open, no_key_stays_behind);
    tcase_add_test(open, without_a_key_nothing_opens);
    tcase_add_test(submits, a_full_table_is_named);
    tcase_add_test(submits, used_up_tickets_are_named);
    tcase_add_test(submits, a_lack_of_memory_is_named);
    tcase_add_test(submits, a_refused_submit_gives_its_slot_back);
    tcase_add_test(ends, a_child_delivers_nothing);
    tcase_add_test(ends, a_small_pipe_takes_no_inline_record);
    tcase_add_test(ends, units_of_dead_workers_are_completed);
    tcase_add_test(ends, units_of_dead_workers_outlive_the_reader);
    tcase_add_test(ends, a_close_out_of_budget_is_logged_and_ends);
    tcase_add_test(ring, a_ring_is_no_larger_than_it_must_be);
    tcase_add_test(ring, the_last_of_two_holders_frees);
    return suite;
}
