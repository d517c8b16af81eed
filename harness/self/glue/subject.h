/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * subject.h - what the pretended subject can do: little, in the calling
 * thread, and on demand wrong.
 */
#ifndef SELF_GLUE_SUBJECT_H
#define SELF_GLUE_SUBJECT_H

#include <stdint.h>

enum glue_fault {
    GLUE_NO_FAULT,
    GLUE_HEADER_KEPT,      /* reads the header when the result is taken */
    GLUE_INPUT_KEPT,       /* reads the input when the result is taken */
    GLUE_BEHIND_HEADER,    /* reads on behind the header */
    GLUE_BEHIND_INPUT,     /* reads on behind the input */
    GLUE_BEHIND_STATUS,    /* writes on behind the status */
    GLUE_BEFORE_TICKET,    /* writes before out_ticket */
    GLUE_BEHIND_STATS,     /* writes on behind the statistics */
    GLUE_BEHIND_LOG,       /* writes on behind the buffer of drain_logs */
    GLUE_OUT_ON_ERROR,     /* writes out_len of a take it refuses */
    GLUE_OUT_LATE,         /* writes out_ticket once more at close */
    GLUE_OUT_UNWRITTEN,    /* FFI_OK without a ticket */
    GLUE_STATUS_KEPT,      /* FFI_OK without clearing the status */
    GLUE_CODE_DIFFERS,     /* another code in the status */
    GLUE_TICKET_TWICE,     /* issues each ticket twice */
    GLUE_COMPLETION_TWICE, /* writes each record twice */
    GLUE_COMPLETION_LOST,  /* writes none */
    GLUE_COMPLETION_OTHER, /* writes one of a ticket never issued as well */
    GLUE_RESULT_TWICE,     /* each take gives the result */
    GLUE_RESULT_LOST,      /* no take gives one */
    GLUE_RESULT_OTHER,     /* gives a result for a ticket never issued */
    GLUE_RING_CAPACITY,    /* changes the ring's capacity */
    GLUE_RING_SEQUENCE,    /* stores a sequence word that no step has */
    GLUE_RING_AFTER_CLOSE, /* touches the ring after close */
};
extern enum glue_fault glue_fault;

/* What gusset_alloc_stats reports as live. */
extern uint64_t glue_live_bytes;

#endif /* SELF_GLUE_SUBJECT_H */
