/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * reach.h - how much of what a level asks for was really judged.
 *
 * A clause is judged on a subject when a case that names it spoke: it failed,
 * or it passed and is proven. Everything else is said by name, with what it
 * would have taken.
 */
#ifndef SUPERVISE_REACH_H
#define SUPERVISE_REACH_H

#include "plan.h"

enum reach_state {
    REACH_JUDGED,
    REACH_UNPROVEN, /* only by cases that never found a seeded fault */
    REACH_OUT,      /* out of reach, or the cases do not apply */
    REACH_UNCLEAR,  /* BROKEN, FLAKY, or not run to the end */
    REACH_NO_CASE,
    REACH_NOT_SELECTED, /* the filters left its cases out */
    REACH_NOT_COUNTED   /* (hook), and the implementation declares none */
};

struct reach_clause {
    const struct clause *clause;
    enum reach_state state;
    char *need; /* what it lacks, one line; NULL when judged */
};

struct reach {
    struct reach_clause *clauses; /* those that the level asks for */
    size_t count;
    size_t required; /* of them, without those that are not counted */
    size_t judged;
    size_t not_selected;
};

/* What became of the clauses of the plan's level on this subject. */
void reach_make(struct reach *reach, const struct plan *plan,
                const struct subject *subject);
void reach_free(struct reach *reach);

/* "out-of-reach", "unproven", ... for the files. */
const char *reach_word(enum reach_state state);

/*
 * "level hardened: reached for 138 of 141 clauses; out of reach: ...", one
 * line without an end.
 */
void reach_line(const struct reach *reach, const struct plan *plan,
                struct text *line);

/*
 * NULL, or why the level itself cannot be certified by any run yet, whatever
 * its cases say.
 */
const char *reach_bar(enum level level);

#endif /* SUPERVISE_REACH_H */
