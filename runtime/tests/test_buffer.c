/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of buffers: ids, holders, readers, and the rules for outputs. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "stats.h"
#include "t.h"

#define ID_CEILING (UINT64_C(1) << 63)

static struct gst__buffer *
new_buffer(size_t len)
{
    enum gst__buffer_error why;
    struct gst__buffer *buffer = gst__buffer_new(len, &why);

    ck_assert_ptr_nonnull(buffer);
    return buffer;
}

static uint64_t
list_new(struct gst__buffer_table *table, size_t len, bool host_held)
{
    struct gst__buffer *buffer = new_buffer(len);
    uint64_t id = buffer->id;

    gst__buffer_list(table, buffer, host_held);
    return id;
}

/* Expects a refusal with these words, and drops its text. */
static void
expect_refusal(struct gst__buffer_table *table, uint64_t id, uint64_t input_id,
               const char *words)
{
    struct gst__text refusal = {NULL, 0};
    char text[256];

    ck_assert_ptr_null(gst__buffer_claim(table, id, input_id, &refusal));
    ck_assert_ptr_nonnull(refusal.bytes);
    ck_assert_uint_lt(refusal.len, sizeof text);
    memcpy(text, refusal.bytes, refusal.len);
    text[refusal.len] = '\0';
    ck_assert_msg(strstr(text, words) != NULL,
                  "expected a refusal with \"%s\", got \"%s\"", words, text);
    gst__text_free(&refusal);
}

START_TEST(a_buffer_is_zeroed_and_aligned)
{
    static const size_t lengths[] = {1, 15, 16, 63, 64, 65, 4096, 100000};
    size_t len = lengths[_i];
    struct t_census before = t_census_baseline();
    struct gst__buffer *buffer;
    size_t i;
    int round;

    for (round = 0; round < 50; round++) {
        buffer = new_buffer(len);
        ck_assert_uint_eq((uintptr_t)buffer->bytes % GUSSET_BUFFER_ALIGNMENT,
                          0);
        ck_assert_uint_eq(buffer->len, len);
        for (i = 0; i < len; i++)
            ck_assert(buffer->bytes[i] == 0);
        memset(buffer->bytes, 0xFF, len);
        gst__buffer_drop(buffer);
    }
    t_census_expect(before, "after all buffers were dropped");
}
END_TEST

/* At the ceiling: refused for ever, the counter stays, nothing is leaked. */
START_TEST(the_id_ceiling_refuses_for_ever)
{
    struct t_census before = t_census_baseline();
    enum gst__buffer_error why;
    struct gst__buffer *buffer;
    int i;

    gst__buffer_ids_set(ID_CEILING - 2);
    for (i = 2; i > 0; i--) {
        buffer = new_buffer(1);
        ck_assert_uint_eq(buffer->id, ID_CEILING - (uint64_t)i);
        gst__buffer_drop(buffer);
    }
    for (i = 0; i < 100000; i++) {
        why = GST_BUFFER_NO_MEMORY;
        buffer = gst__buffer_new(1, &why);
        ck_assert_msg(buffer == NULL, "try %d gave an id", i);
        ck_assert_int_eq(why, GST_BUFFER_NO_IDS);
    }
    /* A counter that advanced with each refusal would wrap here. */
    gst__buffer_ids_set(UINT64_MAX - 5);
    for (i = 0; i < 100; i++)
        ck_assert_ptr_null(gst__buffer_new(1, &why));
    t_census_expect(before, "after the refusals");
}
END_TEST

struct drawing {
    _Atomic uint32_t drawn;
    _Atomic uint32_t wrong;
};

static void
draw_main(void *argument, unsigned i)
{
    struct drawing *drawing = argument;
    enum gst__buffer_error why;
    struct gst__buffer *buffer;
    int round;

    (void)i;
    for (round = 0; round < 1000; round++) {
        buffer = gst__buffer_new(1, &why);
        if (buffer == NULL)
            continue;
        atomic_fetch_add(&drawing->drawn, 1);
        if (buffer->id >= ID_CEILING || buffer->id < ID_CEILING - 1000)
            atomic_fetch_add(&drawing->wrong, 1);
        gst__buffer_drop(buffer);
    }
}

START_TEST(racing_draws_stop_at_the_ceiling)
{
    struct drawing drawing = {0};

    gst__buffer_ids_set(ID_CEILING - 1000);
    t_threads(4, draw_main, &drawing);
    ck_assert_uint_eq(atomic_load(&drawing.drawn), 1000);
    ck_assert_uint_eq(atomic_load(&drawing.wrong), 0);
}
END_TEST

START_TEST(an_export_at_the_ceiling_reports_it)
{
    struct t_pipe pipe = t_pipe_new();
    GussetHandle *handle = t_open(&pipe, 1);
    uint64_t id = 5;
    uint8_t *bytes = NULL;
    FfiStatus status;
    AllocStats before;
    AllocStats after;

    gst__buffer_ids_set(ID_CEILING);
    gusset_alloc_stats(&before);
    ck_assert_int_eq(gusset_buf_alloc(handle, 64, &id, &bytes, &status),
                     FFI_ERR);
    ck_assert_uint_eq(id, 5);
    ck_assert_ptr_null(bytes);
    ck_assert_ptr_nonnull(status.msg);
    gusset_status_free(&status);
    gusset_alloc_stats(&after);
    ck_assert_uint_eq(after.live_bytes, before.live_bytes);
    t_close(handle);
    t_pipe_drop(&pipe, false);
}
END_TEST

START_TEST(a_reader_keeps_released_memory)
{
    struct t_census before = t_census_baseline();
    struct gst__buffer_table table;
    struct gst__buffer *first;
    struct gst__buffer *second;
    uint64_t id;
    AllocStats held;

    gst__buffers_init(&table);
    id = list_new(&table, 100000, true);
    first = gst__buffer_read(&table, id);
    second = gst__buffer_read(&table, id);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_eq(first, second);
    memset(first->bytes, 7, first->len);
    ck_assert(gst__buffer_release(&table, id));
    ck_assert(!gst__buffer_release(&table, id));
    ck_assert_ptr_null(gst__buffer_read(&table, id));
    gst__buffer_read_end(&table, first);
    gusset_alloc_stats(&held);
    ck_assert_uint_ge(held.live_bytes, before.live + 100000);
    ck_assert_uint_eq(second->bytes[99999], 7);
    gst__buffer_read_end(&table, second);
    gusset_alloc_stats(&held);
    ck_assert_uint_lt(held.live_bytes, before.live + 100000);
    gst__buffers_destroy(&table);
    t_census_expect(before, "after the table was destroyed");
}
END_TEST

START_TEST(outputs_are_judged)
{
    struct gst__buffer_table table;
    struct gst__buffer *reading;
    struct gst__text refusal = {NULL, 0};
    uint64_t engine_made;
    uint64_t read_elsewhere;
    uint64_t host_held;

    gst__buffers_init(&table);
    engine_made = list_new(&table, 10, false);
    read_elsewhere = list_new(&table, 10, false);
    host_held = list_new(&table, 10, true);
    reading = gst__buffer_read(&table, read_elsewhere);
    expect_refusal(&table, 0, 0, "never a live buffer");
    expect_refusal(&table, 0, host_held, "never a live buffer");
    expect_refusal(&table, host_held, host_held, "input buffer");
    expect_refusal(&table, host_held, 0, "caller still holds");
    expect_refusal(&table, read_elsewhere, 0, "input");
    expect_refusal(&table, UINT64_C(1) << 62, 0, "no such live buffer");
    ck_assert_ptr_nonnull(gst__buffer_claim(&table, engine_made, 0, &refusal));
    expect_refusal(&table, engine_made, 0, "already");
    /* The host cannot free what it was never given. */
    ck_assert(!gst__buffer_release(&table, engine_made));
    gst__buffer_read_end(&table, reading);
    gst__buffers_destroy(&table);
}
END_TEST

START_TEST(a_taken_result_is_the_hosts)
{
    struct gst__buffer_table table;
    struct gst__buffer *unlisted = new_buffer(5);
    struct gst__buffer *claimed;
    struct gst__text refusal = {NULL, 0};
    uint64_t id = unlisted->id;
    uint64_t listed;

    gst__buffers_init(&table);
    listed = list_new(&table, 5, false);
    claimed = gst__buffer_claim(&table, listed, 0, &refusal);
    ck_assert_ptr_nonnull(claimed);
    gst__buffer_hand_over(&table, unlisted);
    gst__buffer_hand_over(&table, claimed);
    expect_refusal(&table, id, 0, "already");
    ck_assert(gst__buffer_release(&table, id));
    ck_assert(gst__buffer_release(&table, listed));
    expect_refusal(&table, id, 0, "no such live buffer");
    expect_refusal(&table, listed, 0, "no such live buffer");
    gst__buffers_destroy(&table);
}
END_TEST

/* Thousands of buffers in a random order: the table grows and forgets. */
START_TEST(many_buffers_are_found_and_forgotten)
{
    enum { COUNT = 5000 };
    struct t_census before = t_census_baseline();
    uint64_t random = t_seed();
    uint64_t *ids = calloc(COUNT, sizeof *ids);
    struct gst__buffer_table table;
    struct gst__buffer *buffer;
    size_t i;
    size_t j;
    uint64_t swap;

    ck_assert_ptr_nonnull(ids);
    gst__buffers_init(&table);
    for (i = 0; i < COUNT; i++)
        ids[i] = list_new(&table, 1 + i % 100, true);
    for (i = COUNT - 1; i > 0; i--) {
        j = t_below(&random, i + 1);
        swap = ids[i];
        ids[i] = ids[j];
        ids[j] = swap;
    }
    for (i = 0; i < COUNT / 2; i++) {
        buffer = gst__buffer_read(&table, ids[i]);
        ck_assert_msg(buffer != NULL && buffer->id == ids[i],
                      "id %" PRIu64 " was not found", ids[i]);
        gst__buffer_read_end(&table, buffer);
        ck_assert(gst__buffer_release(&table, ids[i]));
        ck_assert_ptr_null(gst__buffer_read(&table, ids[i]));
    }
    ck_assert_uint_eq(table.count, COUNT - COUNT / 2);
    gst__buffers_destroy(&table);
    free(ids);
    t_census_expect(before, "after the table was destroyed");
}
END_TEST

struct claiming {
    struct gst__buffer_table table;
    uint64_t id;
    _Atomic uint32_t claimed;
};

static void
claim_main(void *argument, unsigned i)
{
    struct claiming *claiming = argument;
    struct gst__text refusal = {NULL, 0};

    (void)i;
    if (gst__buffer_claim(&claiming->table, claiming->id, 0, &refusal) != NULL)
        atomic_fetch_add(&claiming->claimed, 1);
    gst__text_free(&refusal);
}

START_TEST(racing_claims_have_one_winner)
{
    struct claiming claiming;
    int round;

    gst__buffers_init(&claiming.table);
    for (round = 0; round < 300; round++) {
        claiming.id = list_new(&claiming.table, 8, false);
        atomic_init(&claiming.claimed, 0);
        t_threads(3, claim_main, &claiming);
        ck_assert_uint_eq(atomic_load(&claiming.claimed), 1);
    }
    gst__buffers_destroy(&claiming.table);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("buffer");
    TCase *tcase = t_case(suite, "buffer");

    tcase_add_loop_test(tcase, a_buffer_is_zeroed_and_aligned, 0, 8);
    tcase_add_test(tcase, the_id_ceiling_refuses_for_ever);
    tcase_add_test(tcase, racing_draws_stop_at_the_ceiling);
    tcase_add_test(tcase, an_export_at_the_ceiling_reports_it);
    tcase_add_test(tcase, a_reader_keeps_released_memory);
    tcase_add_test(tcase, outputs_are_judged);
    tcase_add_test(tcase, a_taken_result_is_the_hosts);
    tcase_add_test(tcase, many_buffers_are_found_and_forgotten);
    tcase_add_test(tcase, racing_claims_have_one_winner);
    return suite;
}
