/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A whole gte_register for an implementation with the gse_ API. */
#include "test_engine.h"

int32_t
gte_register(void)
{
    return gte_register_over_gse();
}
