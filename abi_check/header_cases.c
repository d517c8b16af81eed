/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One case for each dialect and compiler: a report that names the pair is
 * worth more than the first pair that fails.
 */
#include "abi_check/embed.h"
#include "abi_check/header.h"
#include "abi_check/report.h"
#include "conform.h"

static void
judge(const char *compiler, const char *dialect)
{
    struct findings found = {0};
    if (!header_any_compiler())
        conform_broken("neither gcc nor clang is installed");
    header_check(embed_gusset_h, compiler, dialect, &found);
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
                 .expected = "Silence from the compiler.")                \
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
