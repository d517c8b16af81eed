/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of i6.self-report-true that need the running library: its report
 * against this compiler's view of gusset.h, and against itself. What it
 * really writes and reads is in fenced.c; its DWARF is abi_check's business.
 */

#include <string.h>

#include "table.h"

static void
read_report(AbiLayout *layout, uint32_t *offsets, uint32_t *sizes)
{
    memset(layout, 0, sizeof *layout);
    memset(offsets, 0xff, FIELDS * sizeof *offsets);
    memset(sizes, 0xff, FIELDS * sizeof *sizes);
    api.abi_layout(layout);
    uint32_t count = api.abi_fields(offsets, sizes, FIELDS);
    expect_u64(FIELDS, count, "the number of fields");
}

CONFORM_CASE(report_header, .id = "i6.self-report-true.report-versus-header",
             .clauses = "i6.self-report-true",
             .why = "Library and header were built from different versions of "
                    "the structs.",
             .steps = "Compare the self-report with sizeof, _Alignof and "
                      "offsetof of gusset.h in this program.",
             .expected = "Equal for 4 structs and 17 fields.")
{
    AbiLayout layout;
    uint32_t offsets[FIELDS], sizes[FIELDS];
    read_report(&layout, offsets, sizes);
    for (int i = 0; i < STRUCTS; i++) {
        const struct abi_struct_row *in = &conform_abi_structs[i];
        expect_u64(in->compiled_size, layout.sizes[i],
                   "self-report against header: the size of %s", in->name);
        expect_u64(in->compiled_align, layout.aligns[i],
                   "self-report against header: the alignment of %s", in->name);
    }
    for (int i = 0; i < FIELDS; i++) {
        const struct abi_field_row *field = &conform_abi_fields[i];
        expect_u64(field->compiled_offset, offsets[i],
                   "self-report against header: the offset of %s", field->name);
        expect_u64(field->compiled_size, sizes[i],
                   "self-report against header: the size of %s", field->name);
    }
}

CONFORM_CASE(report_sane, .id = "i6.self-report-true.report-is-consistent",
             .clauses = "i6.self-report-true",
             .why = "A report of zeros, of overlapping fields or of fields "
                    "outside their struct verifies nothing.",
             .steps = "Walk the reported fields of each reported struct.",
             .expected = "Offsets rise strictly, no field is empty, overlaps "
                         "the next one or ends after its struct; each size is "
                         "a multiple of its alignment.")
{
    AbiLayout layout;
    uint32_t offsets[FIELDS], sizes[FIELDS];
    read_report(&layout, offsets, sizes);
    int entry = 0;
    for (int i = 0; i < STRUCTS; i++) {
        uint64_t end = 0;
        const char *name = conform_abi_structs[i].name;
        expect_u64_at_least(1, layout.aligns[i], "the alignment of %s", name);
        expect_u64(0, layout.sizes[i] % layout.aligns[i],
                   "the size of %s modulo its alignment", name);
        for (int f = 0; f < conform_abi_structs[i].fields; f++, entry++) {
            const char *field = conform_abi_fields[entry].name;
            expect_u64_at_least(1, sizes[entry], "the size of %s", field);
            expect_u64_at_least(end, offsets[entry],
                                "the offset of %s, after the field before it",
                                field);
            end = (uint64_t)offsets[entry] + sizes[entry];
        }
        expect_u64_at_most(layout.sizes[i], end,
                           "the end of the last field of %s", name);
    }
}
