/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The subject is a shared object, loaded into this process only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "../engine/test_engine.h"
#include "internal.h"

struct conform_api api;
static void *library;
static const char *library_path;

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
    library_path = path;
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

/* As dlsym gives it: a function's address in a pointer to an object. */
static struct conform_test_engine
test_engine_of(void *symbol, const char *from)
{
    struct conform_test_engine engine = {.from = from};
    memcpy(&engine.start, &symbol, sizeof symbol);
    return engine;
}

/*
 * What is loaded after the subject may link against it or leave its symbols
 * open: the subject's are made visible to it, which changes nothing for the
 * subject, whose own references are bound by now.
 */
static struct conform_test_engine
load_test_engine(const char *path)
{
    if (dlopen(library_path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) == NULL) {
        conform_broken("dlopen: %s", dlerror());
    }
    void *engine = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (engine == NULL) {
        conform_broken("--test-engine %s: %s", path, dlerror());
    }
    void *symbol = dlsym(engine, "gte_register");
    if (symbol == NULL) {
        conform_broken("--test-engine %s: has no gte_register", path);
    }
    return test_engine_of(symbol, path);
}

struct conform_test_engine
conform_test_engine_find(const char *path)
{
    if (path != NULL) {
        return load_test_engine(path);
    }
    void *symbol = conform_subject_symbol("gte_register");
    if (symbol != NULL) {
        return test_engine_of(symbol, "the subject");
    }
    struct conform_test_engine none = {NULL, "nobody"};
    struct conform_test_engine bundled = {gte_register_over_gse,
                                          "the harness, over gse_"};
    return conform_engine_present() ? bundled : none;
}
