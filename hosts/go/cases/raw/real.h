/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * real.h - the library's own functions, past the tap: __real_gusset_submit is
 * gusset_submit of the library, as gusset.h describes it.
 */
#ifndef RAW_REAL_H
#define RAW_REAL_H

#include "gusset.h"

#define REAL(name) __typeof__(gusset_##name) __real_gusset_##name
#define WRAP(name) __typeof__(gusset_##name) __wrap_gusset_##name
#define BOTH(name) \
    REAL(name);    \
    WRAP(name)

BOTH(abi_layout);
BOTH(abi_fields);
BOTH(init);
BOTH(shutdown);
BOTH(handle_open);
BOTH(handle_close);
BOTH(handle_ring);
BOTH(ring_release);
BOTH(submit);
BOTH(take);
BOTH(cancel);
BOTH(cancel_all);
BOTH(status_free);
BOTH(alloc_stats);
BOTH(drain_logs);
BOTH(buf_alloc);
BOTH(buf_free);

#undef BOTH
#undef WRAP
#undef REAL

#endif /* RAW_REAL_H */
