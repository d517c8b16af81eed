/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Both partners live for the whole run. The polling partner
 * would steal the worker's CPU while another subject is measured, so it polls
 * only inside a session: the host posts the semaphore, bounces, and sends the
 * value SESSION_END, after which the partner sleeps on the semaphore again.
 */
#define _GNU_SOURCE
#include "floor.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "subject.h"

#define SESSION_END UINT64_MAX

struct bench_floor {
    alignas(BENCH_CACHE_LINE) _Atomic uint64_t ping;
    alignas(BENCH_CACHE_LINE) _Atomic uint64_t pong;
    alignas(BENCH_CACHE_LINE) pthread_mutex_t lock;
    pthread_cond_t turn_changed;
    int turn;
    int stop;
    sem_t session;
    uint64_t next;
    pthread_t poller;
    pthread_t sleeper;
};

static void
poll_session(struct bench_floor *floor)
{
    uint64_t seen = atomic_load_explicit(&floor->pong, memory_order_relaxed);
    uint64_t value;

    for (;;) {
        /* Acquire and release stand for the payload a real message has. */
        value = atomic_load_explicit(&floor->ping, memory_order_acquire);
        if (value == SESSION_END)
            break;
        if (value == seen) {
            bench_pause();
            continue;
        }
        seen = value;
        atomic_store_explicit(&floor->pong, value, memory_order_release);
    }
    atomic_store_explicit(&floor->pong, value, memory_order_release);
}

static void *
poller_main(void *argument)
{
    struct bench_floor *floor = argument;

    for (;;) {
        while (sem_wait(&floor->session) != 0)
            continue;
        if (floor->stop)
            return NULL;
        poll_session(floor);
    }
}

static void *
sleeper_main(void *argument)
{
    struct bench_floor *floor = argument;

    pthread_mutex_lock(&floor->lock);
    while (!floor->stop) {
        if (floor->turn == 1) {
            floor->turn = 0;
            pthread_cond_signal(&floor->turn_changed);
        }
        pthread_cond_wait(&floor->turn_changed, &floor->lock);
    }
    pthread_mutex_unlock(&floor->lock);
    return NULL;
}

struct bench_floor *
bench_floor_start(int partner_cpu)
{
    struct bench_floor *floor = aligned_alloc(BENCH_CACHE_LINE, sizeof *floor);
    cpu_set_t one;
    pthread_attr_t attributes;

    if (floor == NULL)
        bench_die("no memory");
    atomic_init(&floor->ping, 0);
    atomic_init(&floor->pong, 0);
    floor->turn = 0;
    floor->stop = 0;
    floor->next = 0;
    CPU_ZERO(&one);
    CPU_SET(partner_cpu, &one);
    if (sem_init(&floor->session, 0, 0) != 0 ||
        pthread_mutex_init(&floor->lock, NULL) != 0 ||
        pthread_cond_init(&floor->turn_changed, NULL) != 0 ||
        pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setaffinity_np(&attributes, sizeof one, &one) != 0 ||
        pthread_create(&floor->poller, &attributes, poller_main, floor) != 0 ||
        pthread_create(&floor->sleeper, &attributes, sleeper_main, floor) != 0)
        bench_die("cannot start the partner threads");
    pthread_attr_destroy(&attributes);
    return floor;
}

static void
bounce(struct bench_floor *floor, uint64_t value)
{
    atomic_store_explicit(&floor->ping, value, memory_order_release);
    while (atomic_load_explicit(&floor->pong, memory_order_acquire) != value)
        bench_pause();
}

void
bench_floor_cache_line(struct bench_floor *floor, uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++)
        bounce(floor, ++floor->next);
}

void
bench_floor_begin(struct bench_floor *floor)
{
    atomic_store_explicit(&floor->ping, ++floor->next, memory_order_release);
    sem_post(&floor->session);
    while (atomic_load_explicit(&floor->pong, memory_order_acquire) !=
           floor->next)
        bench_pause();
}

void
bench_floor_end(struct bench_floor *floor)
{
    bounce(floor, SESSION_END);
}

void
bench_floor_condvar(struct bench_floor *floor, uint64_t count)
{
    uint64_t i;

    pthread_mutex_lock(&floor->lock);
    for (i = 0; i < count; i++) {
        floor->turn = 1;
        pthread_cond_signal(&floor->turn_changed);
        while (floor->turn == 1)
            pthread_cond_wait(&floor->turn_changed, &floor->lock);
    }
    pthread_mutex_unlock(&floor->lock);
}

void
bench_floor_stop(struct bench_floor *floor)
{
    pthread_mutex_lock(&floor->lock);
    floor->stop = 1;
    pthread_cond_broadcast(&floor->turn_changed);
    pthread_mutex_unlock(&floor->lock);
    sem_post(&floor->session);
    pthread_join(floor->poller, NULL);
    pthread_join(floor->sleeper, NULL);
    sem_destroy(&floor->session);
    pthread_cond_destroy(&floor->turn_changed);
    pthread_mutex_destroy(&floor->lock);
    free(floor);
}
