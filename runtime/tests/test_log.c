/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The log ring against a model that keeps lines as lines. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "t.h"

/* The model: lines with their newline, oldest first. */
#define MODEL_LINES (GST_LOG_BYTES + 1)
struct model {
    struct line {
        uint8_t *bytes;
        size_t len;
    } lines[MODEL_LINES];
    size_t first;
    size_t count;
    size_t bytes;
};

static void
model_drop_first(struct model *model)
{
    struct line *line = &model->lines[model->first];

    model->bytes -= line->len;
    free(line->bytes);
    model->first = (model->first + 1) % MODEL_LINES;
    model->count--;
}

/* text is valid UTF-8 without newlines. */
static void
model_append(struct model *model, const uint8_t *text, size_t len)
{
    struct line *line;
    size_t cut = len;

    if (len > GST_LOG_BYTES - 1) {
        cut = GST_LOG_BYTES - 1;
        while ((text[cut] & 0xC0) == 0x80)
            cut--;
    }
    while (model->bytes + cut + 1 > GST_LOG_BYTES)
        model_drop_first(model);
    line = &model->lines[(model->first + model->count) % MODEL_LINES];
    line->bytes = malloc(cut + 1);
    ck_assert_ptr_nonnull(line->bytes);
    memcpy(line->bytes, text, cut);
    line->bytes[cut] = '\n';
    line->len = cut + 1;
    model->count++;
    model->bytes += line->len;
}

/* How many bytes of a line that is too long a drain of room takes. */
static size_t
model_split(const struct line *line, size_t room)
{
    size_t cut = room;

    while (cut > 0 && (line->bytes[cut] & 0xC0) == 0x80)
        cut--;
    return cut > 0 ? cut : room;
}

static size_t
model_drain(struct model *model, uint8_t *out, size_t room)
{
    struct line *line;
    size_t written = 0;
    size_t part;

    while (model->count > 0) {
        line = &model->lines[model->first];
        if (line->len > room - written)
            break;
        memcpy(out + written, line->bytes, line->len);
        written += line->len;
        model_drop_first(model);
    }
    if (written > 0 || model->count == 0 || room == 0)
        return written;
    line = &model->lines[model->first];
    part = model_split(line, room);
    memcpy(out, line->bytes, part);
    memmove(line->bytes, line->bytes + part, line->len - part);
    line->len -= part;
    model->bytes -= part;
    return part;
}

/* A text of characters of every width; lengths cluster where edges are. */
static size_t
random_text(uint64_t *random, uint8_t *text)
{
    static const char *const units[] = {"a", " ", "\xC3\xA9", "\xE2\x82\xAC",
                                        "\xF0\x9F\x98\x80"};
    static const size_t bounds[] = {1, 4, 20, 200, 3000, 70000};
    size_t bound = bounds[t_below(random, 100) < 3 ? 5 : t_below(random, 5)];
    size_t wanted = t_below(random, bound + 1);
    size_t len = 0;

    while (len < wanted) {
        const char *unit = units[t_below(random, 5)];

        memcpy(text + len, unit, strlen(unit));
        len += strlen(unit);
    }
    return len;
}

static size_t
random_room(uint64_t *random)
{
    static const size_t rooms[] = {0, 1, 2, 3, 4, 7, 64, 1000, 65536, 70000};

    return t_below(random, 4) == 0 ? 1 + t_below(random, 5000)
                                   : rooms[t_below(random, 10)];
}

static void
drain_both(struct model *model, size_t room, uint64_t seed, int step)
{
    static uint8_t expected[70000];
    static uint8_t actual[70000];
    size_t expected_len = model_drain(model, expected, room);
    size_t actual_len = SIZE_MAX;

    gusset_drain_logs(actual, room, &actual_len);
    ck_assert_msg(
        actual_len == expected_len && memcmp(actual, expected, actual_len) == 0,
        "seed %llu step %d room %zu: expected %zu bytes, got %zu, or "
        "other bytes",
        (unsigned long long)seed, step, room, expected_len, actual_len);
}

#define RUNS 300

START_TEST(random_histories_match_the_model)
{
    static uint8_t text[70008];
    uint64_t seed = t_seed() + (uint64_t)_i;
    uint64_t random = seed;
    struct model *model = calloc(1, sizeof *model);
    unsigned drains = (unsigned)t_below(&random, 40);
    int step;
    size_t len;

    ck_assert_ptr_nonnull(model);
    for (step = 0; step < 400; step++) {
        if (t_below(&random, 100) < drains) {
            drain_both(model, random_room(&random), seed, step);
            continue;
        }
        len = random_text(&random, text);
        gse_log((const char *)text, len);
        model_append(model, text, len);
        ck_assert_uint_le(model->bytes, GST_LOG_BYTES);
    }
    while (model->count > 0)
        drain_both(model, 1 + random_room(&random), seed, step++);
    drain_both(model, 100, seed, step);
    free(model);
}
END_TEST

static size_t
drain_all(uint8_t *out, size_t room)
{
    size_t total = 0;
    size_t len;

    do {
        gusset_drain_logs(out + total, room - total, &len);
        total += len;
    } while (len > 0 && total < room);
    return total;
}

/* The edge of the ring: a line of exactly its size, and one byte more. */
START_TEST(a_line_as_long_as_the_log_fits)
{
    static uint8_t text[GST_LOG_BYTES + 8];
    static uint8_t out[GST_LOG_BYTES + 8];
    size_t len = GST_LOG_BYTES - 4 + (size_t)_i;
    size_t kept = len < GST_LOG_BYTES - 1 ? len : GST_LOG_BYTES - 1;

    gse_log("older", 5);
    memset(text, 'q', sizeof text);
    gse_log((const char *)text, len);
    ck_assert_uint_eq(drain_all(out, sizeof out),
                      kept + 1 + (kept + 1 + 6 <= GST_LOG_BYTES ? 6 : 0));
    ck_assert_uint_eq(drain_all(out, sizeof out), 0);
}
END_TEST

START_TEST(newlines_and_invalid_bytes_are_replaced)
{
    static const char text[] = "a\nb\xFF"
                               "c\xE2\x82\nd\0e";
    static const char expected[] = "a b\xEF\xBF\xBD"
                                   "c\xEF\xBF\xBD d\0e\n";
    uint8_t out[100];
    size_t len = drain_all(out, sizeof out);

    ck_assert_uint_eq(len, 0);
    gse_log(text, sizeof text - 1);
    len = drain_all(out, sizeof out);
    ck_assert_uint_eq(len, sizeof expected - 1);
    ck_assert_mem_eq(out, expected, len);
}
END_TEST

START_TEST(missing_arguments_remove_nothing)
{
    uint8_t out[16];
    size_t len = 99;

    gse_log("kept", 4);
    gusset_drain_logs(out, sizeof out, NULL);
    gusset_drain_logs(NULL, 16, &len);
    ck_assert_uint_eq(len, 0);
    len = 99;
    gusset_drain_logs(out, 0, &len);
    ck_assert_uint_eq(len, 0);
    gusset_drain_logs(out, sizeof out, &len);
    ck_assert_uint_eq(len, 5);
    ck_assert_mem_eq(out, "kept\n", 5);
}
END_TEST

#define WRITERS 3
#define PER_WRITER 300
#define LINE "writer %u line %04u of the concurrent test"

struct traffic {
    _Atomic uint32_t writers_left;
    _Atomic uint32_t wrong;
    uint8_t *out;
    size_t len;
};

static void
traffic_main(void *argument, unsigned i)
{
    struct traffic *traffic = argument;
    size_t len;
    uint32_t left;
    unsigned n;

    if (i < WRITERS) {
        for (n = 0; n < PER_WRITER; n++)
            gst__log(LINE, i, n);
        atomic_fetch_sub(&traffic->writers_left, 1);
        return;
    }
    /* All lines fit the ring, so a slow drainer loses nothing either. The
     * last look at the log comes after the writers' end was seen. */
    do {
        left = atomic_load(&traffic->writers_left);
        gusset_drain_logs(traffic->out + traffic->len, 700, &len);
        traffic->len += len;
    } while (len > 0 || left > 0);
}

START_TEST(concurrent_lines_arrive_whole_and_in_order)
{
    struct traffic traffic = {.writers_left = WRITERS};
    unsigned next[WRITERS] = {0};
    unsigned writer;
    unsigned n;
    char *line;
    char *end;
    char again[100];

    traffic.out = calloc(1, GST_LOG_BYTES * 2);
    ck_assert_ptr_nonnull(traffic.out);
    t_threads(WRITERS + 1, traffic_main, &traffic);
    for (line = (char *)traffic.out; *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        ck_assert_ptr_nonnull(end);
        *end = '\0';
        ck_assert_msg(sscanf(line, LINE, &writer, &n) == 2 && writer < WRITERS,
                      "garbled line \"%s\"", line);
        snprintf(again, sizeof again, LINE, writer, n);
        ck_assert_str_eq(line, again);
        ck_assert_uint_eq(n, next[writer]);
        next[writer]++;
    }
    for (writer = 0; writer < WRITERS; writer++)
        ck_assert_uint_eq(next[writer], PER_WRITER);
    free(traffic.out);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("log");
    TCase *tcase = t_case(suite, "log");

    tcase_add_loop_test(tcase, random_histories_match_the_model, 0, RUNS);
    tcase_add_loop_test(tcase, a_line_as_long_as_the_log_fits, 0, 9);
    tcase_add_test(tcase, newlines_and_invalid_bytes_are_replaced);
    tcase_add_test(tcase, missing_arguments_remove_nothing);
    tcase_add_test(tcase, concurrent_lines_arrive_whole_and_in_order);
    return suite;
}
