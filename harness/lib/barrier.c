/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A barrier that spins before it yields: threads that a futex would wake one
 * after the other leave this one within a few hundred nanoseconds.
 */
#include <sched.h>

#include "internal.h"

#define SPINS 2000

struct conform_barrier {
    uint32_t threads;
    uint32_t arrived;    /* atomic */
    uint32_t generation; /* atomic */
};

struct conform_barrier *
conform_barrier_new(uint32_t threads)
{
    struct conform_barrier *barrier = conform_allocate(sizeof *barrier);
    barrier->threads = threads;
    return barrier;
}

void
conform_barrier_wait(struct conform_barrier *barrier)
{
    uint32_t generation =
        __atomic_load_n(&barrier->generation, __ATOMIC_ACQUIRE);
    uint32_t arrived =
        __atomic_add_fetch(&barrier->arrived, 1, __ATOMIC_ACQ_REL);
    if (arrived == barrier->threads) {
        __atomic_store_n(&barrier->arrived, 0, __ATOMIC_RELAXED);
        /* Pairs with the acquire loads of those who wait. */
        __atomic_store_n(&barrier->generation, generation + 1,
                         __ATOMIC_RELEASE);
        return;
    }
    uint32_t spins = 0;
    while (__atomic_load_n(&barrier->generation, __ATOMIC_ACQUIRE) ==
           generation) {
        if (++spins > SPINS) {
            sched_yield();
        }
    }
}

void
conform_barrier_free(struct conform_barrier *barrier)
{
    /* Case memory: gone with the process. */
    (void)barrier;
}
