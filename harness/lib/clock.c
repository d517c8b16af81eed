/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "internal.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

#define PATIENCE_NS (5 * NS_PER_S)
#define NOISE_LEAST_NS (50 * NS_PER_MS)
#define NOISE_MOST_NS (2 * NS_PER_S)
/*
 * The slowest of a few wake-ups is itself a matter of luck; a factor of this
 * size covers a machine that gets as busy again while the case runs.
 */
#define NOISE_FACTOR 30
#define CALIBRATION_ROUNDS 32

static uint64_t noise_ns = NOISE_LEAST_NS;

uint64_t
conform_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t
scaled(uint64_t ns)
{
    return (uint64_t)((double)ns * conform_run.timeout_scale);
}

uint64_t
conform_noise_ns(void)
{
    return noise_ns;
}

uint64_t
conform_patience_ns(void)
{
    return scaled(PATIENCE_NS);
}

int
conform_poll_ms(uint64_t deadline_ns)
{
    uint64_t now = conform_now_ns();
    if (now >= deadline_ns) {
        return 0;
    }
    uint64_t ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

void
conform_pause(uint32_t turn)
{
    if (turn < 64) {
        sched_yield();
        return;
    }
    const struct timespec pause = {.tv_nsec = turn < 256 ? 100000 : 1000000};
    nanosleep(&pause, NULL);
}

bool
conform_eventually(bool (*ready)(void *), void *argument)
{
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    uint32_t turn = 0;
    while (!ready(argument)) {
        if (conform_now_ns() >= deadline) {
            /* The thread may just have been away for all that time. */
            return ready(argument);
        }
        conform_pause(turn++);
    }
    return true;
}

/* Two threads hand a turn to and fro; each hand-over is a real wake-up. */
struct ping_pong {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t turn; /* even: the main thread's */
};

static void
wait_for_turn(struct ping_pong *game, uint32_t parity)
{
    while (game->turn % 2 != parity) {
        pthread_cond_wait(&game->changed, &game->lock);
    }
}

static void
pass_turn(struct ping_pong *game)
{
    game->turn++;
    pthread_cond_signal(&game->changed);
}

static void *
partner(void *argument)
{
    struct ping_pong *game = argument;
    pthread_mutex_lock(&game->lock);
    for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
        wait_for_turn(game, 1);
        pass_turn(game);
    }
    pthread_mutex_unlock(&game->lock);
    return NULL;
}

static uint64_t
slowest_round(struct ping_pong *game)
{
    uint64_t slowest = 0;
    pthread_mutex_lock(&game->lock);
    for (int round = 0; round < CALIBRATION_ROUNDS; round++) {
        uint64_t start = conform_now_ns();
        pass_turn(game);
        wait_for_turn(game, 0);
        uint64_t took = conform_now_ns() - start;
        slowest = took > slowest ? took : slowest;
    }
    pthread_mutex_unlock(&game->lock);
    return slowest;
}

void
conform_calibrate(void)
{
    struct ping_pong game = {PTHREAD_MUTEX_INITIALIZER,
                             PTHREAD_COND_INITIALIZER, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, partner, &game) != 0) {
        conform_broken("no thread to measure the wake-up latency with");
    }
    uint64_t slowest = slowest_round(&game);
    pthread_join(thread, NULL);
    uint64_t noise = slowest * NOISE_FACTOR;
    noise = noise < NOISE_LEAST_NS ? NOISE_LEAST_NS : noise;
    noise = noise > NOISE_MOST_NS ? NOISE_MOST_NS : noise;
    noise_ns = scaled(noise);
    noise_ns = noise_ns < NOISE_LEAST_NS ? NOISE_LEAST_NS : noise_ns;
    conform_evidence("wake-up", "%llu ns, slowest of %d",
                     (unsigned long long)slowest, CALIBRATION_ROUNDS);
    conform_evidence("noise", "%llu ns", (unsigned long long)noise_ns);
}
