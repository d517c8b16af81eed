/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Job slots and tickets: uniqueness, generations, free list, ceilings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "t.h"

#define NO_REASON ((enum gst__jobs_error)99)

static struct gst__slot *
get(struct gst__jobs *jobs, uint64_t *ticket)
{
    enum gst__jobs_error why = NO_REASON;
    struct gst__slot *slot = gst__jobs_get(jobs, ticket, &why);

    ck_assert_msg(slot != NULL, "no slot: reason %d", (int)why);
    return slot;
}

static struct gst__result
success(void)
{
    return (struct gst__result){.code = FFI_OK};
}

START_TEST(a_ticket_names_its_slot_until_it_is_taken)
{
    struct gst__jobs jobs = {0};
    struct gst__result result;
    struct gst__slot *slot;
    uint64_t ticket;

    ck_assert(gst__jobs_init(&jobs, 6));
    slot = get(&jobs, &ticket);
    ck_assert_uint_ne(ticket, 0);
    ck_assert_uint_lt(ticket, UINT64_C(1) << 63);
    ck_assert_ptr_eq(gst__jobs_slot(&jobs, slot->index), slot);
    ck_assert(!gst__jobs_take(&jobs, ticket, &result));
    slot->result = success();
    gst__jobs_queue(slot, ticket);
    ck_assert_uint_eq(gst__slot_ticket(slot), ticket);
    ck_assert(!gst__jobs_take(&jobs, ticket, &result));
    gst__slot_done(slot);
    ck_assert(!gst__jobs_take(&jobs, ticket + 1, &result));
    ck_assert(!gst__jobs_take(&jobs, ticket + (UINT64_C(1) << GST_INDEX_BITS),
                              &result));
    ck_assert(gst__jobs_take(&jobs, ticket, &result));
    ck_assert_int_eq(result.code, FFI_OK);
    ck_assert(!gst__jobs_take(&jobs, ticket, &result));
    gst__jobs_destroy(&jobs);
}
END_TEST

START_TEST(an_inline_result_is_never_taken)
{
    struct gst__jobs jobs = {0};
    struct gst__result result;
    struct gst__slot *slot;
    uint64_t ticket;

    ck_assert(gst__jobs_init(&jobs, 2));
    slot = get(&jobs, &ticket);
    gst__jobs_queue(slot, ticket);
    gst__slot_inline(slot);
    ck_assert(!gst__jobs_take(&jobs, ticket, &result));
    gst__jobs_put(&jobs, slot);
    ck_assert(!gst__jobs_take(&jobs, ticket, &result));
    gst__jobs_destroy(&jobs);
}
END_TEST

START_TEST(senseless_tickets_are_unknown)
{
    static const uint64_t senseless[] = {0,
                                         1,
                                         GST_MAX_SLOTS - 1,
                                         GST_MAX_SLOTS,
                                         UINT64_C(1) << 62,
                                         UINT64_C(1) << 63,
                                         UINT64_MAX - GST_MAX_SLOTS,
                                         UINT64_MAX};
    struct gst__jobs jobs = {0};
    struct gst__result result;
    size_t i;

    ck_assert(gst__jobs_init(&jobs, 3));
    for (i = 0; i < sizeof senseless / sizeof senseless[0]; i++) {
        ck_assert_msg(!gst__jobs_take(&jobs, senseless[i], &result),
                      "ticket %" PRIu64 " was taken", senseless[i]);
        gst__jobs_cancel(&jobs, senseless[i]);
    }
    gst__jobs_destroy(&jobs);
}
END_TEST

/* A slot's reuse must make every older ticket of it unknown. */
START_TEST(reuse_forgets_older_tickets)
{
    enum { REUSES = 3 * GST_GENERATION_BLOCK };
    struct gst__jobs jobs = {0};
    struct gst__result result;
    struct gst__slot *slot;
    uint64_t tickets[REUSES];
    size_t i;
    size_t j;

    ck_assert(gst__jobs_init(&jobs, 1));
    for (i = 0; i < REUSES; i++) {
        slot = get(&jobs, &tickets[i]);
        gst__jobs_queue(slot, tickets[i]);
        for (j = 0; j < i; j++) {
            ck_assert_uint_ne(tickets[i], tickets[j]);
            gst__jobs_cancel(&jobs, tickets[j]);
        }
        ck_assert(!gst__slot_cancelled(slot));
        gst__jobs_cancel(&jobs, tickets[i]);
        ck_assert(gst__slot_cancelled(slot));
        slot->result = success();
        gst__slot_done(slot);
        for (j = 0; j < i; j++)
            ck_assert(!gst__jobs_take(&jobs, tickets[j], &result));
        ck_assert(gst__jobs_take(&jobs, tickets[i], &result));
    }
    gst__jobs_destroy(&jobs);
}
END_TEST

/* Results that nobody takes keep their slots: the table must grow. */
START_TEST(it_grows_on_demand)
{
    enum { JOBS = 5000 };
    struct t_census before = t_census_baseline();
    uint64_t *tickets = calloc(JOBS, sizeof *tickets);
    struct gst__jobs jobs = {0};
    struct gst__result result;
    struct gst__slot *slot;
    size_t i;

    ck_assert_ptr_nonnull(tickets);
    ck_assert(gst__jobs_init(&jobs, 3));
    for (i = 0; i < JOBS; i++) {
        slot = get(&jobs, &tickets[i]);
        gst__jobs_queue(slot, tickets[i]);
        slot->result = success();
        slot->result.code = (int32_t)i;
        gst__slot_done(slot);
    }
    for (i = 0; i < JOBS; i += 2) {
        ck_assert(gst__jobs_take(&jobs, tickets[i], &result));
        ck_assert_int_eq(result.code, (int32_t)i);
    }
    gst__jobs_destroy(&jobs);
    free(tickets);
    t_census_expect(before, "after the table was destroyed");
}
END_TEST

/* The count is set to the ceiling by hand: a full table takes 600 MB. */
START_TEST(a_full_table_refuses_and_recovers)
{
    struct gst__jobs jobs = {0};
    struct gst__slot *last = NULL;
    enum gst__jobs_error why = NO_REASON;
    uint64_t ticket = 77;
    uint32_t count;
    uint32_t i;

    ck_assert(gst__jobs_init(&jobs, 4));
    count = atomic_load(&jobs.count);
    atomic_store(&jobs.count, GST_MAX_SLOTS);
    for (i = 0; i < count; i++)
        last = get(&jobs, &ticket);
    ticket = 77;
    for (i = 0; i < 1000; i++) {
        why = NO_REASON;
        ck_assert_ptr_null(gst__jobs_get(&jobs, &ticket, &why));
        ck_assert_int_eq(why, GST_JOBS_TOO_MANY);
    }
    ck_assert_uint_eq(ticket, 77);
    gst__jobs_put(&jobs, last);
    ck_assert_ptr_eq(get(&jobs, &ticket), last);
    ck_assert_ptr_null(gst__jobs_get(&jobs, &ticket, &why));
    atomic_store(&jobs.count, count);
    gst__jobs_destroy(&jobs);
}
END_TEST

static void
set_all_generations(uint64_t next)
{
    uint32_t stripe;

    for (stripe = 0; stripe < GST_STRIPES; stripe++)
        gst__generation_set(stripe, next);
}

/*
 * At the ceiling a get is refused, again and again, writes no ticket, and the
 * sequence does not advance: otherwise it would wrap after enough tries.
 */
START_TEST(the_ticket_ceiling_refuses_for_ever)
{
    struct gst__jobs jobs = {0};
    enum gst__jobs_error why;
    struct gst__slot *slot;
    uint64_t ticket = 77;
    uint64_t seen = 0;
    int i;

    set_all_generations(GST_GENERATION_MAX - 2 * GST_GENERATION_BLOCK);
    ck_assert(gst__jobs_init(&jobs, 1));
    while ((slot = gst__jobs_get(&jobs, &ticket, &why)) != NULL) {
        ck_assert_uint_gt(ticket, seen);
        ck_assert_uint_lt(ticket, UINT64_C(1) << 63);
        seen = ticket;
        gst__jobs_put(&jobs, slot);
    }
    ck_assert_uint_gt(seen, 0);
    ticket = 77;
    for (i = 0; i < 100000; i++) {
        why = NO_REASON;
        slot = gst__jobs_get(&jobs, &ticket, &why);
        ck_assert_msg(slot == NULL, "try %d gave ticket %" PRIu64, i, ticket);
        ck_assert_int_eq(why, GST_JOBS_NO_TICKETS);
    }
    /* A sequence that advanced with each refusal would wrap here. */
    set_all_generations(UINT64_MAX - 5);
    for (i = 0; i < 1000; i++)
        ck_assert_ptr_null(gst__jobs_get(&jobs, &ticket, &why));
    ck_assert_uint_eq(ticket, 77);
    gst__jobs_destroy(&jobs);
}
END_TEST

/* The last values of the sequence itself, block by block. */
START_TEST(near_the_ceiling_no_ticket_repeats)
{
    uint64_t offset = (uint64_t)_i;
    struct gst__jobs jobs = {0};
    enum gst__jobs_error why = NO_REASON;
    struct gst__slot *slot;
    uint64_t ticket;
    uint64_t seen = 0;

    set_all_generations(GST_GENERATION_MAX - offset);
    ck_assert(gst__jobs_init(&jobs, 1));
    while ((slot = gst__jobs_get(&jobs, &ticket, &why)) != NULL) {
        ck_assert_uint_gt(ticket, seen);
        ck_assert_uint_lt(ticket, UINT64_C(1) << 63);
        ck_assert_uint_le(ticket >> GST_INDEX_BITS, GST_GENERATION_MAX);
        seen = ticket;
        gst__jobs_put(&jobs, slot);
    }
    ck_assert_int_eq(why, GST_JOBS_NO_TICKETS);
    gst__jobs_destroy(&jobs);
}
END_TEST

START_TEST(a_submit_at_the_ceiling_leaves_nothing)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    CallHeader header = {.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE};
    uint64_t random = t_seed();
    uint64_t ticket = 77;
    FfiStatus status;
    uint8_t input[8] = {0};
    int refusals;

    set_all_generations(GST_GENERATION_MAX);
    for (refusals = 0; refusals < 1000;) {
        int32_t code = gusset_submit(handle, &header, input, sizeof input, 0,
                                     &ticket, &status);

        if (code == FFI_OK) {
            /* Blocks drawn before the ceiling are used up first. */
            ck_assert_uint_eq(t_pipe_ticket(&pipe), ticket);
            ticket = 77;
            continue;
        }
        ck_assert_int_eq(code, FFI_ERR);
        ck_assert_uint_eq(ticket, 77);
        ck_assert_ptr_nonnull(status.msg);
        gusset_status_free(&status);
        refusals++;
        input[1] = (uint8_t)t_random(&random);
    }
    /* A refused submit is not in flight, so nothing is waited for. */
    ck_assert_int_eq(gusset_shutdown(UINT32_MAX), FFI_OK);
    ck_assert_int_eq(gusset_init(), FFI_OK);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

#define THREADS 4
#define ROUNDS 20000
#define HELD 3

struct churn {
    struct gst__jobs jobs;
    uint64_t *tickets[THREADS];
    _Atomic uint32_t wrong;
};

/*
 * Each thread holds a few slots at a time, marks them as its own, and gives
 * them back by put or by take: two owners of one slot would overwrite marks.
 */
static void
churn_main(void *argument, unsigned i)
{
    struct churn *churn = argument;
    struct gst__slot *held[HELD];
    enum gst__jobs_error why;
    struct gst__result result;
    uint64_t *ticket = churn->tickets[i];
    uint32_t round;
    unsigned k;

    for (round = 0; round < ROUNDS; round++, ticket += HELD) {
        for (k = 0; k < HELD; k++) {
            held[k] = gst__jobs_get(&churn->jobs, &ticket[k], &why);
            if (held[k] == NULL) {
                atomic_fetch_add(&churn->wrong, 1);
                return;
            }
            held[k]->deadline = ticket[k];
            gst__jobs_queue(held[k], ticket[k]);
        }
        for (k = 0; k < HELD; k++) {
            if (held[k]->deadline != ticket[k] ||
                gst__slot_ticket(held[k]) != ticket[k])
                atomic_fetch_add(&churn->wrong, 1);
            held[k]->result = success();
            if ((round + k) % 2 == 0) {
                gst__slot_inline(held[k]);
                gst__jobs_put(&churn->jobs, held[k]);
                continue;
            }
            gst__slot_done(held[k]);
            if (!gst__jobs_take(&churn->jobs, ticket[k], &result))
                atomic_fetch_add(&churn->wrong, 1);
        }
    }
}

static int
compare_tickets(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

START_TEST(the_free_list_survives_contention)
{
    const size_t each = (size_t)ROUNDS * HELD;
    struct churn *churn = calloc(1, sizeof *churn);
    uint64_t *all = calloc(THREADS * each, sizeof *all);
    size_t i;

    ck_assert(churn != NULL && all != NULL);
    for (i = 0; i < THREADS; i++)
        churn->tickets[i] = all + i * each;
    ck_assert(gst__jobs_init(&churn->jobs, 4));
    t_threads(THREADS, churn_main, churn);
    ck_assert_uint_eq(atomic_load(&churn->wrong), 0);
    /* At most THREADS x HELD were held: a lost slot shows as growth. */
    ck_assert_uint_le(atomic_load(&churn->jobs.count), 64);
    qsort(all, THREADS * each, sizeof *all, compare_tickets);
    for (i = 1; i < THREADS * each; i++)
        ck_assert_msg(all[i] != all[i - 1], "ticket %" PRIu64 " came twice",
                      all[i]);
    gst__jobs_destroy(&churn->jobs);
    free(all);
    free(churn);
}
END_TEST

struct race {
    struct gst__jobs jobs;
    uint64_t ticket;
    _Atomic uint32_t taken;
};

static void
take_main(void *argument, unsigned i)
{
    struct race *race = argument;
    struct gst__result result;

    (void)i;
    if (gst__jobs_take(&race->jobs, race->ticket, &result))
        atomic_fetch_add(&race->taken, 1);
}

START_TEST(racing_takes_have_one_winner)
{
    struct race race = {0};
    struct gst__slot *slot;
    int round;

    ck_assert(gst__jobs_init(&race.jobs, 2));
    for (round = 0; round < 500; round++) {
        slot = get(&race.jobs, &race.ticket);
        gst__jobs_queue(slot, race.ticket);
        slot->result = success();
        gst__slot_done(slot);
        atomic_init(&race.taken, 0);
        t_threads(3, take_main, &race);
        ck_assert_uint_eq(atomic_load(&race.taken), 1);
    }
    gst__jobs_destroy(&race.jobs);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("job");
    TCase *tcase = t_case(suite, "job");

    tcase_add_test(tcase, a_ticket_names_its_slot_until_it_is_taken);
    tcase_add_test(tcase, an_inline_result_is_never_taken);
    tcase_add_test(tcase, senseless_tickets_are_unknown);
    tcase_add_test(tcase, reuse_forgets_older_tickets);
    tcase_add_test(tcase, it_grows_on_demand);
    tcase_add_test(tcase, a_full_table_refuses_and_recovers);
    tcase_add_test(tcase, the_ticket_ceiling_refuses_for_ever);
    tcase_add_loop_test(tcase, near_the_ceiling_no_ticket_repeats, 0,
                        2 * GST_GENERATION_BLOCK + 2);
    tcase_add_test(tcase, a_submit_at_the_ceiling_leaves_nothing);
    tcase_add_test(tcase, the_free_list_survives_contention);
    tcase_add_test(tcase, racing_takes_have_one_winner);
    return suite;
}
