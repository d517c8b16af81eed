/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * workers.h - looking at the library's threads from outside: what a signal
 * handler sees that runs on each of them, and what the mappings say.
 */
#ifndef WORKERS_H
#define WORKERS_H

#include "conform.h"
#include "sanitizer.h"

#define WORKERS_MAX 64

/* What a handler saw on one thread. */
struct sight {
    int32_t tid;
    uintptr_t frame;    /* an address in the handler's own frame */
    uintptr_t alt_low;  /* the alternate stack, by sigaltstack */
    uint64_t alt_bytes; /* ... 0 when there is none */
    bool on_alt;        /* the kernel says that the handler runs on it */
    bool finished;
};

/*
 * Sends a signal to each library thread and collects what its handler saw.
 * on_alternate: the handler asks for the alternate stack (SA_ONSTACK). Fails
 * the case when a thread does not answer within patience; skips it where a
 * sanitizer runs handlers later and elsewhere than the kernel. Returns their
 * number, in no order. The signal's disposition is put back.
 */
uint32_t workers_look(struct sight *sights, bool on_alternate);

/* The mapping that holds an address, and what lies directly below it. */
struct surroundings {
    bool mapped;
    uintptr_t low, high; /* of the mapping that holds the address */
    bool writable;
    bool below_mapped; /* something ends exactly at low */
    uintptr_t below_low;
    bool below_accessible; /* ... and can be read, written or executed */
};
struct surroundings workers_surroundings(uintptr_t address);

/* A field of /proc/self/task/TID/status as a hexadecimal mask. */
uint64_t workers_mask(int32_t tid, const char *field);

/* Waits until the process has exactly `count` library threads. */
void workers_await(uint32_t count);

#endif /* WORKERS_H */
