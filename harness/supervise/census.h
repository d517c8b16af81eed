/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * census.h - compares what a case program counted before and after its body.
 *
 * A census is text: "KIND KEY\tVALUE\n" for each fact, see
 * harness/include/page.h and harness/README.md. Every kind is compared as a
 * set and must be equal, except `mapped_bytes`, which must not have grown, and
 * `thread` and `note`, which only say more about a difference in another kind.
 */
#ifndef SUPERVISE_CENSUS_H
#define SUPERVISE_CENSUS_H

#include <stdbool.h>

#include "text.h"

enum census_answer { CENSUS_SAME, CENSUS_DIFFERS, CENSUS_UNREADABLE };

/*
 * Adds one line in words for each difference, or for the first line that is
 * no fact. before and after are not changed and need not be sorted.
 */
enum census_answer census_compare(const char *before, size_t before_bytes,
                                  const char *after, size_t after_bytes,
                                  struct text *differences);

#endif /* SUPERVISE_CENSUS_H */
