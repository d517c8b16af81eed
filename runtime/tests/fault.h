/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * fault.h - makes the k-th call of a kind fail, by the linker's --wrap. Only
 * calls from objects of the test program fail, the runtime's among them; the
 * C library's own calls do not.
 */
#ifndef T_FAULT_H
#define T_FAULT_H

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
    FAULT_HEAP, /* malloc, calloc, realloc */
    FAULT_MMAP,
    FAULT_MPROTECT,
    FAULT_THREAD,
    FAULT_SIGALTSTACK,
    FAULT_FCNTL,
    FAULT_SIGMASK,
    FAULT_WRITE, /* ENOMEM; a completion that never goes out waits for it */
    FAULT_KINDS
};

/* The kinds before this one can fail for good, and are met by an open. */
#define FAULT_LASTING FAULT_WRITE

extern const char *const fault_names[FAULT_KINDS];

/*
 * From now on the nth call of that kind (1: the next one) fails, and with
 * `onwards` all later ones too, in any thread. nth 0: only counts.
 */
void fault_arm(enum fault_kind kind, uint64_t nth, bool onwards);

/* No call fails and none is counted any more. */
void fault_disarm(void);

/* How many calls of the kind there were since fault_arm. */
uint64_t fault_calls(void);

/* How many calls have failed since fault_arm. */
uint64_t fault_hits(void);

#endif
