/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * step.h - a call that is stopped before any of its instructions while
 * another thread acts: races by order, not by luck. By the processor's
 * single-step trap, so it needs nothing of the implementation.
 */
#ifndef CONFORM_STEP_H
#define CONFORM_STEP_H

#include <stdint.h>

typedef void (*conform_step_body)(void *argument);

/*
 * `prepare`, then `call` on this thread; before its k-th instruction it stands
 * still while `meanwhile` runs on a thread of its own; then `judge`. Repeated
 * for k = 0, 1, 2, ... over the whole call, or with an even stride where that
 * would cost too many traps.
 *
 * An implementation may hold a lock where the call stands, and `meanwhile`
 * then cannot end: after a time the call goes on first, and in time the stride
 * grows. That is no fault. `judge` runs when both have ended, in any case.
 *
 * A machine that is too busy for all of them gets no further than three times
 * the patience allows. Main thread only. Ends the case as OUT-OF-REACH where
 * single steps do not bite, as BROKEN where no stop did. Evidence: `steps`, how
 * many instructions the call has, at how many it was stopped, and how often it
 * had to go on first.
 */
struct conform_steps {
    conform_step_body prepare, call, meanwhile, judge;
    void *argument; /* of all four */
};
void conform_step_through(const struct conform_steps *steps);

#endif /* CONFORM_STEP_H */
