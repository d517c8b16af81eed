/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows about how an artifact was linked, and what it links beside. */
#define _GNU_SOURCE
#include "abi_check/hardened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi_check/bad/refuse.h"
#include "abi_check/links.h"

struct row {
    const char *input;
    enum expectation expected;
    const char *words;
};

static const struct row flag_rows[] = {
    {"hardened.so", PASSES, NULL},
    {"good.a", PASSES, "not applicable to an archive"},
    {"exec_stack.so", REFUSED, "executable stack: PT_GNU_STACK has PF_X"},
    {"exec_stack.a", REFUSED, "the .note.GNU-stack of exec_stack.o asks"},
    {"lazy.so", REFUSED, "no full RELRO: calls are bound lazily"},
    {"no_relro.so", REFUSED, "no full RELRO: there is no PT_GNU_RELRO"},
    {"text_relocation.so", REFUSED, "text relocations: DT_TEXTREL"},
    {"static_tls.so", REFUSED, "static TLS: DF_STATIC_TLS"},
    {"missing.path.so", REFUSED, "unreadable"},
};

static const struct row needed_rows[] = {
    {"hardened.so", PASSES, "declared, but not needed: libnever.so.1"},
    {"hardened.a", SKIPPED, "not applicable to an archive: it has no NEEDED"},
    {"extra_needed.so", REFUSED, "NEEDED libm.so."},
};

static const struct {
    const char *input;
    const char *name;
    const char *version;
    enum expectation expected;
    const char *words;
} version_rows[] = {
    {"hardened.so", "GLIBC", "2.34", PASSES, NULL},
    {"hardened.so", "GLIBC", "2.1.99", REFUSED, "above the declared ceiling"},
    {"hardened.so", "GLIB", "2.34", REFUSED, "has no declared ceiling"},
    {"hardened.so", "GLIBC", "3", PASSES, NULL},
    {"hardened.a", "GLIBC", "2.34", SKIPPED, "it has no symbol versions"},
};

static const struct row link_rows[] = {
    {"../../lib/libgusset.so", PASSES, NULL},
    {"../../lib/libgusset.a", PASSES, NULL},
    {"common_name.a", REFUSED, "does not link before the others' code"},
    {"missing.so", REFUSED, "does not link before the others' code"},
    {"good.so", REFUSED, "BROKEN: open"},
    {"missing.path.so", REFUSED, "cannot be read"},
};

static enum artifact_kind
kind_of(const char *input)
{
    const char *dot = strrchr(input, '.');
    return dot != NULL && strcmp(dot, ".a") == 0 ? ARTIFACT_ARCHIVE
                                                 : ARTIFACT_SHARED;
}

static void
judge_flags(const struct row *row)
{
    char path[4096];
    struct findings found = {0};
    hardened_check_flags(refuse_path(row->input, path, sizeof path),
                         kind_of(row->input), &found);
    refuse_judge("hardened", row->input, row->expected, row->words, &found);
}

static void
judge_needed(const struct row *row)
{
    static const char *const declared[] = {"libc.so.6", "libc.so",
                                           "libnever.so.1"};
    char path[4096];
    struct findings found = {0};
    hardened_check_needed(refuse_path(row->input, path, sizeof path),
                          kind_of(row->input), declared, 3, &found);
    refuse_judge("needed", row->input, row->expected, row->words, &found);
}

static void
judge_versions(size_t i)
{
    char path[4096], what[256];
    struct findings found = {0};
    const struct version_ceiling declared = {version_rows[i].name,
                                             version_rows[i].version};
    refuse_path(version_rows[i].input, path, sizeof path);
    hardened_check_versions(path, kind_of(path), &declared, 1, &found);
    snprintf(what, sizeof what, "%s, ceiling %s %s", version_rows[i].input,
             declared.name, declared.version);
    refuse_judge("symbol versions", what, version_rows[i].expected,
                 version_rows[i].words, &found);
}

static void
judge_links(const char *what, const char *input, bool with_rust,
            enum expectation expected, const char *words)
{
    char path[4096];
    struct findings found = {0};
    refuse_path(input, path, sizeof path);
    links_check(path, kind_of(input), with_rust, false, &found);
    /* A machine without one of the compilers cannot judge these rows. */
    if (found.lacks[0] != '\0' && expected != LACKING) {
        refuse_skip(what, input, found.lacks);
        findings_free(&found);
        return;
    }
    refuse_judge(what, input, expected, words, &found);
}

/* Each tool that is not there is named. */
static void
judge_without_tools(void)
{
    char *path = strdup(getenv("PATH") == NULL ? "" : getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    unsetenv("CC");
    judge_links("links without tools", "good.so", false, LACKING, "needs cc");
    setenv("PATH", path, 1);
    free(path);
}

void
refuse_hardened(void)
{
    for (size_t i = 0; i < sizeof flag_rows / sizeof *flag_rows; i++)
        judge_flags(&flag_rows[i]);
    for (size_t i = 0; i < sizeof needed_rows / sizeof *needed_rows; i++)
        judge_needed(&needed_rows[i]);
    for (size_t i = 0; i < sizeof version_rows / sizeof *version_rows; i++)
        judge_versions(i);
    for (size_t i = 0; i < sizeof link_rows / sizeof *link_rows; i++)
        judge_links("links", link_rows[i].input, false, link_rows[i].expected,
                    link_rows[i].words);
    judge_links("links with Rust", "../../lib/libgusset.a", true, PASSES, NULL);
    judge_without_tools();
}
