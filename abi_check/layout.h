/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * layout.h - one side's view of the four structs, and its comparison with the
 * frozen table, field by field and by name [i6.self-report-true].
 */
#ifndef ABI_CHECK_LAYOUT_H
#define ABI_CHECK_LAYOUT_H

#include "abi_check/findings.h"
#include "abi_check/frozen.h"

/*
 * What a side can tell besides names, offsets and sizes. A side that cannot
 * tell something does not set its bit; nothing is guessed.
 */
#define LAYOUT_ALIGNS 1u     /* alignments of the structs */
#define LAYOUT_KINDS 2u      /* signed, unsigned, pointer */
#define LAYOUT_CONSTNESS 4u  /* of what a pointer points to */
#define LAYOUT_ELEMENTS 8u   /* widths of array elements */
#define LAYOUT_MAX_FIELDS 16 /* of one struct */

struct struct_layout {
    struct abi_struct is; /* is.name NULL: this side does not have it */
    struct abi_field fields[LAYOUT_MAX_FIELDS]; /* in declaration order */
    unsigned field_count; /* may exceed LAYOUT_MAX_FIELDS: not all kept */
};

struct layout {
    const char *side; /* "gusset.h as compiled", "DWARF of abi.c": named in
                         every fault */
    unsigned tells;   /* LAYOUT_... */
    struct struct_layout structs[FROZEN_STRUCTS]; /* in the frozen order */
};

/*
 * Compares each struct that the side has with the frozen one: size, alignment,
 * the names and order of all fields, and of each field offset, size, kind,
 * pointer-constness. KIND_OTHER of a side is a fault like any other.
 */
void layout_compare(const struct layout *layout, struct findings *found);

/* The frozen table itself, as a side. */
void layout_frozen(struct layout *layout);

#endif /* ABI_CHECK_LAYOUT_H */
