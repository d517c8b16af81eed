/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_abi_layout: what it reports, and how much it writes. */

#include <string.h>

#include "table.h"

#define CANARY 0xA5

static uint32_t
word_at(const uint8_t *bytes, size_t offset)
{
    uint32_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

CONFORM_CASE(layout_values, .id = "i6.layout.values", .clauses = "i6.layout",
             .why = "A host that verifies the layout at start is misled by a "
                    "report of the wrong version, size or alignment.",
             .steps = "Call gusset_abi_layout and read its 36 bytes at the "
                      "contract's offsets, without the header's struct.",
             .expected = "Version 2; sizes 40, 48, 36, 24; alignments 8, 8, "
                         "4, 8.",
             .mutant = "layout-aligns-swapped")
{
    uint32_t report[LAYOUT_BYTES / 4];
    memset(report, CANARY, sizeof report);
    api.abi_layout((AbiLayout *)(void *)report);
    expect_u64(2, report[0], "the version at offset 0");
    for (int i = 0; i < STRUCTS; i++) {
        expect_u64(conform_abi_structs[i].size, report[1 + i],
                   "the size of %s, at offset %d", conform_abi_structs[i].name,
                   4 + 4 * i);
        expect_u64(conform_abi_structs[i].align, report[5 + i],
                   "the alignment of %s, at offset %d",
                   conform_abi_structs[i].name, 20 + 4 * i);
    }
}

CONFORM_CASE(layout_exact, .id = "i6.layout.exact-36-bytes",
             .clauses = "i6.layout i6.old-caller",
             .why = "A report that grew writes past the struct of a host that "
                    "was built before; one that leaves bytes out hands the "
                    "host its own junk.",
             .steps = "Call gusset_abi_layout twice on the middle of a larger "
                      "block, filled with 0x00 and with 0xff.",
             .expected = "Both times the same 36 bytes; nothing before or "
                         "after them changes.",
             .mutant = "layout-writes-forty-bytes")
{
    static const uint8_t fills[2] = {0x00, 0xff};
    _Alignas(8) uint8_t block[2][128];
    for (int i = 0; i < 2; i++) {
        memset(block[i], fills[i], sizeof block[i]);
        api.abi_layout((AbiLayout *)(void *)(block[i] + 32));
        for (size_t at = 0; at < sizeof block[i]; at++)
            if (at < 32 || at >= 32 + LAYOUT_BYTES)
                expect_u64(fills[i], block[i][at],
                           "the byte %d from the start of the struct",
                           (int)at - 32);
    }
    expect_bytes(block[0] + 32, LAYOUT_BYTES, block[1] + 32, LAYOUT_BYTES,
                 "the report over 0x00 and over 0xff: every byte is written");
}

CONFORM_CASE(layout_null, .id = "i6.layout.null-no-op", .clauses = "i6.layout",
             .why = "A host without interest in the layout passes NULL.",
             .steps = "Call gusset_abi_layout with NULL, then with a struct.",
             .expected = "No crash; the second call reports version 2.",
             .mutant = "layout-null-not-checked")
{
    AbiLayout report;
    memset(&report, 0, sizeof report);
    api.abi_layout(NULL);
    conform_marker("after NULL");
    api.abi_layout(&report);
    expect_u64(2, report.version, "the version after a call with NULL");
}

CONFORM_CASE(old_caller, .id = "i6.old-caller.flush-against-a-guard-page",
             .clauses = "i6.old-caller",
             .why = "A version-2 host allocates exactly 36 bytes; a library "
                    "that writes more smashes its heap before the host could "
                    "read the version.",
             .steps = "Call gusset_abi_layout 3 times on 36 bytes that end at "
                      "an inaccessible page.",
             .expected = "No fault; version 2 each time.",
             .mutant = "layout-of-version-three")
{
    uint8_t *block = conform_fence(LAYOUT_BYTES);
    for (int i = 0; i < 3; i++) {
        memset(block, CANARY, LAYOUT_BYTES);
        api.abi_layout((AbiLayout *)(void *)block);
        expect_u64(2, word_at(block, 0), "the version, call %d", i);
        expect_u64(8, word_at(block, 32),
                   "the last word of the 36 bytes, call %d", i);
    }
    conform_fence_free(block);
}
