/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Static checks of the artifact as cases. Nothing is loaded: the file that
 * --impl names is read.
 */
#include <stdlib.h>

#include "abi_check/artifact.h"
#include "abi_check/dwarf.h"
#include "abi_check/exports.h"
#include "abi_check/foreign.h"
#include "abi_check/nm.h"
#include "abi_check/report.h"
#include "conform.h"

/* Reads the artifact under test; one that cannot be read fails the case. */
static const char *
read_subject(struct artifact *artifact)
{
    char error[1200];
    const char *path = conform_impl_path();
    if (path == NULL)
        conform_broken("no artifact: --impl FILE is needed");
    bool good = artifact_read(path, artifact, error, sizeof error);
    expect(good, "the artifact's symbol table is readable: %s",
           good ? "yes" : error);
    conform_evidence("symbols", "%zu defined global symbols in %zu objects",
                     artifact->count, artifact->objects);
    return path;
}

CONFORM_CASE(exports_set, .id = "i6.exports-exact.set-by-libelf-and-nm",
             .clauses = "i6.exports-exact",
             .why = "An export that is missing, extra or hidden is found by "
                    "the first host that links, after the release.",
             .steps = "Read the symbol table by libelf and by nm, compare the "
                      "two lists, then the visible gusset_ names as a set "
                      "with the frozen 17.",
             .expected = "Both lists agree; exactly the 17 names, each once.",
             .mutant = "eighteenth-export missing-export-plus-stray")
{
    struct artifact artifact;
    struct findings found = {0};
    char nm[4096];
    const char *path = read_subject(&artifact);
    if (!nm_path(nm, sizeof nm))
        conform_broken("%s: no such program; it gives the second opinion", nm);
    conform_evidence("nm", "%s", nm);
    nm_compare(nm, path, &artifact, &found);
    exports_check_set(&artifact, &found);
    artifact_free(&artifact);
    report_findings(&found, "exports are exactly the 17, by libelf and nm");
}

CONFORM_CASE(exports_kinds, .id = "i6.exports-exact.kinds",
             .clauses = "i6.exports-exact",
             .why = "A weak or data symbol of the right name links, and is "
                    "then replaced by another definition or jumped into.",
             .steps = "Read type, binding and visibility of each visible "
                      "gusset_ symbol by libelf.",
             .expected = "FUNC, GLOBAL and DEFAULT, each of them.",
             .mutant = "weak-export")
{
    struct artifact artifact;
    struct findings found = {0};
    read_subject(&artifact);
    exports_check_kinds(&artifact, &found);
    artifact_free(&artifact);
    report_findings(&found, "each export is a strong, default function");
}

CONFORM_CASE(foreign_names, .id = "i6.no-foreign-symbols.libc-names",
             .clauses = "i6.no-foreign-symbols",
             .why = "A strong malloc or memcpy in the artifact replaces the "
                    "C library's in the whole host process.",
             .steps = "Look up every strong definition (exported in a .so, of "
                      "any visibility in a .a) in abi_check/libc-names.",
             .expected = "None is a C library name; support routines, weak "
                         "definitions, the engine API and strays are listed.",
             .mutant = "libc-name-defined")
{
    struct artifact artifact;
    struct findings found = {0};
    const char *prefix = conform_claim("engine_prefix");
    read_subject(&artifact);
    foreign_check(&artifact, prefix, &found);
    artifact_free(&artifact);
    report_findings(&found, "no definition of a C library name");
}

CONFORM_CASE(engine_prefix, .id = "i6.no-foreign-symbols.engine-prefix",
             .clauses = "i6.no-foreign-symbols",
             .why = "A prefix that is declared and not there excuses the "
                    "strays of somebody else.",
             .steps = "Look for visible symbols that begin with the prefix "
                      "that the claims file declares.",
             .expected = "There is at least one; they are listed.",
             .mutant = "engine-api-renamed", .needs = "claim:engine_prefix")
{
    struct artifact artifact;
    struct findings found = {0};
    read_subject(&artifact);
    foreign_check_engine(&artifact, conform_claim("engine_prefix"), &found);
    artifact_free(&artifact);
    report_findings(&found, "the engine API that is claimed is there");
}

CONFORM_CASE(dwarf_layout, .id = "i6.self-report-true.dwarf",
             .clauses = "i6.self-report-true",
             .why = "The library is compiled from structs that differ from "
                    "the header: swapped fields of equal width, a flipped "
                    "sign, packing.",
             .steps = "Read the four structs from the artifact's DWARF by "
                      "libdw, in every unit that defines them, and compare "
                      "each field with the frozen table.",
             .expected = "Offsets, sizes and kinds agree by field name; "
                         "without DWARF the case is skipped.",
             .mutant = "swapped-in-the-struct")
{
    struct artifact artifact;
    struct findings found = {0};
    const char *path = read_subject(&artifact);
    artifact_free(&artifact);
    dwarf_check(path, &found);
    report_findings(&found, "DWARF agrees with the contract");
}
