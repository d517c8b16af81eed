/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "record.h"

#include <inttypes.h>
#include <string.h>

uint64_t
record_padded(uint64_t len)
{
    return (len + 7) / 8 * 8;
}

void
record_decode(const uint64_t *words, struct completion *completion)
{
    memset(completion, 0, sizeof *completion);
    completion->ticket = words[0] & ~GUSSET_INLINE_RECORD_FLAG;
    completion->inlined = (words[0] & GUSSET_INLINE_RECORD_FLAG) != 0;
    expect(completion->ticket != 0,
           "a completion names a ticket, its first "
           "word is 0x%" PRIx64 " [i4.pipe-record]",
           words[0]);
    if (!completion->inlined) {
        return;
    }
    completion->len = words[1];
    expect_u64_at_most(GUSSET_INLINE_RESULT_MAX, completion->len,
                       "length of the inline result of ticket %" PRIu64
                       " [i4.pipe-record]",
                       completion->ticket);
    memcpy(completion->bytes, words + 2, completion->len);
    const uint8_t *padding = (const uint8_t *)(words + 2);
    for (uint64_t i = completion->len; i < record_padded(completion->len);
         i++) {
        expect_u64(0, padding[i],
                   "padding byte %" PRIu64 " of the inline record of ticket "
                   "%" PRIu64 " [i4.pipe-record]",
                   i, completion->ticket);
    }
}
