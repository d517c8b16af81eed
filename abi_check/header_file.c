/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "abi_check/header_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi_check/command.h"
#include "abi_check/embed.h"

#define MAX_HEADER_BYTES (1 << 20)

/* The files of the folder; the first is what is judged. */
static const struct {
    const char *name;
    const char *text;
} parts[] = {
    {"gusset.h", NULL},
    {"abi_check/header_layout.c", embed_header_layout_c},
    {"abi_check/header_layout.h", embed_header_layout_h},
    {"abi_check/layout.h", embed_layout_h},
    {"abi_check/frozen.h", embed_frozen_h},
    {"abi_check/findings.h", embed_findings_h},
};
#define PARTS (sizeof parts / sizeof parts[0])

static const char *
chosen(void)
{
    const char *path = getenv("CONFORM_HEADER");
    return path == NULL || path[0] == '\0' ? NULL : path;
}

bool
header_file_is_given(void)
{
    return chosen() != NULL;
}

const char *
header_file_name(void)
{
    return chosen() == NULL ? "the built-in gusset.h" : chosen();
}

char *
header_file_text(struct findings *found)
{
    const char *path = chosen();
    char *text =
        path == NULL ? strdup(embed_gusset_h) : calloc(1, MAX_HEADER_BYTES + 1);
    if (text == NULL) {
        findings_broken(found, "out of memory");
        return NULL;
    }
    if (path == NULL)
        return text;
    FILE *file = fopen(path, "re");
    size_t len = file == NULL ? 0 : fread(text, 1, MAX_HEADER_BYTES, file);
    bool good = file != NULL && len > 0 && ferror(file) == 0 && feof(file) != 0;
    if (!good)
        findings_fault(found, "%s cannot be read as a header: %s", path,
                       file == NULL ? strerror(errno) : "empty or too long");
    else if (strlen(text) != len)
        findings_fault(found, "%s holds a zero byte", path);
    if (file != NULL)
        fclose(file);
    if (good && strlen(text) == len)
        return text;
    free(text);
    return NULL;
}

static bool
write_file(const char *folder, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

static bool
open_folder(char *folder, size_t size, const char *text)
{
    char path[1024];
    const char *temp = getenv("TMPDIR");
    if (temp == NULL || temp[0] == '\0')
        temp = "/tmp";
    snprintf(folder, size, "%.480s/abi-header-XXXXXX", temp);
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(path, sizeof path, "%s/abi_check", folder);
    bool good = mkdir(path, 0700) == 0;
    for (size_t i = 0; i < PARTS && good; i++)
        good = write_file(folder, parts[i].name,
                          parts[i].text == NULL ? text : parts[i].text);
    return good;
}

static void
close_folder(const char *folder)
{
    char path[1024];
    for (size_t i = 0; i < PARTS; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, parts[i].name);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/table.so", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/abi_check", folder);
    rmdir(path);
    rmdir(folder);
}

static bool
find_compiler(char *path, size_t size)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *wanted = getenv("CC");
    if (wanted != NULL && wanted[0] != '\0' && command_find(wanted, path, size))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (command_find(names[i], path, size))
            return true;
    return false;
}

/* Builds the table as a library: it has this program's own layout. */
static bool
build_table(const char *compiler, const char *folder, const char *table,
            struct findings *found)
{
    char source[1024], how[64];
    struct command_result ran;
    snprintf(source, sizeof source, "%s/%s", folder, parts[1].name);
    const char *const argv[] = {compiler, "-std=c11", "-w",   "-O0",
                                "-fPIC",  "-shared",  "-I",   folder,
                                "-o",     table,      source, NULL};
    int failed = command_run(argv, &ran);
    if (failed != 0) {
        findings_broken(found, "cannot run %s: %s", compiler, strerror(failed));
        return false;
    }
    bool good = command_succeeded(&ran);
    command_describe(&ran, how, sizeof how);
    if (!good)
        findings_fault(found,
                       "gusset.h lacks what the contract has (%s, %s): %.900s",
                       compiler, how, ran.err == NULL ? "" : ran.err);
    command_free(&ran);
    return good;
}

void
header_file_layout(const char *text,
                   void (*judge)(const struct header_layout *,
                                 struct findings *),
                   struct findings *found)
{
    char compiler[4096], folder[512], table[600];
    if (!find_compiler(compiler, sizeof compiler)) {
        findings_lacks(found, "needs cc: no C compiler");
        return;
    }
    if (!open_folder(folder, sizeof folder, text)) {
        findings_broken(found, "cannot write in %s", folder);
        close_folder(folder);
        return;
    }
    snprintf(table, sizeof table, "%s/table.so", folder);
    if (build_table(compiler, folder, table, found)) {
        void *library = dlopen(table, RTLD_NOW | RTLD_LOCAL);
        const struct header_layout *layout =
            library == NULL ? NULL : dlsym(library, "header_layout");
        if (layout == NULL)
            findings_broken(found, "%s: %s", table, dlerror());
        else
            judge(layout, found);
        if (library != NULL)
            dlclose(library);
    }
    close_folder(folder);
}
