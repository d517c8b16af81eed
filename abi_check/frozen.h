/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * frozen.h - ABI version 2 as docs/contract.md section 1 freezes it.
 *
 * Written out by hand from the contract and never derived from gusset.h: it
 * is the side that the header, the compiler, the artifact's DWARF and the
 * self-report are each compared with.
 */
#ifndef ABI_CHECK_FROZEN_H
#define ABI_CHECK_FROZEN_H

#include <stdbool.h>
#include <stdint.h>

#define FROZEN_EXPORTS 17
#define FROZEN_STRUCTS 4
#define FROZEN_FIELDS 17
#define FROZEN_CONSTANTS 23

/* What a field holds; for an array, what its elements hold. */
enum field_kind {
    KIND_OTHER = 0, /* none of those below, or not told */
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_POINTER,
    KIND_POINTER_TO_CONST
};

struct abi_struct {
    const char *name;
    uint64_t size;
    uint64_t align;
};

struct abi_field {
    const char *in; /* the struct */
    const char *name;
    uint64_t offset;
    uint64_t size;
    enum field_kind kind;
    uint64_t element; /* bytes of one element; size when it is no array */
};

struct abi_constant {
    const char *name;
    uint64_t value;
};

extern const char *const frozen_exports[FROZEN_EXPORTS];
extern const struct abi_struct frozen_structs[FROZEN_STRUCTS];
extern const struct abi_field frozen_fields[FROZEN_FIELDS];
extern const struct abi_constant frozen_constants[FROZEN_CONSTANTS];

/* True when name is one of the 17. */
bool frozen_is_export(const char *name);

/* "signed", "unsigned", "pointer", "pointer to const", "other". */
const char *field_kind_name(enum field_kind kind);

#endif /* ABI_CHECK_FROZEN_H */
