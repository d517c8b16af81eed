/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One case for each dialect and compiler: a report that names the pair is
 * worth more than the first pair that fails.
 */
#include <stdlib.h>

#include "abi_check/header.h"
#include "abi_check/header_file.h"
#include "abi_check/report.h"
#include "conform.h"

/* Compilers on a busy machine: patience, no limit of the contract. */
#define COMPILERS_MS 300000

static void
judge(const char *compiler, const char *dialect)
{
    struct findings found = {0};
    if (!header_any_compiler())
        conform_broken("neither gcc nor clang is installed");
    conform_evidence("header", "%s", header_file_name());
    char *text = header_file_text(&found);
    if (text != NULL)
        header_check(text, compiler, dialect, &found);
    free(text);
    report_findings(&found, "gusset.h compiles without a warning");
}

#define HEADER_CASE(name, compiler, dialect)                              \
    CONFORM_CASE(header_##name,                                           \
                 .id = "i6.header-compiles." dialect "-" compiler,        \
                 .clauses = "i6.header-compiles",                         \
                 .why = "A host's dialect, compiler or earlier include "  \
                        "breaks the header: a macro clash, a keyword, a " \
                        "missing include.",                               \
                 .steps = "Compile gusset.h alone, twice, after every "   \
                          "POSIX header, and with the contract's own "    \
                          "prototypes and numbers, as " dialect           \
                          " with " compiler ", warnings being errors.",   \
                 .expected = "Silence from the compiler.",                \
                 .mutant = "header-not-guarded", .tags = CONFORM_ONCE,    \
                 .timeout_ms = COMPILERS_MS)                              \
    {                                                                     \
        judge(compiler, dialect);                                         \
    }

HEADER_CASE(c99_gcc, "gcc", "c99")
HEADER_CASE(c11_gcc, "gcc", "c11")
HEADER_CASE(c17_gcc, "gcc", "c17")
HEADER_CASE(c2x_gcc, "gcc", "c2x")
HEADER_CASE(cxx11_gcc, "g++", "c++11")
HEADER_CASE(cxx14_gcc, "g++", "c++14")
HEADER_CASE(cxx17_gcc, "g++", "c++17")
HEADER_CASE(cxx20_gcc, "g++", "c++20")
HEADER_CASE(c99_clang, "clang", "c99")
HEADER_CASE(c11_clang, "clang", "c11")
HEADER_CASE(c17_clang, "clang", "c17")
HEADER_CASE(c2x_clang, "clang", "c2x")
HEADER_CASE(cxx11_clang, "clang++", "c++11")
HEADER_CASE(cxx14_clang, "clang++", "c++14")
HEADER_CASE(cxx17_clang, "clang++", "c++17")
HEADER_CASE(cxx20_clang, "clang++", "c++20")

/* By the file under judgement, or as this program was compiled. */
static void
judge_layout(void (*compare)(const struct header_layout *, struct findings *),
             const char *what)
{
    struct findings found = {0};
    conform_evidence("header", "%s", header_file_name());
    char *text = header_file_text(&found);
    if (text != NULL && header_file_is_given())
        header_file_layout(text, compare, &found);
    else if (text != NULL)
        compare(&header_layout, &found);
    free(text);
    report_findings(&found, what);
}

static void
compare_layout(const struct header_layout *header, struct findings *found)
{
    layout_compare(&header->layout, found);
}

CONFORM_CASE(header_side, .id = "i6.self-report-true.header",
             .clauses = "i6.self-report-true",
             .why = "The header that hosts compile against drifts from the "
                    "contract, and every host with it.",
             .steps = "Compare sizeof, offsetof, alignment, signedness and "
                      "const-ness of the 17 fields, as compiled from "
                      "gusset.h, with the frozen table.",
             .expected = "All agree, field by field.",
             .mutant = "header-line-signed header-fields-swapped",
             .tags = CONFORM_ONCE, .timeout_ms = COMPILERS_MS)
{
    judge_layout(compare_layout, "gusset.h agrees with the contract");
}

CONFORM_CASE(header_constants, .id = "i6.self-report-true.header-constants",
             .clauses = "i6.self-report-true",
             .why = "One side changes a limit or a flag and the other does "
                    "not.",
             .steps = "Compare the constants of gusset.h with those of "
                      "docs/contract.md, section 1.2, name by name.",
             .expected = "All agree.", .mutant = "header-limit-changed",
             .tags = CONFORM_ONCE, .timeout_ms = COMPILERS_MS)
{
    judge_layout(header_constants_compare,
                 "the constants of gusset.h are the contract's");
}
