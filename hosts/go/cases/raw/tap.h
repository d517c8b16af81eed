/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * tap.h - every call of one of the 17 functions that is made in this process,
 * written down on its way to the library.
 *
 * The program is linked with --wrap: a call of gusset_submit anywhere in it
 * comes to __wrap_gusset_submit, and __real_gusset_submit is the library's.
 * What the library calls on its own inside such a call is not written down.
 */
#ifndef RAW_TAP_H
#define RAW_TAP_H

#include <stdint.h>

#include "gusset.h"

/* The 17, in the order of gusset.h. */
enum tap_function {
    TAP_ABI_LAYOUT,
    TAP_ABI_FIELDS,
    TAP_INIT,
    TAP_SHUTDOWN,
    TAP_HANDLE_OPEN,
    TAP_HANDLE_CLOSE,
    TAP_HANDLE_RING,
    TAP_RING_RELEASE,
    TAP_SUBMIT,
    TAP_TAKE,
    TAP_CANCEL,
    TAP_CANCEL_ALL,
    TAP_STATUS_FREE,
    TAP_ALLOC_STATS,
    TAP_DRAIN_LOGS,
    TAP_BUF_ALLOC,
    TAP_BUF_FREE,
    TAP_FUNCTIONS
};

struct tap_call {
    uint32_t function;
    int32_t code;      /* returned; 0 of those that return none */
    uint64_t subject;  /* ticket or buffer id; pool size; drain_ms; capacity */
    uint64_t argument; /* input length, buffer length, length taken, ... */
    uint64_t buffer;  /* of a submit: the buffer id; of take: the id as given */
    uint64_t address; /* of the bytes: input, result, buffer */
    CallHeader header; /* of a submit */
};

/* How many calls of a function have begun since the process started. */
uint64_t tap_count(uint32_t function);

/*
 * Keeps calls of a function that begin from now on waiting, counted but not
 * yet passed on to the library, until hold is 0 again.
 */
void tap_hold(uint32_t function, int hold);

/* How many calls have been written down; the last TAP_CALLS can be read. */
#define TAP_CALLS 16384
uint64_t tap_written(void);
/* Copies call number `at`, from 0; returns 0 when it is overwritten or none. */
int tap_read(uint64_t at, struct tap_call *call);

#endif /* RAW_TAP_H */
