/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The subject is an archive in this program; the linker found the 17. */
#include "gusset_engine.h"
#include "internal.h"

#define ADDRESS(name) .name = gusset_##name,
struct conform_api api = {CONFORM_EXPORTS(ADDRESS)};

/* The first priority that a program may use: before the archive's own. */
__attribute__((constructor(101))) static void
note_state(void)
{
    conform_load_note();
}

bool
conform_subject_wants_path(void)
{
    return false;
}

bool
conform_subject_present(void)
{
    return true;
}

void
conform_subject_load(const char *path)
{
    (void)path;
}

bool
conform_engine_present(void)
{
    /* An archive without the engine API gets engine_absent.c in its place. */
    return gse_api_version() != 0;
}
