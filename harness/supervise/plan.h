/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * plan.h - what is going to run, fixed before anything starts: every selected
 * case against every subject, `rounds` times.
 */
#ifndef SUPERVISE_PLAN_H
#define SUPERVISE_PLAN_H

#include "options.h"
#include "result.h"
#include "subject.h"
#include "waivers.h"

/* One case against one subject, over all rounds. */
struct item {
    const struct case_info *info;
    struct subject *subject;
    const struct waiver *waiver; /* that answers for a failure, or NULL */
    bool binds;                  /* false: a SHOULD or MAY, and not --strict */
    unsigned done;               /* rounds that have a result */
    unsigned counts[VERDICT_COUNT];
    double seconds;       /* of all rounds together */
    struct result shown;  /* the first that did not pass, else the last */
    enum verdict verdict; /* of all rounds, when done is `rounds` */
};

struct plan {
    const struct manifest *manifest;
    struct subject *subjects;
    size_t subject_count;
    struct item *items;
    size_t count;
    unsigned rounds;
    uint64_t seed; /* round r uses seed + r */
    double timeout_scale;
    const char *level;
    const struct waivers *waivers; /* or NULL */
    bool complete_manifest;        /* nothing was filtered out */
    char hash[65];                 /* of subjects, case ids, rounds and level */
    /* Numbers of items in running order, `rounds` times `count`: first all
     * that may run beside others, then those that run alone. */
    size_t *order;
    size_t together; /* how many of order come before the lone ones */
};

/*
 * Marks the cases that the filters choose in chosen[manifest->count]. Quits
 * with EXIT_NOTHING_SELECTED when a filter or exclude selects nothing.
 */
void plan_select(const struct manifest *manifest, const struct options *options,
                 bool *chosen);

/* Builds the plan; subjects and waivers stay the caller's. */
void plan_make(struct plan *plan, const struct manifest *manifest,
               const bool *chosen, struct subject *subjects,
               size_t subject_count, const struct options *options,
               const struct waivers *waivers);

/*
 * Adds a line for each waiver that is expired, fits no case of the manifest,
 * or whose cases ran and all passed.
 */
void plan_waiver_trouble(const struct plan *plan, struct text *trouble);

/* Books a result, which the plan then owns, and settles the item's verdict. */
void plan_book(struct plan *plan, struct item *item, struct result *result);

/* Items that have fewer results than rounds. */
size_t plan_missing(const struct plan *plan);

void plan_free(struct plan *plan);

#endif /* SUPERVISE_PLAN_H */
