/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_abi_fields: the 17 fields, and what it writes where. */

#include <stdio.h>
#include <string.h>

#include "table.h"

#define CANARY UINT32_C(0xA5A5A5A5)

CONFORM_CASE(fields_all, .id = "i6.fields.all-in-order", .clauses = "i6.fields",
             .why = "Two fields of equal width that swap places change no "
                    "size and no alignment: only the offset by name shows it.",
             .steps = "Call gusset_abi_fields with room for 17 entries.",
             .expected = "17; offset and size of each field as in the "
                         "contract, in declaration order.",
             .mutant = "swap-equal-width-fields")
{
    uint32_t offsets[FIELDS], sizes[FIELDS];
    memset(offsets, 0xff, sizeof offsets);
    memset(sizes, 0xff, sizeof sizes);
    uint32_t count = api.abi_fields(offsets, sizes, FIELDS);
    expect_u64(FIELDS, count, "the number of fields");
    for (int i = 0; i < FIELDS; i++) {
        const struct abi_field_row *field = &conform_abi_fields[i];
        expect_u64(field->offset, offsets[i], "the offset of %s (entry %d)",
                   field->name, i);
        expect_u64(field->size, sizes[i], "the size of %s (entry %d)",
                   field->name, i);
    }
}

/*
 * An array of exactly `entries` words between a canary and an inaccessible
 * page: one entry too many is a fault of the process, not a lucky miss.
 */
struct fenced {
    uint32_t *block; /* the canary is block[0] */
    uint32_t *array;
};

static struct fenced
fence_array(uint32_t entries)
{
    struct fenced fenced;
    fenced.block = conform_fence((entries + 1) * sizeof(uint32_t));
    fenced.array = fenced.block + 1;
    for (uint32_t i = 0; i <= entries; i++)
        fenced.block[i] = CANARY;
    return fenced;
}

/* The first `written` entries are the report's, the rest untouched. */
static void
expect_written(const struct fenced *fenced, uint32_t entries, uint32_t written,
               bool offsets, const char *when)
{
    const char *what = offsets ? "offsets" : "sizes";
    expect_u64(CANARY, fenced->block[0], "the word before %s, %s", what, when);
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t wanted = i >= written ? CANARY
                          : offsets    ? conform_abi_fields[i].offset
                                       : conform_abi_fields[i].size;
        expect_u64(wanted, fenced->array[i], "%s[%u], %s", what, i, when);
    }
}

static void
try_cap(uint32_t cap, bool with_offsets, bool with_sizes)
{
    char when[96];
    uint32_t written = cap < FIELDS ? cap : FIELDS;
    /* More room than fields, when the caller says so: the rest is his. */
    uint32_t entries = cap > FIELDS && cap < 64 ? cap : written;
    struct fenced offsets = fence_array(entries), sizes = fence_array(entries);
    snprintf(when, sizeof when, "cap %u, %s, %s", cap,
             with_offsets ? "offsets" : "NULL", with_sizes ? "sizes" : "NULL");
    uint32_t count = api.abi_fields(with_offsets ? offsets.array : NULL,
                                    with_sizes ? sizes.array : NULL, cap);
    expect_u64(FIELDS, count, "the number of fields, %s", when);
    expect_written(&offsets, entries, with_offsets ? written : 0, true, when);
    expect_written(&sizes, entries, with_sizes ? written : 0, false, when);
    conform_fence_free(offsets.block);
    conform_fence_free(sizes.block);
}

CONFORM_CASE(fields_cap, .id = "i6.fields.cap-and-null-arrays",
             .clauses = "i6.fields",
             .why = "A host with an older, shorter table, or with interest in "
                    "one of the two arrays, is overrun.",
             .steps = "Call gusset_abi_fields with cap 0, 1, 16, 17, 18, 20 "
                      "and 2^32-1, with both arrays, each alone and none; the "
                      "arrays end at an inaccessible page.",
             .expected = "17 each time; min(cap, 17) entries in each array "
                         "that is there, nothing else changed.",
             .mutant = "fields-ignore-cap")
{
    static const uint32_t caps[] = {0, 1, 16, 17, 18, 20, UINT32_MAX};
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++)
        for (int arrays = 0; arrays < 4; arrays++)
            try_cap(caps[i], (arrays & 1) != 0, (arrays & 2) != 0);
}
