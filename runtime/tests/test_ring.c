/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The ring's writer side under many writers, against a reader by the book. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ring.h"
#include "t.h"

static _Atomic uint64_t *
slot_word(const struct GussetRing *ring, uint64_t position, unsigned word)
{
    uint64_t slot = position & (ring->capacity - 1);

    return (_Atomic uint64_t *)(void *)(ring->slots +
                                        slot * GUSSET_RING_SLOT_BYTES) +
           word;
}

static _Atomic uint32_t *
waiting_word(const struct GussetRing *ring)
{
    return (_Atomic uint32_t *)(void *)(ring->shared + GUSSET_RING_OFF_WAITING);
}

static _Atomic uint64_t *
header_word(const struct GussetRing *ring, size_t offset)
{
    return (_Atomic uint64_t *)(void *)(ring->shared + offset);
}

static void
drop_both_holds(struct GussetRing *ring)
{
    gst__ring_drop(ring);
    gst__ring_drop(ring);
}

START_TEST(capacity_is_a_power_of_two_for_every_pool)
{
    uint32_t pool;
    uint64_t capacity;

    for (pool = 1; pool <= GUSSET_MAX_POOL_SIZE; pool++) {
        capacity = gst__ring_capacity(pool);
        ck_assert_msg(capacity >= 2 && capacity >= pool &&
                          (capacity & (capacity - 1)) == 0,
                      "pool %u: capacity %llu", pool,
                      (unsigned long long)capacity);
    }
}
END_TEST

START_TEST(a_new_ring_is_as_the_reader_expects)
{
    struct GussetRing *ring = gst__ring_new(8);
    uint64_t i;

    ck_assert_ptr_nonnull(ring);
    ck_assert_uint_eq((uintptr_t)ring->shared % 64, 0);
    ck_assert_uint_eq((uintptr_t)ring->slots % 128, 0);
    ck_assert_uint_eq(atomic_load(header_word(ring, GUSSET_RING_OFF_CAPACITY)),
                      8);
    ck_assert_uint_eq(
        atomic_load(header_word(ring, GUSSET_RING_OFF_SLOT_BYTES)),
        GUSSET_RING_SLOT_BYTES);
    ck_assert_uint_eq(atomic_load(header_word(ring, GUSSET_RING_OFF_OVERFLOW)),
                      0);
    ck_assert_uint_eq(atomic_load(waiting_word(ring)), 0);
    for (i = 0; i < 8; i++)
        ck_assert_uint_eq(atomic_load(slot_word(ring, i, 0)), i);
    drop_both_holds(ring);
}
END_TEST

START_TEST(the_last_holder_frees_the_memory)
{
    struct t_census before = t_census_baseline();
    struct GussetRing *ring = gst__ring_new(64);
    AllocStats held;

    ck_assert_ptr_nonnull(ring);
    gusset_alloc_stats(&held);
    ck_assert_uint_ge(held.live_bytes,
                      before.live + 64 * GUSSET_RING_SLOT_BYTES);
    gst__ring_drop(ring);
    /* Still held: the words can be read and written. */
    atomic_store(slot_word(ring, 3, 0), 3);
    gst__ring_drop(ring);
    t_census_expect(before, "after both holders dropped the ring");
}
END_TEST

START_TEST(a_full_ring_takes_nothing_until_a_slot_is_freed)
{
    struct GussetRing *ring = gst__ring_new(4);
    uint64_t record[1];
    uint64_t position;
    bool token;

    ck_assert_ptr_nonnull(ring);
    for (position = 0; position < 40; position++) {
        record[0] = 100 + position;
        if (position >= 4) {
            token = true;
            ck_assert(!gst__ring_publish(ring, record, 1, &token));
            ck_assert_uint_eq(atomic_load(slot_word(ring, position - 4, 0)),
                              position - 4 + 1);
            ck_assert_uint_eq(atomic_load(slot_word(ring, position - 4, 1)),
                              100 + position - 4);
            atomic_store(slot_word(ring, position - 4, 0), position);
        }
        ck_assert(gst__ring_publish(ring, record, 1, &token));
        ck_assert(!token);
        ck_assert_uint_eq(atomic_load(slot_word(ring, position, 0)),
                          position + 1);
        ck_assert_uint_eq(atomic_load(slot_word(ring, position, 1)),
                          100 + position);
    }
    drop_both_holds(ring);
}
END_TEST

START_TEST(waiting_is_paid_with_one_token)
{
    static const uint32_t nonzero[] = {1, 2, UINT32_MAX};
    struct GussetRing *ring = gst__ring_new(8);
    uint64_t record[1] = {1};
    size_t i;
    bool token;

    ck_assert_ptr_nonnull(ring);
    for (i = 0; i < sizeof nonzero / sizeof nonzero[0]; i++) {
        atomic_store(waiting_word(ring), nonzero[i]);
        ck_assert(gst__ring_publish(ring, record, 1, &token));
        ck_assert(token);
        ck_assert_uint_eq(atomic_load(waiting_word(ring)), 0);
        ck_assert(gst__ring_publish(ring, record, 1, &token));
        ck_assert(!token);
    }
    drop_both_holds(ring);
}
END_TEST

/* A record that is not published owes nothing, and leaves `waiting` set. */
START_TEST(an_overflow_takes_no_token)
{
    struct GussetRing *ring = gst__ring_new(2);
    uint64_t record[1] = {1};
    bool token = true;

    ck_assert_ptr_nonnull(ring);
    ck_assert(gst__ring_publish(ring, record, 1, &token));
    ck_assert(gst__ring_publish(ring, record, 1, &token));
    atomic_store(waiting_word(ring), 1);
    token = false;
    ck_assert(!gst__ring_publish(ring, record, 1, &token));
    ck_assert(!token);
    ck_assert_uint_eq(atomic_load(waiting_word(ring)), 1);
    gst__ring_overflowed(ring);
    gst__ring_overflowed(ring);
    ck_assert_uint_eq(atomic_load(header_word(ring, GUSSET_RING_OFF_OVERFLOW)),
                      2);
    drop_both_holds(ring);
}
END_TEST

/* Nonsense in the reader's words costs records, and nothing else. */
START_TEST(nonsense_sequence_words_are_survived)
{
    uint64_t random = t_seed();
    struct GussetRing *ring = gst__ring_new(4);
    uint64_t record[GST_RECORD_WORDS] = {0};
    uint64_t capacity;
    bool token;
    int i;

    ck_assert_ptr_nonnull(ring);
    for (i = 0; i < 5000; i++) {
        atomic_store(slot_word(ring, t_below(&random, 4), 0),
                     t_below(&random, 2) == 0 ? t_random(&random)
                                              : t_below(&random, 16));
        atomic_store(header_word(ring, GUSSET_RING_OFF_CAPACITY),
                     t_random(&random));
        atomic_store(header_word(ring, GUSSET_RING_OFF_SLOT_BYTES),
                     t_random(&random));
        gst__ring_publish(ring, record, GST_RECORD_WORDS, &token);
        capacity = ring->capacity;
        ck_assert_uint_eq(capacity, 4);
    }
    drop_both_holds(ring);
}
END_TEST

#define WRITERS 4
#define PER_WRITER 15000
#define RECORDS (WRITERS * PER_WRITER)

/*
 * `notice` stands for the pipe's readability: one post per token and one per
 * record that went round the ring.
 */
struct traffic {
    struct GussetRing *ring;
    bool parks;
    sem_t notice;
    _Atomic uint64_t tokens;
    uint64_t times_waiting;
    uint64_t from_ring;
    uint64_t torn;
    bool lost_wake;
    _Atomic uint64_t overflowed;
    _Atomic uint8_t seen[RECORDS + 1];
};

/* Every word follows from the first, so that a mixture of two shows. */
static uint64_t
expected_word(uint64_t id, unsigned word)
{
    return word == 0 ? id : id * UINT64_C(0x9e3779b97f4a7c15) + word;
}

static unsigned
expected_words(uint64_t id)
{
    return 1 + (unsigned)(id % GST_RECORD_WORDS);
}

static void
write_records(struct traffic *traffic, uint64_t first)
{
    uint64_t record[GST_RECORD_WORDS];
    uint64_t id;
    unsigned word;
    bool token;

    for (id = first; id < first + PER_WRITER; id++) {
        for (word = 0; word < expected_words(id); word++)
            record[word] = expected_word(id, word);
        if (gst__ring_publish(traffic->ring, record, expected_words(id),
                              &token)) {
            if (token) {
                atomic_fetch_add(&traffic->tokens, 1);
                sem_post(&traffic->notice);
            }
            continue;
        }
        atomic_fetch_add(&traffic->seen[id], 1);
        atomic_fetch_add(&traffic->overflowed, 1);
        gst__ring_overflowed(traffic->ring);
        sem_post(&traffic->notice);
        sched_yield();
    }
}

static void
park(struct traffic *traffic, uint64_t position)
{
    struct timespec limit;

    traffic->times_waiting++;
    atomic_store(waiting_word(traffic->ring), 1);
    if (atomic_load(slot_word(traffic->ring, position, 0)) != position + 1) {
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += 60;
        while (sem_timedwait(&traffic->notice, &limit) != 0)
            if (errno == ETIMEDOUT) {
                traffic->lost_wake = true;
                break;
            }
    }
    atomic_exchange(waiting_word(traffic->ring), 0);
}

static void
copy_record(struct traffic *traffic, uint64_t position)
{
    uint64_t record[GST_RECORD_WORDS];
    unsigned word;

    memcpy(record,
           (const uint8_t *)slot_word(traffic->ring, position, 0) +
               GUSSET_RING_SLOT_OFF_RECORD,
           sizeof record);
    atomic_store_explicit(slot_word(traffic->ring, position, 0),
                          position + traffic->ring->capacity,
                          memory_order_release);
    traffic->from_ring++;
    if (record[0] == 0 || record[0] > RECORDS) {
        traffic->torn++;
        return;
    }
    atomic_fetch_add(&traffic->seen[record[0]], 1);
    for (word = 0; word < expected_words(record[0]); word++)
        traffic->torn += record[word] != expected_word(record[0], word);
}

static void
read_records(struct traffic *traffic)
{
    uint64_t position = 0;

    while (traffic->from_ring + atomic_load(&traffic->overflowed) < RECORDS &&
           !traffic->lost_wake) {
        if (atomic_load_explicit(slot_word(traffic->ring, position, 0),
                                 memory_order_acquire) == position + 1)
            copy_record(traffic, position++);
        else if (traffic->parks)
            park(traffic, position);
        else
            sched_yield();
    }
}

static void
traffic_main(void *argument, unsigned i)
{
    struct traffic *traffic = argument;

    if (i < WRITERS)
        write_records(traffic, 1 + (uint64_t)i * PER_WRITER);
    else
        read_records(traffic);
}

static void
run_traffic(uint64_t capacity, bool parks)
{
    struct traffic *traffic = calloc(1, sizeof *traffic);
    uint64_t id;

    ck_assert_ptr_nonnull(traffic);
    traffic->ring = gst__ring_new(capacity);
    ck_assert_ptr_nonnull(traffic->ring);
    traffic->parks = parks;
    ck_assert_int_eq(sem_init(&traffic->notice, 0, 0), 0);
    t_threads(WRITERS + 1, traffic_main, traffic);
    ck_assert(!traffic->lost_wake);
    ck_assert_uint_eq(traffic->torn, 0);
    for (id = 1; id <= RECORDS; id++)
        ck_assert_msg(atomic_load(&traffic->seen[id]) == 1,
                      "record %llu arrived %u times", (unsigned long long)id,
                      (unsigned)atomic_load(&traffic->seen[id]));
    ck_assert_uint_eq(
        atomic_load(header_word(traffic->ring, GUSSET_RING_OFF_OVERFLOW)),
        atomic_load(&traffic->overflowed));
    ck_assert_uint_le(atomic_load(&traffic->tokens), traffic->times_waiting);
    /* Both ways must have been taken, or the run has shown nothing. */
    ck_assert_uint_gt(traffic->from_ring, 0);
    if (capacity == 2)
        ck_assert_uint_gt(atomic_load(&traffic->overflowed), 0);
    drop_both_holds(traffic->ring);
    sem_destroy(&traffic->notice);
    free(traffic);
}

START_TEST(many_writers_and_a_polling_reader)
{
    run_traffic(UINT64_C(2) << _i, false);
}
END_TEST

START_TEST(many_writers_and_a_parking_reader)
{
    run_traffic(UINT64_C(2) << _i, true);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("ring");
    TCase *tcase = t_case(suite, "ring");
    TCase *threads = t_case(suite, "threads");

    tcase_add_test(tcase, capacity_is_a_power_of_two_for_every_pool);
    tcase_add_test(tcase, a_new_ring_is_as_the_reader_expects);
    tcase_add_test(tcase, the_last_holder_frees_the_memory);
    tcase_add_test(tcase, a_full_ring_takes_nothing_until_a_slot_is_freed);
    tcase_add_test(tcase, waiting_is_paid_with_one_token);
    tcase_add_test(tcase, an_overflow_takes_no_token);
    tcase_add_test(tcase, nonsense_sequence_words_are_survived);
    tcase_add_loop_test(threads, many_writers_and_a_polling_reader, 0, 3);
    tcase_add_loop_test(threads, many_writers_and_a_parking_reader, 0, 3);
    return suite;
}
