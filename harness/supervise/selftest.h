/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * selftest.h - shows, before anything is judged, that each way of failing is
 * told from passing: harness/self has a case for each, and a table of the
 * exact verdicts and words.
 */
#ifndef SUPERVISE_SELFTEST_H
#define SUPERVISE_SELFTEST_H

#include "options.h"
#include "subject.h"

struct selftest {
    bool passed;
    size_t right; /* verdicts as the table has them */
    size_t wrong;
    size_t skipped;     /* rows whose case needs Go, where there is none */
    int interrupted;    /* the signal that ended it, or 0 */
    struct text line;   /* the outcome in one line */
    struct text detail; /* one line a case; what was wrong below it */
};

/*
 * Runs it; pages are made in `folder`. `whole`: also what takes seconds. The
 * rows in Go are run where preparation has a Go that can build.
 */
void selftest_run(struct selftest *selftest, const struct options *options,
                  const char *folder, const struct preparation *preparation,
                  bool whole);

#endif /* SUPERVISE_SELFTEST_H */
