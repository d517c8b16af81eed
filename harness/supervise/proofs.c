/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "proofs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit_codes.h"

extern const char kills_text[];

/* The cases of all tables; those of the built-in one come first. */
static struct strings proved;
static size_t built_in;
static bool read_built_in;

__attribute__((noreturn)) static void
refuse(const char *path, unsigned line, const char *what)
{
    if (path == NULL)
        quit(EXIT_OUR_BUG, "the table of kills inside the program, line %u: %s",
             line, what);
    quit(EXIT_USAGE, "--proofs %s:%u: %s", path, line, what);
}

static void
read_line(const char *path, unsigned line, const char *at, size_t len,
          size_t from)
{
    size_t id = strcspn(at, "\t\n ");
    if (id == 0 || at[id] != '\t')
        refuse(path, line, "no case before a tab");
    if (memchr(at, '@', id) != NULL)
        refuse(path, line, "a case with its transport");
    if (id + 1 >= len || at[id + 1] == ' ')
        refuse(path, line, "no mutant behind the tab");
    char *name = need_format("%.*s", (int)id, at);
    size_t last = proved.count;
    if (last > from && strcmp(proved.items[last - 1], name) >= 0)
        refuse(path, line, "not sorted, or a case twice");
    strings_add(&proved, name);
    free(name);
}

static void
read_table(const char *path, const char *text)
{
    size_t from = proved.count;
    unsigned line = 0;
    for (const char *at = text; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        line++;
        if (at[len] != '\n')
            refuse(path, line, "cut off, its end is missing");
        read_line(path, line, at, len, from);
        at += len + 1;
    }
    if (line == 0)
        refuse(path, 1, "the table is empty");
}

void
proofs_read(const char *path)
{
    if (!read_built_in) {
        read_built_in = true;
        read_table(NULL, kills_text);
        built_in = proved.count;
    }
    if (path == NULL)
        return;
    struct text text = {0};
    if (!text_read_file(&text, path))
        quit(EXIT_USAGE, "--proofs %s: %s", path, strerror(errno));
    if (strlen(text_get(&text)) != text.len)
        quit(EXIT_USAGE, "--proofs %s: holds a NUL byte", path);
    read_table(path, text_get(&text));
    text_free(&text);
}

bool
proofs_have(const struct case_info *info)
{
    proofs_read(NULL);
    size_t base = case_base(info);
    for (size_t i = 0; i < proved.count; i++) {
        if (strncmp(proved.items[i], info->id, base) == 0 &&
            proved.items[i][base] == '\0')
            return true;
    }
    return false;
}

static bool
named(const struct manifest *manifest, const char *id)
{
    for (size_t i = 0; i < manifest->count; i++) {
        const struct case_info *info = &manifest->cases[i];
        size_t base = case_base(info);
        if (strncmp(info->id, id, base) == 0 && id[base] == '\0')
            return true;
    }
    return false;
}

size_t
proofs_unknown(const struct manifest *manifest, struct text *names)
{
    size_t unknown = 0;
    proofs_read(NULL);
    for (size_t i = 0; i < built_in; i++) {
        if (named(manifest, proved.items[i]))
            continue;
        text_add(names, "%s\n", proved.items[i]);
        unknown++;
    }
    return unknown;
}
