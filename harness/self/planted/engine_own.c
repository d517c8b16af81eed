/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Planted: an engine that registers itself, as that of a product does. With
 * the reference in one archive it is the subject of harness/self/claims.sh.
 */
#include "gusset_engine.h"

static int32_t
count_bytes(gse_call *call, void *user)
{
    uint64_t sum = 0;
    size_t len = 0;
    const uint8_t *input = gse_input(call, &len);
    (void)user;
    for (size_t i = 0; i < len; i++)
        sum += input[i];
    return gse_output_bytes(call, &sum, sizeof sum);
}

__attribute__((constructor)) static void
register_itself(void)
{
    (void)gse_register_global(count_bytes, NULL);
}
