/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/foreign.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi_check/embed.h"
#include "abi_check/frozen.h"

/* A sorted list of names, borrowed from an embedded text. */
struct name {
    const char *text;
    size_t len;
};

struct names {
    struct name *at;
    size_t count;
};

/* A Rust archive brings thousands of strays; evidence shows the first. */
#define SHOWN 40

struct listing {
    const char *what;
    size_t count;
    char text[4096];
};

static int
by_text(const void *left, const void *right)
{
    const struct name *a = left, *b = right;
    size_t common = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->text, b->text, common);
    if (order != 0)
        return order;
    return (a->len > b->len) - (a->len < b->len);
}

static bool
names_load(const char *text, struct names *names)
{
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at++)
        lines += *at == '\n';
    names->count = 0;
    names->at = calloc(lines + 1, sizeof *names->at);
    if (names->at == NULL)
        return false;
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        if (len > 0 && text[0] != '#')
            names->at[names->count++] = (struct name){text, len};
        text += len + (text[len] == '\n');
    }
    qsort(names->at, names->count, sizeof *names->at, by_text);
    return true;
}

static bool
names_has(const struct names *names, const char *text)
{
    struct name wanted = {text, strlen(text)};
    return bsearch(&wanted, names->at, names->count, sizeof *names->at,
                   by_text) != NULL;
}

static void
list(struct listing *listing, const struct symbol *symbol)
{
    size_t used = strlen(listing->text);
    if (listing->count++ < SHOWN)
        snprintf(listing->text + used, sizeof listing->text - used, "%s%s (%s)",
                 used == 0 ? "" : ", ", symbol->name, symbol->object);
}

static void
report(struct findings *found, const struct listing *listing)
{
    if (listing->count != 0)
        findings_note(found, "%s: %zu: %s%s", listing->what, listing->count,
                      listing->text, listing->count > SHOWN ? ", ..." : "");
}

static bool
begins(const char *text, const char *prefix)
{
    return prefix != NULL && prefix[0] != '\0' &&
           strncmp(text, prefix, strlen(prefix)) == 0;
}

static void
judge_all(const struct artifact *artifact, const char *engine_prefix,
          const struct names *libc, const struct names *compiler,
          struct findings *found)
{
    struct listing support = {.what = "compiler support routines"};
    struct listing weak = {.what = "weak definitions of C library names"};
    struct listing engine = {.what = "engine API"};
    struct listing stray = {.what = "other strays"};
    for (size_t i = 0; i < artifact->count; i++) {
        const struct symbol *symbol = &artifact->symbols[i];
        const char *name = symbol->name;
        bool visible = symbol_is_visible(symbol);
        found->judged++;
        if (frozen_is_export(name) || symbol->version_node)
            continue;
        if (names_has(compiler, name) || begins(name, "__rust"))
            list(&support, symbol);
        else if (names_has(libc, name) && symbol->binding == STB_WEAK)
            list(&weak, symbol);
        else if (names_has(libc, name) &&
                 (visible || artifact->kind == ARTIFACT_ARCHIVE))
            findings_fault(found,
                           "foreign definition: %s (%s %s, %s) in %s belongs "
                           "to the C library",
                           name, symbol_binding_name(symbol->binding),
                           symbol_type_name(symbol->type),
                           symbol_visibility_name(symbol->visibility),
                           symbol->object);
        else if (begins(name, engine_prefix))
            list(&engine, symbol);
        else if (visible)
            list(&stray, symbol);
    }
    report(found, &support);
    report(found, &weak);
    report(found, &engine);
    report(found, &stray);
}

void
foreign_check(const struct artifact *artifact, const char *engine_prefix,
              struct findings *found)
{
    struct names libc = {0}, compiler = {0};
    if (names_load(embed_libc_names, &libc) &&
        names_load(embed_compiler_names, &compiler) && libc.count != 0 &&
        compiler.count != 0 && names_has(&libc, "malloc"))
        judge_all(artifact, engine_prefix, &libc, &compiler, found);
    else
        findings_broken(found, "no usable list of C library names");
    free(libc.at);
    free(compiler.at);
}

void
foreign_check_engine(const struct artifact *artifact, const char *engine_prefix,
                     struct findings *found)
{
    struct listing engine = {.what = "engine API"};
    for (size_t i = 0; i < artifact->count; i++) {
        const struct symbol *symbol = &artifact->symbols[i];
        found->judged++;
        if (begins(symbol->name, engine_prefix) && symbol_is_visible(symbol))
            list(&engine, symbol);
    }
    report(found, &engine);
    if (engine.count == 0)
        findings_fault(found,
                       "the claims file declares an engine API, engine_prefix "
                       "%s, but no visible symbol of %zu begins so",
                       engine_prefix, artifact->count);
}
