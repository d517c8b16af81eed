/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * self.h - inside conform-self, the case program that misbehaves on purpose.
 *
 * It writes the page itself and uses nothing of harness/lib: what it shows
 * about the supervisor must not rest on the code that the supervisor will
 * meet in earnest.
 */
#ifndef SELF_SELF_H
#define SELF_SELF_H

#include <stdint.h>

#include "page.h"

enum { SELF_ALONE = 1, SELF_SLEEPS = 2, SELF_NO_CENSUS = 8 };

struct self_case {
    const char *id;
    void (*run)(void);
    unsigned timeout_ms; /* 0: 20 000 */
    const char *tags;    /* "sleeps", "no-census" or NULL */
    const char *dies_by; /* a signal's name or NULL */
    const char *marker;
};

/* The cases by file; each array ends with a case without id. */
extern const struct self_case check_cases[];  /* checks.c */
extern const struct self_case ending_cases[]; /* endings.c */
extern const struct self_case leak_cases[];   /* leaks.c */
extern const struct self_case page_cases[];   /* pages.c */

extern struct conform_page *self_page;
extern const char *self_page_path;
extern uint64_t self_seed;
/* What the tiny subject under this program believes to have handed out. */
extern uint64_t self_live_bytes;

/* One passed check. */
void self_checked(void);
/* Records a failed one, and goes on. */
void self_fail(const char *file, int line, const char *message,
               const char *expected, const char *actual);
void self_marker(const char *name);
void self_outcome(enum conform_outcome outcome, const char *reason);

/* Writes the census into text[CONFORM_CENSUS_BYTES]; returns its length. */
uint32_t self_census(char *text);

#endif /* SELF_SELF_H */
