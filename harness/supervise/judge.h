/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * judge.h - the one place where a verdict is made.
 */
#ifndef SUPERVISE_JUDGE_H
#define SUPERVISE_JUDGE_H

#include "manifest.h"
#include "page.h"
#include "result.h"

/* Everything that is known when a case is over. Nothing here is owned. */
struct observation {
    const struct case_info *info;
    const char *not_started; /* why it could not be executed, or NULL */
    int wait_status;
    bool timed_out;     /* it was killed by the watchdog */
    double patience_s;  /* how long the watchdog waited */
    const char *states; /* of its threads when the watchdog struck */
    const struct conform_page *page; /* as the process left it */
    const char *page_trouble;        /* why the page cannot be read, or NULL */
    const char *leftovers; /* processes it left, one a line; "" for none */
    const char *output;    /* what it wrote, cleaned */
    const char *build_id;  /* of the image it must run, or NULL */
};

/*
 * Fills in verdict, reason, differences and what the page recorded. A case is
 * FAIL until something proves otherwise.
 */
void judge(const struct observation *seen, struct result *result);

#endif /* SUPERVISE_JUDGE_H */
