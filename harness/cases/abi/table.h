/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * table.h - the 17 fields by the numbers of docs/contract.md 1.1, and the
 * same by this program's compiler from gusset.h.
 */
#ifndef CASES_ABI_TABLE_H
#define CASES_ABI_TABLE_H

#include "conform.h"

#define FIELDS 17
#define STRUCTS 4
#define LAYOUT_BYTES 36 /* of AbiLayout, for ever [i6.old-caller] */

struct abi_struct_row {
    const char *name;
    uint32_t size, align;                   /* the contract */
    uint32_t compiled_size, compiled_align; /* the header */
    int fields;
};

struct abi_field_row {
    const char *name;
    uint32_t offset, size;                   /* the contract */
    uint32_t compiled_offset, compiled_size; /* the header */
};

extern const struct abi_struct_row conform_abi_structs[STRUCTS];
extern const struct abi_field_row conform_abi_fields[FIELDS];

#endif /* CASES_ABI_TABLE_H */
