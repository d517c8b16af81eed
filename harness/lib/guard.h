/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * guard.h - the fenced memory that the guarded exports hand to the subject in
 * place of the case's own (guard.c uses it, guard_memory.c keeps it).
 *
 * Each host thread has a set of its own, so that no two threads are ordered by
 * the guard and no race of the subject is hidden from a detector.
 */
#ifndef CONFORM_GUARD_H
#define CONFORM_GUARD_H

#include "conform.h"

/* Out-parameters of one call at most, the status among them. */
#define GUARD_CELLS 5
/* Calls after which a cell is used again, so that late writes show. */
#define GUARD_BANKS 4
/* Submissions whose header and input stay inaccessible after they returned. */
#define GUARD_PADS 16
/* A thread's first submissions get a pad each, one in so many of the others:
 * three calls of mprotect are more than the submit itself. */
#define GUARD_PADDED_FIRST 128
#define GUARD_PADDED_THEN 8
/* A buffer of drain_logs longer than this is not fenced. */
#define GUARD_LOG_BYTES ((size_t)17 * 4096)
#define GUARD_CANARY_BYTES 64
#define GUARD_JUNK 0xa5

struct guard_set;

/* Reserves the address range; before the first census. */
void guard_memory_reserve(void);
/* The calling thread's set; NULL when there is no room for one more. */
struct guard_set *guard_set(void);

/* The cells of the thread's next call begin with this index. */
unsigned guard_next_bank(struct guard_set *set);

/*
 * Cell `index`: `bytes` (at most a page) that end at an inaccessible page, with
 * a canary before them, all of it GUARD_JUNK. Fails the case when the subject
 * wrote there since the cell was put back.
 */
uint8_t *guard_cell(struct guard_set *set, unsigned index, size_t bytes);
bool guard_is_junk(const uint8_t *at, size_t bytes);
/* True while nothing was written before the block. */
bool guard_canary_holds(const uint8_t *block);
/* Fills it with junk again; a later write will be seen by guard_cell. */
void guard_cell_back(struct guard_set *set, unsigned index);

/* A pad: copies of header (40 bytes) and input, each flush against an
 * inaccessible page; NULL: none was asked for, or this submit gets none. */
struct guard_pad {
    const CallHeader *header;
    const uint8_t *input;
    uint8_t *base;
};
struct guard_pad guard_pad_open(struct guard_set *set, const CallHeader *header,
                                const uint8_t *input, size_t len);
/* Makes both inaccessible until the thread's next GUARD_PADS submissions. */
void guard_pad_revoke(const struct guard_pad *pad);

/* `len` bytes for drain_logs, as a cell; NULL when that is too long. */
uint8_t *guard_log(struct guard_set *set, size_t len);

/* Looks once more for late writes, in the cells of all threads. */
void guard_memory_end(void);

/* What of the guard lies at this address, in words; NULL: nothing. Safe in a
 * signal handler. */
const char *guard_describe(uintptr_t address);

#endif /* CONFORM_GUARD_H */
