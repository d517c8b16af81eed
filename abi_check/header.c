/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "abi_check/header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi_check/command.h"
#include "abi_check/embed.h"

#define PROBES 5

/* One translation unit; the names of files are those in the workshop. */
struct probe {
    const char *name;
    const char *text;
    const char *control;  /* the same without gusset.h */
    const char *flags[4]; /* additional, NULL-terminated */
    bool only_c;
    bool in_whole; /* a part of `whole` */
};

/*
 * C++ compilers define _GNU_SOURCE whatever they are told: there the two sets
 * of POSIX headers are one.
 */
#define ALONE "#include \"gusset.h\"\n"
#define POSIX "#include \"posix.h\"\n"
#define CONTRACT "#include \"contract.h\"\n"
/* No translation unit may be empty in C. */
#define END "typedef int the_end_of_the_probe;\n"

static const struct probe probes[PROBES] = {
    {"alone", ALONE END, END, {NULL}, false, true},
    {"twice", ALONE ALONE END, END, {NULL}, false, true},
    {"posix",
     POSIX ALONE END,
     POSIX END,
     {"-D_XOPEN_SOURCE=700", "-D_POSIX_C_SOURCE=200809L", NULL},
     true,
     false},
    {"gnu",
     POSIX ALONE END,
     POSIX END,
     {"-D_GNU_SOURCE", "-Dunix=1", "-Dlinux=1", NULL},
     false,
     false},
    {"contract", ALONE CONTRACT END, END, {NULL}, false, true},
};

/*
 * Three of them in one, each the beginning of the next: when the compiler is
 * silent on this one it is on all three, for a third of the time.
 */
static const char whole[] = ALONE ALONE CONTRACT END;

struct workshop {
    char folder[512];
    char header[600];
    char posix[600];
    char contract[600];
    char source[600];
};

static bool
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

static void
workshop_close(const struct workshop *shop)
{
    unlink(shop->source);
    unlink(shop->header);
    unlink(shop->posix);
    unlink(shop->contract);
    rmdir(shop->folder);
}

static bool
workshop_open(struct workshop *shop, const char *header, bool is_cxx,
              struct findings *found)
{
    const char *temp = getenv("TMPDIR");
    if (temp == NULL || temp[0] == '\0')
        temp = "/tmp";
    snprintf(shop->folder, sizeof shop->folder, "%.480s/abi-check-XXXXXX",
             temp);
    if (mkdtemp(shop->folder) == NULL) {
        findings_broken(found, "cannot make a folder in %s", temp);
        return false;
    }
    snprintf(shop->header, sizeof shop->header, "%s/gusset.h", shop->folder);
    snprintf(shop->posix, sizeof shop->posix, "%s/posix.h", shop->folder);
    snprintf(shop->contract, sizeof shop->contract, "%s/contract.h",
             shop->folder);
    snprintf(shop->source, sizeof shop->source, "%s/probe.%s", shop->folder,
             is_cxx ? "cc" : "c");
    if (write_file(shop->header, header) &&
        write_file(shop->posix, embed_posix_h) &&
        write_file(shop->contract, embed_contract_h))
        return true;
    findings_broken(found, "cannot write in %s", shop->folder);
    workshop_close(shop);
    return false;
}

/* Compiles the workshop's source; false when the harness could not. */
static bool
compile(const struct workshop *shop, const char *compiler, const char *dialect,
        const char *text, const char *const *flags, struct command_result *ran,
        struct findings *found)
{
    char standard[32];
    const char *argv[16] = {compiler,        standard,     "-Wall",
                            "-Wextra",       "-Wpedantic", "-Werror",
                            "-fsyntax-only", "-I",         shop->folder};
    size_t n = 9;
    snprintf(standard, sizeof standard, "-std=%s", dialect);
    for (; flags != NULL && *flags != NULL; flags++)
        argv[n++] = *flags;
    argv[n++] = shop->source;
    argv[n] = NULL;
    if (!write_file(shop->source, text)) {
        findings_broken(found, "cannot write %s", shop->source);
        return false;
    }
    int failed = command_run(argv, ran);
    if (failed != 0)
        findings_broken(found, "cannot run %s: %s", compiler, strerror(failed));
    return failed == 0;
}

static bool
is_silent(const struct command_result *ran)
{
    return command_succeeded(ran) && ran->err_len == 0;
}

static bool
compiles_silently(const struct workshop *shop, const char *compiler,
                  const char *dialect, const char *text,
                  const char *const *flags, struct findings *found)
{
    struct command_result ran;
    if (!compile(shop, compiler, dialect, text, flags, &ran, found))
        return false;
    bool silent = is_silent(&ran);
    command_free(&ran);
    return silent;
}

/*
 * A compiler that is not silent without gusset.h either (it does not know the
 * dialect, or warns about the system's own headers) says nothing about it.
 */
static void
blame(const struct workshop *shop, const char *compiler, const char *dialect,
      const struct probe *probe, const struct command_result *ran,
      struct findings *found)
{
    char how[64];
    command_describe(ran, how, sizeof how);
    const char *said = ran->err == NULL ? "" : ran->err;
    if (compiles_silently(shop, compiler, dialect, probe->control, probe->flags,
                          found))
        findings_fault(found, "%s -std=%s, %s: %s: %.900s", compiler, dialect,
                       probe->name, how, said);
    else if (found->broken[0] == '\0')
        findings_skip(found,
                      "%s cannot compile -std=%s, %s, without gusset.h: %.200s",
                      compiler, dialect, probe->name, said);
}

static void
run_probe(const struct workshop *shop, const char *compiler,
          const char *dialect, const struct probe *probe,
          struct findings *found)
{
    struct command_result ran;
    if (!compile(shop, compiler, dialect, probe->text, probe->flags, &ran,
                 found))
        return;
    found->judged++;
    if (!is_silent(&ran))
        blame(shop, compiler, dialect, probe, &ran, found);
    command_free(&ran);
}

static bool
ended(const struct findings *found)
{
    return found->fault_count != 0 || found->skip[0] != '\0' ||
           found->broken[0] != '\0';
}

void
header_check(const char *text, const char *compiler, const char *dialect,
             struct findings *found)
{
    char path[4096];
    struct workshop shop;
    bool is_cxx = strncmp(dialect, "c++", 3) == 0;
    if (!command_find(compiler, path, sizeof path)) {
        findings_skip(found, "%s is not installed", compiler);
        return;
    }
    if (!workshop_open(&shop, text, is_cxx, found))
        return;
    bool whole_is_good =
        compiles_silently(&shop, compiler, dialect, whole, NULL, found);
    for (int i = 0; i < PROBES && !ended(found); i++) {
        if (is_cxx && probes[i].only_c)
            continue;
        if (whole_is_good && probes[i].in_whole)
            found->judged++;
        else
            run_probe(&shop, compiler, dialect, &probes[i], found);
    }
    workshop_close(&shop);
}

bool
header_any_compiler(void)
{
    char path[4096];
    return command_find("gcc", path, sizeof path) ||
           command_find("clang", path, sizeof path);
}
