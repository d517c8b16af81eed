/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The bounded work queue: exact capacity, order, and nothing lost or doubled.
 */
#include <sched.h>
#include <stdlib.h>

#include "queue.h"
#include "t.h"

static const uint32_t capacities[] = {2, 3, 6, 7, 64, 2048};
#define CAPACITIES (sizeof capacities / sizeof capacities[0])

START_TEST(capacity_is_exact)
{
    uint32_t capacity = capacities[_i];
    struct gst__queue queue;
    uint32_t value;
    uint32_t round;
    uint32_t i;

    ck_assert(gst__queue_init(&queue, capacity));
    /* Several rounds, so that every cell is reused and positions wrap. */
    for (round = 0; round < 5; round++) {
        ck_assert(!gst__queue_ready(&queue));
        ck_assert(!gst__queue_pop(&queue, &value));
        for (i = 0; i < capacity; i++)
            ck_assert_msg(gst__queue_push(&queue, round * capacity + i),
                          "push %u of %u refused", i, capacity);
        ck_assert(!gst__queue_push(&queue, 0));
        ck_assert(!gst__queue_push(&queue, 0));
        for (i = 0; i < capacity; i++) {
            ck_assert(gst__queue_ready(&queue));
            ck_assert(gst__queue_pop(&queue, &value));
            ck_assert_uint_eq(value, round * capacity + i);
        }
    }
    gst__queue_destroy(&queue);
}
END_TEST

START_TEST(order_holds_at_every_fill)
{
    uint32_t capacity = capacities[_i];
    uint64_t random = t_seed() + (uint64_t)_i;
    struct gst__queue queue;
    uint32_t pushed = 0;
    uint32_t popped = 0;
    uint32_t value;
    int step;

    ck_assert(gst__queue_init(&queue, capacity));
    for (step = 0; step < 20000; step++) {
        if (t_below(&random, 2) == 0) {
            bool room = pushed - popped < capacity;

            ck_assert_int_eq(gst__queue_push(&queue, pushed), room);
            pushed += room;
        } else {
            bool any = pushed != popped;

            ck_assert_int_eq(gst__queue_pop(&queue, &value), any);
            if (any)
                ck_assert_uint_eq(value, popped);
            popped += any;
        }
    }
    gst__queue_destroy(&queue);
}
END_TEST

#define PRODUCERS 4
#define CONSUMERS 4
#define PER_PRODUCER 20000
#define VALUES (PRODUCERS * PER_PRODUCER)

struct traffic {
    struct gst__queue queue;
    _Atomic uint32_t popped;
    _Atomic uint32_t out_of_order;
    _Atomic uint8_t seen[VALUES];
};

static void
produce(struct traffic *traffic, uint32_t producer)
{
    uint32_t i;

    for (i = 0; i < PER_PRODUCER; i++)
        while (!gst__queue_push(&traffic->queue, producer * PER_PRODUCER + i))
            sched_yield();
}

/*
 * FIFO means for one consumer: the values it gets of one producer only grow,
 * because they were pushed in that order.
 */
static void
consume(struct traffic *traffic)
{
    uint32_t latest[PRODUCERS] = {0};
    uint32_t value;
    uint32_t producer;

    while (atomic_load(&traffic->popped) < VALUES) {
        if (!gst__queue_pop(&traffic->queue, &value)) {
            sched_yield();
            continue;
        }
        atomic_fetch_add(&traffic->popped, 1);
        if (value >= VALUES) {
            atomic_fetch_add(&traffic->out_of_order, 1);
            continue;
        }
        atomic_fetch_add(&traffic->seen[value], 1);
        producer = value / PER_PRODUCER;
        if (value % PER_PRODUCER + 1 <= latest[producer])
            atomic_fetch_add(&traffic->out_of_order, 1);
        latest[producer] = value % PER_PRODUCER + 1;
    }
}

static void
traffic_main(void *argument, unsigned i)
{
    struct traffic *traffic = argument;

    if (i < PRODUCERS)
        produce(traffic, i);
    else
        consume(traffic);
}

START_TEST(contention_loses_and_doubles_nothing)
{
    struct traffic *traffic = calloc(1, sizeof *traffic);
    uint32_t value;
    uint32_t i;

    ck_assert_ptr_nonnull(traffic);
    ck_assert(gst__queue_init(&traffic->queue, capacities[_i]));
    t_threads(PRODUCERS + CONSUMERS, traffic_main, traffic);
    ck_assert_uint_eq(atomic_load(&traffic->out_of_order), 0);
    ck_assert_uint_eq(atomic_load(&traffic->popped), VALUES);
    for (i = 0; i < VALUES; i++)
        ck_assert_msg(atomic_load(&traffic->seen[i]) == 1,
                      "value %u arrived %u times", i,
                      (unsigned)atomic_load(&traffic->seen[i]));
    ck_assert(!gst__queue_pop(&traffic->queue, &value));
    gst__queue_destroy(&traffic->queue);
    free(traffic);
}
END_TEST

struct filling {
    struct gst__queue queue;
    _Atomic uint32_t accepted;
};

static void
fill_main(void *argument, unsigned i)
{
    struct filling *filling = argument;
    int tries;

    for (tries = 0; tries < 500; tries++)
        if (gst__queue_push(&filling->queue, i))
            atomic_fetch_add(&filling->accepted, 1);
}

/* Nobody pops, so however the pushes race, exactly `capacity` succeed. */
START_TEST(racing_pushes_fill_it_exactly)
{
    struct filling filling;
    uint32_t value;
    uint32_t popped = 0;
    int round;

    for (round = 0; round < 50; round++) {
        ck_assert(gst__queue_init(&filling.queue, capacities[_i]));
        atomic_init(&filling.accepted, 0);
        t_threads(3, fill_main, &filling);
        ck_assert_uint_eq(atomic_load(&filling.accepted),
                          capacities[_i] < 1500 ? capacities[_i] : 1500);
        for (popped = 0; gst__queue_pop(&filling.queue, &value); popped++)
            ck_assert_uint_lt(value, 3);
        ck_assert_uint_eq(popped, atomic_load(&filling.accepted));
        gst__queue_destroy(&filling.queue);
    }
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("queue");
    TCase *tcase = t_case(suite, "queue");

    tcase_add_loop_test(tcase, capacity_is_exact, 0, CAPACITIES);
    tcase_add_loop_test(tcase, order_holds_at_every_fill, 0, CAPACITIES);
    tcase_add_loop_test(tcase, contention_loses_and_doubles_nothing, 0,
                        CAPACITIES);
    tcase_add_loop_test(tcase, racing_pushes_fill_it_exactly, 0, CAPACITIES);
    return suite;
}
