/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The counters, and the allocator that keeps them. */
#include <string.h>

#include "stats.h"
#include "t.h"

static AllocStats
read_counters(struct gst__counters *counters)
{
    AllocStats stats;

    gst__counters_read(counters, &stats);
    return stats;
}

START_TEST(live_saturates_at_both_ends)
{
    struct gst__counters counters = {0};
    AllocStats stats;

    gst__counters_sub(&counters, 1);
    ck_assert_uint_eq(read_counters(&counters).live_bytes, 0);
    gst__counters_add(&counters, UINT64_MAX - 5);
    ck_assert_uint_eq(read_counters(&counters).live_bytes, UINT64_MAX - 5);
    gst__counters_add(&counters, 5);
    gst__counters_add(&counters, 1);
    ck_assert_uint_eq(read_counters(&counters).live_bytes, UINT64_MAX);
    gst__counters_add(&counters, UINT64_MAX);
    stats = read_counters(&counters);
    ck_assert_uint_eq(stats.live_bytes, UINT64_MAX);
    ck_assert_uint_eq(stats.peak_bytes, UINT64_MAX);
    ck_assert_uint_eq(stats.alloc_count, 4);
    gst__counters_sub(&counters, UINT64_MAX - 3);
    ck_assert_uint_eq(read_counters(&counters).live_bytes, 3);
    gst__counters_sub(&counters, 4);
    stats = read_counters(&counters);
    ck_assert_uint_eq(stats.live_bytes, 0);
    ck_assert_uint_eq(stats.peak_bytes, UINT64_MAX);
}
END_TEST

START_TEST(count_saturates)
{
    struct gst__counters counters = {0};
    int i;

    atomic_store(&counters.count, UINT64_MAX - 2);
    for (i = 0; i < 10; i++)
        gst__counters_add(&counters, 1);
    ck_assert_uint_eq(read_counters(&counters).alloc_count, UINT64_MAX);
}
END_TEST

/* A reader that comes between the rise of live and that of peak. */
START_TEST(a_read_never_shows_live_above_peak)
{
    struct gst__counters counters = {0};
    AllocStats stats;

    gst__counters_add(&counters, 10);
    atomic_store(&counters.live, 50);
    stats = read_counters(&counters);
    ck_assert_uint_le(stats.live_bytes, stats.peak_bytes);
    atomic_store(&counters.live, 20);
    ck_assert_uint_ge(read_counters(&counters).peak_bytes, stats.peak_bytes);
}
END_TEST

#define THREADS 4
#define ROUNDS 100000

struct traffic {
    struct gst__counters counters;
    _Atomic uint32_t writers_left;
    _Atomic uint32_t wrong;
};

static void
traffic_main(void *argument, unsigned i)
{
    struct traffic *traffic = argument;
    AllocStats last = {0};
    AllocStats now;
    uint64_t round;

    if (i == 0) {
        while (atomic_load(&traffic->writers_left) > 0) {
            now = read_counters(&traffic->counters);
            if (now.live_bytes > now.peak_bytes ||
                now.peak_bytes < last.peak_bytes ||
                now.alloc_count < last.alloc_count)
                atomic_fetch_add(&traffic->wrong, 1);
            last = now;
        }
        return;
    }
    for (round = 0; round < ROUNDS; round++) {
        gst__counters_add(&traffic->counters, round % 97 + i);
        gst__counters_sub(&traffic->counters, round % 97 + i);
    }
    atomic_fetch_sub(&traffic->writers_left, 1);
}

START_TEST(the_algebra_holds_under_contention)
{
    static struct traffic traffic;
    AllocStats stats;

    atomic_init(&traffic.writers_left, THREADS - 1);
    t_threads(THREADS, traffic_main, &traffic);
    stats = read_counters(&traffic.counters);
    ck_assert_uint_eq(atomic_load(&traffic.wrong), 0);
    ck_assert_uint_eq(stats.live_bytes, 0);
    ck_assert_uint_eq(stats.alloc_count, (uint64_t)(THREADS - 1) * ROUNDS);
    ck_assert_uint_le(stats.peak_bytes, (THREADS - 1) * (96 + THREADS));
}
END_TEST

START_TEST(blocks_are_aligned_and_counted_exactly)
{
    static const size_t alignments[] = {16, 32, 64, 128, 4096};
    size_t alignment = alignments[_i];
    size_t size;
    size_t i;
    AllocStats before;
    AllocStats held;
    AllocStats after;
    uint8_t *memory;

    for (size = 1; size < 9000; size += 1 + size / 7) {
        gusset_alloc_stats(&before);
        memory = gst__alloc_zeroed(size, alignment);
        ck_assert_ptr_nonnull(memory);
        ck_assert_uint_eq((uintptr_t)memory % alignment, 0);
        for (i = 0; i < size; i++)
            ck_assert(memory[i] == 0);
        gusset_alloc_stats(&held);
        ck_assert_uint_ge(held.live_bytes, before.live_bytes + size);
        ck_assert_uint_eq(held.alloc_count, before.alloc_count + 1);
        memset(memory, 0xA5, size);
        gst__free(memory);
        gusset_alloc_stats(&after);
        ck_assert_uint_eq(after.live_bytes, before.live_bytes);
    }
}
END_TEST

START_TEST(realloc_keeps_content_and_count)
{
    AllocStats before;
    AllocStats after;
    uint8_t *memory = NULL;
    uint8_t *moved;
    size_t size;
    size_t i;

    gusset_alloc_stats(&before);
    for (size = 1; size < 300000; size = size * 3 + 1) {
        moved = gse_realloc(memory, size);
        ck_assert_ptr_nonnull(moved);
        for (i = 0; i < size / 3; i++)
            ck_assert(moved[i] == 0x5A);
        memset(moved, 0x5A, size);
        memory = moved;
    }
    /* A refused growth leaves the block as it was. */
    ck_assert_ptr_null(gse_realloc(memory, SIZE_MAX));
    ck_assert_ptr_null(gse_realloc(memory, SIZE_MAX - 8));
    ck_assert_uint_eq(memory[0], 0x5A);
    gse_free(memory);
    gusset_alloc_stats(&after);
    ck_assert_uint_eq(after.live_bytes, before.live_bytes);
}
END_TEST

START_TEST(absurd_sizes_are_refused)
{
    AllocStats before;
    AllocStats after;

    gusset_alloc_stats(&before);
    ck_assert_ptr_null(gst__alloc(SIZE_MAX));
    ck_assert_ptr_null(gst__alloc(SIZE_MAX - 15));
    ck_assert_ptr_null(gst__alloc_zeroed(SIZE_MAX, 64));
    ck_assert_ptr_null(gst__alloc_zeroed(SIZE_MAX - 70, 64));
    ck_assert_ptr_null(gse_alloc(SIZE_MAX / 2));
    gst__free(NULL);
    gusset_alloc_stats(&after);
    ck_assert_uint_eq(after.live_bytes, before.live_bytes);
    ck_assert_uint_eq(after.alloc_count, before.alloc_count);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("stats");
    TCase *tcase = t_case(suite, "stats");

    tcase_add_test(tcase, live_saturates_at_both_ends);
    tcase_add_test(tcase, count_saturates);
    tcase_add_test(tcase, a_read_never_shows_live_above_peak);
    tcase_add_test(tcase, the_algebra_holds_under_contention);
    tcase_add_loop_test(tcase, blocks_are_aligned_and_counted_exactly, 0, 5);
    tcase_add_test(tcase, realloc_keeps_content_and_count);
    tcase_add_test(tcase, absurd_sizes_are_refused);
    return suite;
}
