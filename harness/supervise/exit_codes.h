/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * exit_codes.h - what the exit code of gusset-conform means. Scripts depend
 * on these numbers: none is ever given another meaning.
 */
#ifndef SUPERVISE_EXIT_CODES_H
#define SUPERVISE_EXIT_CODES_H

enum exit_code {
    EXIT_CONFORMING = 0,
    EXIT_NOT_CONFORMING = 1,
    EXIT_USAGE = 2,        /* bad arguments, or a file that is no artifact */
    EXIT_INCONCLUSIVE = 3, /* BROKEN, FLAKY, missing result, lost report */
    EXIT_NOTHING_SELECTED = 4,
    EXIT_WAIVER = 5, /* a waiver is unused, expired, or no longer needed */
    EXIT_ARTIFACT_CHANGED = 6,
    EXIT_OUR_BUG = 70 /* the self-test failed, a part is missing */
};

#endif /* SUPERVISE_EXIT_CODES_H */
