/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The subject is an archive in this program; the linker found the 17. */
#include "../engine/test_engine.h"
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

/* Comes with the bundled gte_register only: the linker took it for want of
 * another. */
extern const bool conform_test_engine_is_bundled __attribute__((weak));

struct conform_test_engine
conform_test_engine_find(const char *path)
{
    struct conform_test_engine found = {gte_register, "the subject"};
    if (path != NULL) {
        found.from = path;
    } else if (&conform_test_engine_is_bundled != NULL) {
        found.start = conform_engine_present() ? gte_register : NULL;
        found.from = "the harness, over gse_";
    }
    return found;
}
