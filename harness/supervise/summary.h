/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * summary.h - from the verdicts of the cases to a verdict on each subject and
 * to the exit code.
 */
#ifndef SUPERVISE_SUMMARY_H
#define SUPERVISE_SUMMARY_H

#include "plan.h"

/* How an item counts in "N passed, N failed, N skipped". */
enum standing {
    STANDING_PASSED,
    STANDING_FAILED,  /* also BROKEN and FLAKY: nothing green about them */
    STANDING_SKIPPED, /* SKIP, OUT-OF-REACH, WAIVED, a SHOULD not met, and a
                         PASS that is not proven */
    STANDING_NOT_RUN,
    STANDING_COUNT
};

struct tally {
    size_t verdicts[VERDICT_COUNT];
    size_t standings[STANDING_COUNT];
    size_t against;  /* items that make the subject not conforming */
    size_t unclear;  /* BROKEN and FLAKY */
    size_t advisory; /* a SHOULD or MAY that is not met */
    size_t unproven; /* passes that nothing shows to be able to fail */
    size_t items;
};

struct summary {
    struct tally total;
    struct tally *subjects; /* one for each of the plan */
    bool *changed;          /* that artifact is not the file it was */
    int exit_code;
};

enum standing item_standing(const struct plan *plan, const struct item *item);

/*
 * Counts and decides; looks at the artifacts once more. `lost` tells that the
 * run ended early or something of it got lost.
 */
void summary_make(struct summary *summary, const struct plan *plan, bool lost);
void summary_free(struct summary *summary);

/* "conforming", "not conforming", "inconclusive", "changed during the run". */
const char *summary_word(const struct summary *summary, const struct plan *plan,
                         size_t subject);

/* "210 PASS, 1 FAIL, 3 OUT-OF-REACH". */
void tally_add(const struct tally *tally, struct text *text);

#endif /* SUPERVISE_SUMMARY_H */
