/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a submit costs, beside what a message between two threads costs on the
 * same machine in the same second.
 */

#include "raw.h"

#include <pthread.h>
#include <stdlib.h>

enum { POOL = 8, ROUNDS = 201, QUEUED = 2 * POOL };

/* A one-message channel: how a host without the library would hand work on. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int value; /* 0: empty */
} to = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0},
  back = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

#define CHANNEL_PUT(channel, message)            \
    do {                                         \
        pthread_mutex_lock(&(channel).lock);     \
        (channel).value = (message);             \
        pthread_cond_signal(&(channel).changed); \
        pthread_mutex_unlock(&(channel).lock);   \
    } while (0)

static int
channel_get(pthread_mutex_t *lock, pthread_cond_t *changed, int *value)
{
    pthread_mutex_lock(lock);
    while (*value == 0)
        pthread_cond_wait(changed, lock);
    int message = *value;
    *value = 0;
    pthread_mutex_unlock(lock);
    return message;
}

static void
answer(void *unused)
{
    int message;
    (void)unused;
    do {
        message = channel_get(&to.lock, &to.changed, &to.value);
        CHANNEL_PUT(back, message);
    } while (message > 0);
}

/* Half a round trip through the two channels. */
static uint64_t
hop_ns(int message)
{
    uint64_t from = conform_now_ns();
    CHANNEL_PUT(to, message);
    (void)channel_get(&back.lock, &back.changed, &back.value);
    return (conform_now_ns() - from) / 2;
}

static int
by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static uint64_t
median(uint64_t *times)
{
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
}

/* One accepted submit; the harness's own work on it is not timed. */
static uint64_t
submit_ns(struct host *host, const CallHeader *header)
{
    static const uint8_t echo[] = {MODE_ECHO, 3};
    uint64_t ticket = 0, from = conform_now_ns();
    int32_t code = api_raw.submit(host_handle(host), header, echo, sizeof echo,
                                  0, &ticket, NULL);
    uint64_t took = conform_now_ns() - from;
    expect_code(FFI_OK, code, "a submit while the queue has room");
    host_adopt(host, ticket);
    return took;
}

CONFORM_CASE(submit_fast, .id = "i4.submit-fast.beside-a-channel-hop",
             .clauses = "i4.submit-fast",
             .why = "a submit that costs a system call, or waits for a lock "
                    "that a worker holds while it runs",
             .steps =
                 "Eight workers sleep in jobs; 201 submits of an echo into "
                 "the queue, each beside one hop of a message between "
                 "two threads over mutex and condition variable.",
             .expected = "The median submit is under 5 us, or at least under "
                         "the median hop where the machine is slow.",
             .mutant = "submit-sleeps", .tags = CONFORM_ALONE)
{
    static const uint8_t sleeper[] = {MODE_SLEEP, 1};
    static uint64_t submits[ROUNDS], hops[ROUNDS];
    struct host *host = host_open_with(POOL, CONFORM_RING);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct conform_thread *thread = conform_thread_start(answer, NULL, 0);
    for (uint32_t done = 0; done < ROUNDS;) {
        uint32_t owed = POOL;
        for (int i = 0; i < POOL; i++)
            (void)host_submit_patiently(host, &header, sleeper, sizeof sleeper);
        for (; owed < POOL + QUEUED / 2 && done < ROUNDS; owed++, done++) {
            submits[done] = submit_ns(host, &header);
            hops[done] = hop_ns(1);
        }
        while (owed-- > 0)
            (void)host_next(host);
    }
    (void)hop_ns(-1);
    conform_thread_join(thread);
    uint64_t submit = median(submits), hop = median(hops);
    conform_evidence("median", "submit %llu ns, hop %llu ns, ratio %.2f",
                     (unsigned long long)submit, (unsigned long long)hop,
                     (double)submit / (double)hop);
    expect_u64_at_most(hop > 5000 ? hop : 5000, submit,
                       "median ns of a submit; a channel hop takes %llu ns",
                       (unsigned long long)hop);
    host_close(host);
}
