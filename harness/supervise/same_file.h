/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * same_file.h - is the file that is certified the one that ran [a.same-file]?
 *
 * Cases whose first clause is a.same-file run last, alone; to what such a case
 * found in its own process the supervisor adds what it alone can know: the
 * artifact (and the program it was linked into) is the file it was at the
 * start, and no case of the run said that it ran another image.
 */
#ifndef SUPERVISE_SAME_FILE_H
#define SUPERVISE_SAME_FILE_H

#include "result.h"
#include "subject.h"

/* True for a case of that clause. */
bool same_file_case(const struct case_info *info);

/*
 * Keeps the build id that the case recorded of the image it ran. expected is
 * the one it should have run, or NULL when that is unknown.
 */
void same_file_note(struct subject *subject, const char *expected,
                    const struct result *result);

/*
 * To be called when everything else has run. Adds the supervisor's checks to
 * the result of a case of that clause on a subject with an artifact: counts
 * them, adds their evidence, and makes a PASS a FAIL, or OUT-OF-REACH when
 * nothing shows which image was mapped.
 */
void same_file_check(const struct subject *subject, struct result *result);

#endif /* SUPERVISE_SAME_FILE_H */
