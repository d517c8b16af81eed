/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "internal.h"

#define CHUNK 131072
/* A log is bounded; a subject that never says "empty" must not hang us. */
#define MOST ((size_t)64 << 20)

const char *
conform_drain_log(void)
{
    size_t cap = CHUNK + 1;
    size_t len = 0;
    char *text = conform_allocate(cap);
    for (;;) {
        if (cap - len - 1 < CHUNK) {
            char *larger = conform_allocate(2 * cap);
            memcpy(larger, text, len);
            text = larger;
            cap *= 2;
        }
        size_t written = 0;
        api.drain_logs((uint8_t *)text + len, CHUNK, &written);
        expect_u64_at_most(CHUNK, written,
                           "bytes that drain_logs says it wrote into %d",
                           CHUNK);
        if (written == 0) {
            break;
        }
        len += written;
        expect_u64_at_most(MOST, len, "bytes drained from the log without end");
    }
    text[len] = '\0';
    return text;
}
