/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * subject.h - the one thing that the pretended subject can do.
 */
#ifndef SELF_GLUE_SUBJECT_H
#define SELF_GLUE_SUBJECT_H

#include <stdint.h>

/* What gusset_alloc_stats reports as live. */
extern uint64_t glue_live_bytes;

#endif /* SELF_GLUE_SUBJECT_H */
