/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The last gte_register on the link line of an archive: taken only when
 * neither --test-engine nor the archive has one.
 */
#include "../engine/test_engine.h"
#include "internal.h"

extern const bool conform_test_engine_is_bundled;
const bool conform_test_engine_is_bundled = true;

int32_t
gte_register(void)
{
    return gte_register_over_gse();
}
