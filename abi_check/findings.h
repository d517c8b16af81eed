/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * findings.h - what a check found, as text and counts.
 *
 * Every check of this folder is a plain function that fills in one of these,
 * so that a case can report it and a test can feed it a wrong input. A check
 * that judged nothing has not passed: see findings_refuses.
 */
#ifndef ABI_CHECK_FINDINGS_H
#define ABI_CHECK_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

struct findings {
    char *faults; /* one line each: what breaks the contract; NULL: none */
    size_t fault_count;
    char *notes;      /* one line each: evidence that fails nothing; or NULL */
    char skip[512];   /* why the check does not apply here; empty: it does */
    char lacks[512];  /* what is missing here to reach it; empty: nothing */
    char broken[512]; /* why it could not be judged; empty: it could */
    size_t judged;    /* facts that were compared */
};

void findings_fault(struct findings *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void findings_note(struct findings *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void findings_skip(struct findings *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void findings_lacks(struct findings *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void findings_broken(struct findings *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * True when the check must not count as passed although it neither skipped,
 * lacked something, nor broke: it has faults, or it compared nothing (then a
 * fault is added).
 */
bool findings_refuses(struct findings *found);

void findings_free(struct findings *found);

#endif /* ABI_CHECK_FINDINGS_H */
