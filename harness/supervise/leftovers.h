/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * leftovers.h - processes that a case started and did not end.
 *
 * The supervisor is their reaper of last resort: whatever loses its parent
 * becomes its child, also from another session or process group. Whose it is
 * says the token in its environment, else its group or session.
 */
#ifndef SUPERVISE_LEFTOVERS_H
#define SUPERVISE_LEFTOVERS_H

#include <sys/types.h>

#include "text.h"

/*
 * Makes this process the reaper. Children that it has already belong to
 * whoever started it and are never touched. Quits with EXIT_OUR_BUG if it
 * cannot.
 */
void leftovers_adopt(void);

/*
 * Ends every process that the ended case `leader` left, and adds a line on
 * each to names. active[count] are children that are still at work.
 */
void leftovers_end(pid_t leader, const char *token, const pid_t *active,
                   size_t count, struct text *names);

/*
 * The same for all children of this process that are not active; at the end
 * of a run there should be none.
 */
void leftovers_end_strays(const pid_t *active, size_t count,
                          struct text *names);

#endif /* SUPERVISE_LEFTOVERS_H */
