/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The subject is a shared object, loaded into this process only. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "internal.h"

struct conform_api api;
static void *library;

static const char *const names[] = {
#define NAME(name) "gusset_" #name,
    CONFORM_EXPORTS(NAME)
#undef NAME
};

bool
conform_subject_wants_path(void)
{
    return true;
}

bool
conform_subject_present(void)
{
    return true;
}

void
conform_subject_load(const char *path)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        conform_broken("dlopen: %s", dlerror());
    }
    /* The members of struct conform_api are the 17 in the same order. */
    void **members = (void **)(void *)&api;
    _Static_assert(sizeof api ==
                       sizeof names / sizeof names[0] * sizeof(void *),
                   "a name for each member");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        members[i] = dlsym(library, names[i]);
        if (members[i] == NULL) {
            conform_broken("%s is missing [i6.exports-exact]", names[i]);
        }
    }
}

void *
conform_subject_symbol(const char *name)
{
    return library == NULL ? NULL : dlsym(library, name);
}
