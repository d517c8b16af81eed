/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes: why no unit waits beside an idle worker. Let P be a push, and
 * look at what the gst__park_wake after it reads.
 *
 * pollers != 0. Some poller Y is counted after P in the one order of all SEQ
 *   operations, so every look Y takes before it stops being a poller sees P.
 *   If Y pops something else, it looks at the queue after it was counted out
 *   and calls gst__park_wake, to which the same argument applies; if it gives
 *   up, its look after gst__park_announce sees P.
 * sleepers == 0. Every worker is awake, or announces itself after P and then
 *   looks once more, and sees P.
 * Else a sleeper is granted the poller's role. The compare-and-swap from 0 to
 *   1 keeps it to one wake-up at a time; if it fails, another poller is
 *   counted after P, as in the first case.
 *
 * A grant may find nobody asleep any more, when the sleeper retracts at that
 * moment. Then pollers stays 1 without a poller, but no worker is asleep
 * either, and the next one that tries takes the grant in place of sleeping.
 */
#include "park.h"

#include "plat.h"

void
gst__park_init(struct gst__park *park, uint32_t max_pollers)
{
    GST_STORE_RELAXED(&park->pollers, 0);
    GST_STORE_RELAXED(&park->sleepers, 0);
    GST_STORE_RELAXED(&park->grants, 0);
    park->max_pollers = max_pollers;
}

void
gst__park_wake(struct gst__park *park)
{
    uint32_t none = 0;

    if (GST_LOAD_SEQ(&park->pollers) != 0)
        return;
    if (GST_LOAD_SEQ(&park->sleepers) == 0)
        return;
    if (!GST_CAS_STRONG_SEQ(&park->pollers, &none, 1))
        return;
    GST_ADD_SEQ(&park->grants, 1);
    gst__plat_wake(&park->grants, 1);
}

bool
gst__park_poll_begin(struct gst__park *park)
{
    uint32_t pollers = GST_LOAD_SEQ(&park->pollers);

    do {
        if (pollers >= park->max_pollers)
            return false;
    } while (!GST_CAS_SEQ(&park->pollers, &pollers, pollers + 1));
    return true;
}

void
gst__park_poll_end(struct gst__park *park)
{
    GST_SUB_SEQ(&park->pollers, 1);
}

void
gst__park_announce(struct gst__park *park)
{
    GST_ADD_SEQ(&park->sleepers, 1);
}

void
gst__park_retract(struct gst__park *park)
{
    GST_SUB_SEQ(&park->sleepers, 1);
}

void
gst__park_sleep(struct gst__park *park)
{
    uint32_t grants = GST_LOAD_SEQ(&park->grants);

    for (;;) {
        if (grants == 0) {
            gst__plat_wait(&park->grants, 0, GST_FOREVER);
            grants = GST_LOAD_SEQ(&park->grants);
        } else if (GST_CAS_SEQ(&park->grants, &grants, grants - 1)) {
            break;
        }
    }
    GST_SUB_SEQ(&park->sleepers, 1);
}

void
gst__park_stop(struct gst__park *park, uint32_t workers)
{
    /* Each worker takes at most one grant more before it sees the reason, so
     * none sleeps from now on. */
    GST_ADD_SEQ(&park->pollers, workers);
    GST_ADD_SEQ(&park->grants, workers);
    gst__plat_wake(&park->grants, workers);
}
