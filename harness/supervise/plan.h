/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * plan.h - what is going to run, fixed before anything starts: every selected
 * case against every subject, `rounds` times.
 */
#ifndef SUPERVISE_PLAN_H
#define SUPERVISE_PLAN_H

#include "claims.h"
#include "options.h"
#include "result.h"
#include "subject.h"
#include "waivers.h"

/* One case against one subject, over all rounds. */
struct item {
    const struct case_info *info;
    struct subject *subject;
    const struct waiver *waiver; /* of a WAIVED item, when it is settled */
    bool proven;                 /* it has found a seeded fault */
    bool binds;                  /* false: a SHOULD or MAY, not --strict, and
                                  * not what the implementation claims */
    unsigned done;               /* rounds that have a result */
    unsigned counts[VERDICT_COUNT];
    double seconds;       /* of all rounds together */
    struct result shown;  /* the first that did not pass, else the last */
    enum verdict verdict; /* of all rounds, when done is `rounds` */
};

/* What --effort nightly multiplies the timeout of a case by. */
#define NIGHTLY_HANG_SCALE 30

struct plan {
    const struct manifest *manifest;
    struct subject *subjects;
    size_t subject_count;
    struct item *items;
    size_t count;
    size_t cases; /* that were chosen; items of one case: `once` or a subject */
    unsigned rounds;
    uint64_t seed; /* round r uses seed + r */
    double timeout_scale;
    double hang_scale; /* of a case's timeout_ms; more for a nightly run */
    enum level level;
    const char *effort;
    const struct waivers *waivers; /* or NULL */
    const struct claims *claims;   /* of all subjects; may hold no file */
    bool complete_manifest;        /* nothing was left out */
    bool filtered;                 /* by --filter or --exclude */
    char hash[65]; /* of subjects, cases, rounds, effort, level */
    /* Numbers of items in running order, `rounds` times `count`: first all
     * that may run beside others, then those that run alone. */
    size_t *order;
    size_t together; /* how many of order come before the lone ones */
};

/*
 * Marks the cases that level and filters choose in chosen[manifest->count].
 * Quits with EXIT_NOTHING_SELECTED when a filter or exclude selects nothing.
 */
void plan_select(const struct manifest *manifest, const struct options *options,
                 bool *chosen);

/* Builds the plan; subjects, waivers and claims stay the caller's. */
void plan_make(struct plan *plan, const struct manifest *manifest,
               const bool *chosen, struct subject *subjects,
               size_t subject_count, const struct options *options,
               const struct waivers *waivers, const struct claims *claims);

/*
 * Books a result, which the plan then owns, and settles the verdict and the
 * waiver of an item that has them all.
 */
void plan_book(struct plan *plan, struct item *item, struct result *result);

/* Items that have fewer results than rounds. */
size_t plan_missing(const struct plan *plan);

void plan_free(struct plan *plan);

#endif /* SUPERVISE_PLAN_H */
