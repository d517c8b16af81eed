/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "test_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf_facts.h"
#include "exit_codes.h"

static void
read_one(struct test_engine *engine, const char *path)
{
    struct elf_facts facts;
    artifact_facts(&facts, path);
    if (!facts.test_engine)
        quit(EXIT_USAGE, "--test-engine %s: has no gte_register", path);
    engine->kind = facts.archive ? ARTIFACT_ARCHIVE : ARTIFACT_SHARED;
    engine->path = realpath(path, NULL);
    if (engine->path == NULL || !file_sha256(path, engine->sha256))
        quit(EXIT_USAGE, "--test-engine %s: %s", path, strerror(errno));
}

/* How many subjects the engine is for. */
static size_t
assign(const struct test_engine *engine, struct subject *subjects, size_t count)
{
    size_t fits = 0;
    for (size_t i = 0; i < count; i++) {
        if (!subjects[i].has_artifact ||
            subjects[i].artifact.kind != engine->kind)
            continue;
        if (subjects[i].test_engine != NULL)
            quit(EXIT_USAGE, "--test-engine %s: %s has one already, %s",
                 engine->path, subjects[i].label,
                 subjects[i].test_engine->path);
        subjects[i].test_engine = engine;
        fits++;
    }
    return fits;
}

void
test_engines_read(const struct strings *paths, struct subject *subjects,
                  size_t count)
{
    struct test_engine *engines = need_memory(paths->count, sizeof *engines);
    for (size_t i = 0; i < paths->count; i++) {
        const char *path = paths->items[i];
        read_one(&engines[i], path);
        bool shared = engines[i].kind == ARTIFACT_SHARED;
        if (assign(&engines[i], subjects, count) == 0)
            quit(EXIT_USAGE,
                 "--test-engine %s: is %s and no --impl is one: a .so goes "
                 "with a .so, an archive with an archive",
                 path, shared ? "a shared object" : "an archive");
    }
}
