/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Deadlines: how a relative timeout becomes a moment, and what a check says.
 */
#include <stdatomic.h>

#include "engine.h"
#include "handle.h"
#include "lifecycle.h"
#include "plat.h"
#include "t.h"

#define OP_LOOK 0x3001
#define HOUR_NS UINT64_C(3600000000000)

/* What a handler saw of its own job. */
struct look {
    uint64_t deadline;
    int32_t check;
};

static int32_t
look_handler(gse_call *call, void *user)
{
    struct look *look = user;

    look->deadline = call->slot->deadline;
    look->check = gse_check(call);
    return GSE_OK;
}

static struct look
look_with(uint64_t timeout_ns)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    CallHeader header = {.reserved = OP_LOOK, .timeout_ns = timeout_ns};
    struct look look = {0, -1};
    uint64_t ticket;

    gse_clear();
    ck_assert_int_eq(gse_register_opcode(OP_LOOK, look_handler, &look), GSE_OK);
    ck_assert_int_eq(gusset_submit(handle, &header, NULL, 0, 0, &ticket, NULL),
                     FFI_OK);
    ck_assert_uint_eq(t_pipe_ticket(&pipe), ticket);
    t_close(handle);
    t_pipe_drop(&pipe, false);
    return look;
}

/* Beyond the clock is "never", and nothing wraps into the past. */
START_TEST(huge_timeouts_never_wrap)
{
    static const uint64_t huge[] = {
        (UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1,
        UINT64_MAX - HOUR_NS,    UINT64_MAX - 1,    UINT64_MAX};
    uint64_t before = gst__plat_now();
    struct look look = look_with(huge[_i]);

    ck_assert_int_eq(look.check, GSE_OK);
    ck_assert_uint_gt(look.deadline, before + HOUR_NS);
    if (huge[_i] > UINT64_MAX - before)
        ck_assert_uint_eq(look.deadline, GST_FOREVER);
}
END_TEST

START_TEST(zero_means_none)
{
    struct look look = look_with(0);

    ck_assert_int_eq(look.check, GSE_OK);
    ck_assert_uint_eq(look.deadline, GST_FOREVER);
}
END_TEST

START_TEST(a_timeout_counts_from_submit)
{
    uint64_t before = gst__plat_now();
    struct look look = look_with(HOUR_NS);
    uint64_t after = gst__plat_now();

    ck_assert_int_eq(look.check, GSE_OK);
    ck_assert_uint_ge(look.deadline, before + HOUR_NS);
    ck_assert_uint_le(look.deadline, after + HOUR_NS);
}
END_TEST

/* The reason of a job in every combination of what may stop it. */
START_TEST(reasons_have_an_order)
{
    static struct GussetHandle handle;
    static struct gst__slot slot;
    bool cancelled = (_i & 1) != 0;
    bool all = (_i & 2) != 0;
    bool shut = (_i & 4) != 0;
    bool late = (_i & 8) != 0;
    enum gst__reason reason;

    slot.index = 0;
    gst__jobs_queue(&slot, UINT64_C(5) << GST_INDEX_BITS);
    atomic_store(&slot.cancelled, cancelled ? 5 : 4);
    slot.cancel_epoch = 1;
    atomic_store(&handle.cancel_epoch, all ? 2 : 1);
    slot.epoch = atomic_load(&gst__epoch) - (shut ? 1 : 0);
    slot.deadline = gst__plat_now();
    slot.deadline = late ? slot.deadline : slot.deadline + HOUR_NS;
    reason = gst__job_reason(&handle, &slot);
    if (!cancelled && !all && !shut && !late)
        ck_assert_int_eq(reason, GST_GO_ON);
    else if (!shut && !late)
        ck_assert_int_eq(reason, GST_EXPLICIT);
    else if (!cancelled && !all && !late)
        ck_assert_int_eq(reason, GST_SHUTDOWN);
    else if (!cancelled && !all && !shut)
        ck_assert_int_eq(reason, GST_DEADLINE);
    else
        ck_assert_int_ne(reason, GST_GO_ON);
}
END_TEST

/* The clock exactly at the deadline counts as past it. */
START_TEST(a_deadline_that_is_now_has_passed)
{
    static struct GussetHandle handle;
    static struct gst__slot slot;

    gst__jobs_queue(&slot, UINT64_C(1) << GST_INDEX_BITS);
    slot.epoch = atomic_load(&gst__epoch);
    slot.deadline = 1;
    ck_assert_int_eq(gst__job_reason(&handle, &slot), GST_DEADLINE);
    slot.deadline = GST_FOREVER;
    ck_assert_int_eq(gst__job_reason(&handle, &slot), GST_GO_ON);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("deadline");
    TCase *tcase = t_case(suite, "deadline");

    tcase_add_loop_test(tcase, huge_timeouts_never_wrap, 0, 6);
    tcase_add_test(tcase, zero_means_none);
    tcase_add_test(tcase, a_timeout_counts_from_submit);
    tcase_add_loop_test(tcase, reasons_have_an_order, 0, 16);
    tcase_add_test(tcase, a_deadline_that_is_now_has_passed);
    return suite;
}
