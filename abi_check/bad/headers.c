/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows about headers that do not compile, or not everywhere. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "abi_check/bad/refuse.h"
#include "abi_check/header.h"
#include "abi_check/header_file.h"
#include "abi_check/layout.h"

static const struct {
    const char *input;
    const char *dialect;
    enum expectation expected;
    const char *words;
} rows[] = {
    {"true", "c99", PASSES, NULL},
    {"true", "c++20", PASSES, NULL},
    {"signal-clash", "c11", REFUSED, "c11, posix: "},
    {"signal-clash", "c++17", REFUSED, "c++17, gnu: "},
    {"unix-clash", "c11", REFUSED, "c11, gnu: "},
    {"keyword", "c++11", REFUSED, "c++11, alone: "},
    {"keyword", "c11", PASSES, NULL},
    {"no-guard", "c99", REFUSED, "c99, twice: "},
    {"c99-warning", "c99", REFUSED, "c99, alone: "},
    {"c99-warning", "c11", PASSES, NULL},
    {"no-include", "c17", REFUSED, "c17, alone: "},
    {"no-extern-c", "c++14", REFUSED, "c++14, contract: "},
    {"no-extern-c", "c2x", PASSES, NULL},
    {"widened", "c2x", REFUSED, "c2x, contract: "},
    {"dropped-const", "c11", REFUSED, "c11, contract: "},
    {"lost-parameter", "c11", REFUSED, "c11, contract: "},
    {"swapped", "c99", REFUSED, "c99, contract: "},
    {"constant", "c17", REFUSED, "c17, contract: "},
    {"integer-msg", "c11", PASSES, NULL},
    {"packed", "c99", REFUSED, "c99, contract: "},
};

static char *
read_text(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = calloc(1, 1 << 20);
    if (file == NULL || text == NULL) {
        fprintf(stderr, "abi-check-bad: cannot read %s\n", path);
        exit(70);
    }
    size_t len = fread(text, 1, (1 << 20) - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

static void
judge(const char *input, const char *compiler, const char *dialect,
      enum expectation expected, const char *words)
{
    char name[256], path[4096], what[256];
    struct findings found = {0};
    snprintf(name, sizeof name, "headers/%s/gusset.h", input);
    char *text = read_text(refuse_path(name, path, sizeof path));
    header_check(text, compiler, dialect, &found);
    free(text);
    snprintf(what, sizeof what, "%s by %s", input, compiler);
    refuse_judge("header", what, expected, words, &found);
}

static void
compare_all(const struct header_layout *header, struct findings *found)
{
    layout_compare(&header->layout, found);
    header_constants_compare(header, found);
}

/* Headers as an adopter gives them: by file, compiled when they are judged. */
static const struct {
    const char *input;
    enum expectation expected;
    const char *words;
} file_rows[] = {
    {"true", PASSES, NULL},
    {"signed-line", REFUSED, "FfiStatus.line is signed"},
    {"const-msg", REFUSED, "FfiStatus.msg is pointer to const"},
    {"swapped", REFUSED, "CallHeader.flags has offset 36"},
    {"constant", REFUSED, "GUSSET_MAX_INLINE_INPUT is 4095"},
    {"renamed", REFUSED, "gusset.h lacks what the contract has"},
    {"no-such-header", REFUSED, "cannot be read as a header"},
};

static void
judge_files(void)
{
    for (size_t i = 0; i < sizeof file_rows / sizeof *file_rows; i++) {
        char name[256], path[4096];
        struct findings found = {0};
        snprintf(name, sizeof name, "headers/%s/gusset.h", file_rows[i].input);
        setenv("CONFORM_HEADER", refuse_path(name, path, sizeof path), 1);
        char *text = header_file_text(&found);
        if (text != NULL)
            header_file_layout(text, compare_all, &found);
        free(text);
        refuse_judge("header by file", file_rows[i].input,
                     file_rows[i].expected, file_rows[i].words, &found);
    }
    unsetenv("CONFORM_HEADER");
}

void
refuse_headers(void)
{
    judge_files();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool cxx = rows[i].dialect[1] == '+';
        judge(rows[i].input, cxx ? "g++" : "gcc", rows[i].dialect,
              rows[i].expected, rows[i].words);
        judge(rows[i].input, cxx ? "clang++" : "clang", rows[i].dialect,
              rows[i].expected, rows[i].words);
    }
    judge("constant", "gcc-that-is-not-there", "c11", SKIPPED,
          "gcc-that-is-not-there is not installed");
    judge("constant", "gcc", "c1866", SKIPPED,
          "cannot compile -std=c1866, alone, without gusset.h");
}
