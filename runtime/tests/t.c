/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "t.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

TCase *
t_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, T_TIMEOUT);
    suite_add_tcase(suite, tcase);
    return tcase;
}

uint64_t
t_seed(void)
{
    const char *text = getenv("T_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 0x9e3779b97f4a7c15;

    return seed != 0 ? seed : 1;
}

/* xorshift64: good enough to spread cases, and the same everywhere. */
uint64_t
t_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return x;
}

uint64_t
t_below(uint64_t *state, uint64_t bound)
{
    return (t_random(state) >> 11) % bound;
}

struct t_thread {
    pthread_t thread;
    pthread_barrier_t *start;
    void (*main)(void *argument, unsigned i);
    void *argument;
    unsigned i;
};

static void *
thread_main(void *argument)
{
    struct t_thread *self = argument;

    pthread_barrier_wait(self->start);
    self->main(self->argument, self->i);
    return NULL;
}

void
t_threads(unsigned count, void (*main)(void *argument, unsigned i),
          void *argument)
{
    struct t_thread *threads = calloc(count, sizeof *threads);
    pthread_barrier_t start;
    unsigned i;

    ck_assert_ptr_nonnull(threads);
    pthread_barrier_init(&start, NULL, count);
    for (i = 0; i < count; i++) {
        threads[i] = (struct t_thread){
            .start = &start, .main = main, .argument = argument, .i = i};
        ck_assert_int_eq(
            pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]),
            0);
    }
    for (i = 0; i < count; i++)
        pthread_join(threads[i].thread, NULL);
    pthread_barrier_destroy(&start);
    free(threads);
}

static unsigned
count_entries(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    unsigned count = 0;

    ck_assert_msg(directory != NULL, "cannot read %s", path);
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            count++;
    closedir(directory);
    return count;
}

static uint64_t
mapped_bytes(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    uint64_t from;
    uint64_t to;
    uint64_t sum = 0;

    ck_assert_msg(maps != NULL, "cannot read the mappings");
    while (fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 &&
            strstr(line, "[heap]") == NULL)
            sum += to - from;
    fclose(maps);
    return sum;
}

struct t_census
t_census_take(void)
{
    struct t_census census;
    AllocStats stats;

    gusset_alloc_stats(&stats);
    census.threads = count_entries("/proc/self/task");
    census.descriptors = count_entries("/proc/self/fd");
    census.mapped = mapped_bytes();
    census.live = stats.live_bytes;
    return census;
}

struct t_census
t_census_baseline(void)
{
    const struct timespec moment = {0, 10000000};
    struct t_census now = t_census_take();
    int tries;

    for (tries = 0; tries < 500 && now.threads > 1; tries++) {
        nanosleep(&moment, NULL);
        now = t_census_take();
    }
    ck_assert_msg(now.threads == 1, "%u threads before the test", now.threads);
    return now;
}

static bool
census_settled(const struct t_census *before, const struct t_census *now)
{
    return now->threads == before->threads &&
           now->descriptors == before->descriptors &&
           now->live == before->live && now->mapped <= before->mapped;
}

void
t_census_expect(struct t_census before, const char *when)
{
    const struct timespec moment = {0, 10000000};
    struct t_census now = t_census_take();
    int tries;

    for (tries = 0; tries < 500 && !census_settled(&before, &now); tries++) {
        nanosleep(&moment, NULL);
        now = t_census_take();
    }
    ck_assert_msg(census_settled(&before, &now),
                  "%s: expected threads %u, descriptors %u, live %" PRIu64
                  ", mapped <= %" PRIu64 "; got %u, %u, %" PRIu64 ", %" PRIu64,
                  when, before.threads, before.descriptors, before.live,
                  before.mapped, now.threads, now.descriptors, now.live,
                  now.mapped);
}

struct t_pipe
t_pipe_new(void)
{
    int ends[2];

    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    return (struct t_pipe){.read_end = ends[0], .write_end = ends[1]};
}

void
t_pipe_drop(struct t_pipe *pipe, bool write_end_too)
{
    close(pipe->read_end);
    if (write_end_too)
        close(pipe->write_end);
}

/* Returns false at the end of the file. */
static bool
read_word(int fd, uint64_t *word)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    ssize_t got;

    ck_assert_msg(poll(&waiting, 1, 60000) == 1, "no completion within 60 s");
    got = read(fd, word, sizeof *word);
    ck_assert_msg(got == 0 || got == (ssize_t)sizeof *word,
                  "torn record: read gave %zd", got);
    return got != 0;
}

uint64_t
t_pipe_ticket(const struct t_pipe *pipe)
{
    uint64_t ticket;
    uint64_t len;
    uint64_t word;
    uint64_t i;

    do {
        if (!read_word(pipe->read_end, &ticket))
            return 0;
    } while (ticket == 0);
    if ((ticket & GUSSET_INLINE_RECORD_FLAG) != 0) {
        ck_assert(read_word(pipe->read_end, &len));
        ck_assert_uint_le(len, GUSSET_INLINE_RESULT_MAX);
        for (i = 0; i < (len + 7) / 8; i++)
            ck_assert(read_word(pipe->read_end, &word));
    }
    return ticket;
}

GussetHandle *
t_open(const struct t_pipe *pipe, uint32_t pool)
{
    GussetHandle *handle = NULL;
    FfiStatus status;
    int32_t code = gusset_handle_open(pool, pipe->write_end, &handle, &status);

    ck_assert_msg(code == FFI_OK, "open of a pool of %u: code %d, %.*s", pool,
                  (int)code, (int)status.msg_len,
                  status.msg_len > 0 ? (const char *)status.msg : "");
    return handle;
}

void
t_close(GussetHandle *handle)
{
    ck_assert_int_eq(gusset_handle_close(handle, NULL), FFI_OK);
}

uint64_t
t_submit(GussetHandle *handle, const void *input, size_t len)
{
    CallHeader header = {.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE};
    FfiStatus status;
    uint64_t ticket = 0;
    int32_t code =
        gusset_submit(handle, &header, input, len, 0, &ticket, &status);

    ck_assert_msg(code == FFI_OK, "submit: code %d, %.*s", (int)code,
                  (int)status.msg_len,
                  status.msg_len > 0 ? (const char *)status.msg : "");
    return ticket;
}

void
t_expect_text(const FfiStatus *status, const char *text)
{
    ck_assert_msg(status->msg != NULL && memmem(status->msg, status->msg_len,
                                                text, strlen(text)) != NULL,
                  "expected a message containing \"%s\", got \"%.*s\"", text,
                  (int)status->msg_len,
                  status->msg_len > 0 ? (const char *)status->msg : "");
}

#ifdef M_ARENA_MAX
/* A thread that allocates gets an arena of 64 MiB of addresses, which glibc
 * keeps: with one arena the census sees only what the runtime maps. */
static void
pin_caches(void)
{
    mallopt(M_ARENA_MAX, 1);
}
#else
static void
pin_caches(void)
{
}
#endif

int
main(void)
{
    Suite *suite = t_suite();
    SRunner *runner = srunner_create(suite);
    int failed;
    int run;

    pin_caches();
    printf("seed 0x%" PRIx64 " (T_SEED)\n", t_seed());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    run = srunner_ntests_run(runner);
    srunner_free(runner);
    printf("%d passed, %d failed, 0 skipped\n", run - failed, failed);
    return failed == 0 && run > 0 ? 0 : 1;
}
