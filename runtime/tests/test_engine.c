/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The registry of handlers. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "engine.h"
#include "t.h"

static int32_t
first_handler(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    return GSE_OK;
}

static int32_t
second_handler(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    return GSE_FAILED;
}

/* The user pointer that goes with a handler in these tests. */
static void *
user_of(uint32_t opcode, int which)
{
    return (void *)((uintptr_t)opcode * 2 + (uintptr_t)which + 1);
}

static void
expect_handler(uint32_t opcode, gse_handler call, void *user)
{
    struct gst__handler handler = gst__engine_find(opcode);

    ck_assert_msg(handler.call == call &&
                      (call == NULL || handler.user == user),
                  "opcode %u has another handler or user", opcode);
}

START_TEST(the_first_registration_stays)
{
    static const uint32_t opcodes[] = {1, 2, 0x47540001, UINT32_MAX};
    size_t i;

    ck_assert_uint_eq(gse_api_version(), GSE_API_VERSION);
    for (i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++) {
        uint32_t opcode = opcodes[i];

        expect_handler(opcode, NULL, NULL);
        ck_assert_int_eq(
            gse_register_opcode(opcode, first_handler, user_of(opcode, 0)),
            GSE_OK);
        ck_assert_int_eq(
            gse_register_opcode(opcode, second_handler, user_of(opcode, 1)),
            GSE_FAILED);
        expect_handler(opcode, first_handler, user_of(opcode, 0));
    }
}
END_TEST

START_TEST(opcode_0_is_not_an_opcode)
{
    ck_assert_int_eq(gse_register_opcode(0, first_handler, NULL), GSE_FAILED);
    expect_handler(0, NULL, NULL);
    ck_assert_int_eq(gse_register_opcode(5, NULL, NULL), GSE_FAILED);
    ck_assert_int_eq(gse_register_global(NULL, NULL), GSE_FAILED);
    expect_handler(5, NULL, NULL);
    expect_handler(0, NULL, NULL);
}
END_TEST

START_TEST(there_is_one_global_handler)
{
    ck_assert_int_eq(gse_register_global(first_handler, user_of(0, 0)), GSE_OK);
    ck_assert_int_eq(gse_register_global(second_handler, user_of(0, 1)),
                     GSE_FAILED);
    expect_handler(0, first_handler, user_of(0, 0));
    /* An opcode's handler is another matter. */
    expect_handler(7, NULL, NULL);
    ck_assert_int_eq(gse_register_opcode(7, second_handler, user_of(7, 1)),
                     GSE_OK);
    expect_handler(7, second_handler, user_of(7, 1));
}
END_TEST

START_TEST(clear_removes_all_and_allows_new_ones)
{
    uint32_t opcode;
    int round;

    for (round = 0; round < 5; round++) {
        ck_assert_int_eq(gse_register_global(first_handler, NULL), GSE_OK);
        for (opcode = 1; opcode <= 100; opcode++)
            ck_assert_int_eq(gse_register_opcode(opcode, first_handler,
                                                 user_of(opcode, round % 2)),
                             GSE_OK);
        for (opcode = 1; opcode <= 100; opcode++)
            expect_handler(opcode, first_handler, user_of(opcode, round % 2));
        gse_clear();
        for (opcode = 0; opcode <= 101; opcode++)
            expect_handler(opcode, NULL, NULL);
    }
}
END_TEST

/* A full registry refuses the next one, and loses none of those it has. */
START_TEST(a_full_registry_refuses)
{
    uint64_t random = t_seed();
    uint32_t taken[GST_MAX_OPCODES];
    uint32_t count = 0;
    uint32_t opcode;
    uint32_t i;

    while (count < GST_MAX_OPCODES) {
        opcode = (uint32_t)t_random(&random) | 1;
        if (gse_register_opcode(opcode, first_handler, user_of(opcode, 0)) ==
            GSE_OK)
            taken[count++] = opcode;
    }
    for (i = 0; i < 100; i++) {
        opcode = (uint32_t)t_random(&random) & ~1u;
        ck_assert_int_eq(gse_register_opcode(opcode | 2, second_handler, NULL),
                         GSE_FAILED);
    }
    ck_assert_int_eq(gse_register_global(first_handler, NULL), GSE_OK);
    for (i = 0; i < count; i++)
        expect_handler(taken[i], first_handler, user_of(taken[i], 0));
}
END_TEST

#define OPCODES 8
#define ROUNDS 20000

struct traffic {
    _Atomic uint32_t changers_left;
    _Atomic uint32_t torn;
    _Atomic uint32_t found;
};

/*
 * One thread registers and clears in turns, with either of two pairs of
 * handler and user; a reader must see a whole pair or nothing.
 */
static void
traffic_main(void *argument, unsigned i)
{
    struct traffic *traffic = argument;
    struct gst__handler handler;
    uint32_t opcode;
    int round;

    if (i == 0) {
        for (round = 0; round < ROUNDS; round++) {
            int which = round % 2;

            for (opcode = 1; opcode <= OPCODES; opcode++)
                gse_register_opcode(opcode,
                                    which ? second_handler : first_handler,
                                    user_of(opcode, which));
            /* On one CPU the readers would only ever see it cleared. */
            if (round % 64 == 0)
                sched_yield();
            gse_clear();
        }
        atomic_fetch_sub(&traffic->changers_left, 1);
        return;
    }
    for (opcode = 1; atomic_load(&traffic->changers_left) > 0;
         opcode = opcode % OPCODES + 1) {
        handler = gst__engine_find(opcode);
        if (handler.call == NULL)
            continue;
        atomic_fetch_add(&traffic->found, 1);
        if (handler.user !=
            user_of(opcode, handler.call == second_handler ? 1 : 0))
            atomic_fetch_add(&traffic->torn, 1);
    }
}

START_TEST(a_look_during_changes_is_whole)
{
    struct traffic traffic = {.changers_left = 1};

    t_threads(3, traffic_main, &traffic);
    ck_assert_uint_eq(atomic_load(&traffic.torn), 0);
    ck_assert_uint_gt(atomic_load(&traffic.found), 0);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("engine");
    TCase *tcase = t_case(suite, "engine");

    tcase_add_test(tcase, the_first_registration_stays);
    tcase_add_test(tcase, opcode_0_is_not_an_opcode);
    tcase_add_test(tcase, there_is_one_global_handler);
    tcase_add_test(tcase, clear_removes_all_and_allows_new_ones);
    tcase_add_test(tcase, a_full_registry_refuses);
    tcase_add_test(tcase, a_look_during_changes_is_whole);
    return suite;
}
