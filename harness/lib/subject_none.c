/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For programs that judge a file without calling it: no subject at all. */
#include "internal.h"

struct conform_api api;

bool
conform_subject_wants_path(void)
{
    return false;
}

bool
conform_subject_present(void)
{
    return false;
}

void
conform_subject_load(const char *path)
{
    (void)path;
}

bool
conform_engine_present(void)
{
    return false;
}

struct conform_test_engine
conform_test_engine_find(const char *path)
{
    struct conform_test_engine none = {NULL, "nobody"};
    (void)path;
    return none;
}
