/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "go_sources.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_codes.h"

#define PACKAGE "gusset.dev/go"

__attribute__((noreturn)) static void
unreadable(const char *path)
{
    quit(EXIT_INCONCLUSIVE, "the Go sources: cannot read %s: %s", path,
         strerror(errno));
}

static int
is_source(const struct dirent *entry)
{
    const char *name = entry->d_name;
    size_t len = strlen(name);
    bool test = len > 8 && strcmp(name + len - 8, "_test.go") == 0;
    return name[0] != '.' && name[0] != '_' && !test &&
           strcmp(name, "testdata") != 0;
}

static bool
is_module(const char *folder)
{
    char *path = need_format("%s/go.mod", folder);
    bool found = access(path, F_OK) == 0;
    free(path);
    return found;
}

static void
hash_file(crypto_hash_sha256_state *state, const char *path, const char *name)
{
    struct text text = {0};
    if (!text_read_file(&text, path))
        unreadable(path);
    crypto_hash_sha256_update(state, (const unsigned char *)name,
                              strlen(name) + 1);
    unsigned long long len = text.len;
    crypto_hash_sha256_update(state, (const unsigned char *)&len, sizeof len);
    crypto_hash_sha256_update(state, (const unsigned char *)text_get(&text),
                              text.len);
    text_free(&text);
}

void
go_sources_hash(crypto_hash_sha256_state *state, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_source, alphasort);
    if (count < 0)
        unreadable(folder);
    for (int i = 0; i < count; i++) {
        struct stat st;
        char *path = need_format("%s/%s", folder, entries[i]->d_name);
        if (stat(path, &st) != 0)
            unreadable(path);
        if (S_ISREG(st.st_mode))
            hash_file(state, path, entries[i]->d_name);
        else if (S_ISDIR(st.st_mode) && !is_module(path))
            go_sources_hash(state, path);
        free(path);
        free(entries[i]);
    }
    free(entries);
}

char *
go_sources_root(const char *folder)
{
    char *root = need_copy(folder);
    while (!is_module(root)) {
        char *slash = strrchr(root, '/');
        if (slash == NULL || slash == root)
            quit(EXIT_USAGE, "%s: no go.mod there or above", folder);
        *slash = '\0';
    }
    return root;
}

void
go_sources_module(const char *root, const char *package, const char *path)
{
    static const char replaced[] = "replace " PACKAGE " ";
    struct text text = {0}, kept = {0};
    char *from = need_format("%s/go.mod", root);
    if (!text_read_file(&text, from))
        unreadable(from);
    for (const char *at = text_get(&text); *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (strncmp(at, replaced, strlen(replaced)) != 0)
            text_add(&kept, "%.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
    text_add(&kept, "%s=> \"%s\"\n", replaced, package);
    FILE *file = fopen(path, "we");
    bool written = file != NULL && fputs(text_get(&kept), file) >= 0;
    if (file == NULL || fclose(file) != 0 || !written)
        quit(EXIT_INCONCLUSIVE, "cannot write %s: %s", path, strerror(errno));
    text_free(&text);
    text_free(&kept);
    free(from);
}
