/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * schedule.h - runs the plan: so many at a time, each under its watchdog.
 *
 * Cases that sleep cost no slot; cases tagged `alone` come last, one by one,
 * with nothing beside them. SIGINT, SIGTERM and SIGHUP end the run early.
 */
#ifndef SUPERVISE_SCHEDULE_H
#define SUPERVISE_SCHEDULE_H

#include "plan.h"

struct schedule {
    struct plan *plan;
    unsigned jobs;
    const char *folder; /* where the pages are made */
    /* Called for each result, before plan_book takes it. */
    void (*seen)(void *context, const struct item *item,
                 const struct result *result);
    /* Called when an item has all its results. */
    void (*settled)(void *context, const struct item *item);
    /* Called from time to time while cases run, with how many do. */
    void (*tick)(void *context, size_t running);
    void *context;
    /* Afterwards: */
    int interrupted;    /* the signal, or 0 */
    struct text strays; /* processes of nobody, ended; one a line */
};

void schedule_run(struct schedule *schedule);

#endif /* SUPERVISE_SCHEDULE_H */
