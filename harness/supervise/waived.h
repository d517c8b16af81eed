/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * waived.h - what became of the waivers in a run.
 *
 * A waiver is trouble, because it would hide the next failure, when it has
 * expired, or when every case that its clause is the first of ran and none
 * ended as the waiver says. A clause of which the run left out a case is not
 * judged that way, and one that was not selected at all makes no trouble.
 */
#ifndef SUPERVISE_WAIVED_H
#define SUPERVISE_WAIVED_H

#include "plan.h"

/* How many results the waiver covers; NULL: all waivers together. */
size_t waived_results(const struct plan *plan, const struct waiver *waiver);

/* What is wrong with the waiver, in words the caller frees, or NULL. */
char *waived_trouble(const struct plan *plan, const struct waiver *waiver);

/* Adds a line for each waiver that is trouble. */
void waived_troubles(const struct plan *plan, struct text *troubles);

#endif /* SUPERVISE_WAIVED_H */
