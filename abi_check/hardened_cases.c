/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How the artifact was linked, as cases [a.hardened]. */
#include <stdlib.h>

#include "abi_check/artifact.h"
#include "abi_check/hardened.h"
#include "abi_check/report.h"
#include "conform.h"

/*
 * A sanitizer brings libraries and versions of its own: such a build is no
 * artifact that anybody ships.
 */
static void
leave_sanitized(void)
{
    if (ABI_CHECK_SAN[0] != '\0')
        conform_skip("not applicable to a sanitizer's build (%s)",
                     ABI_CHECK_SAN);
}

/* The subject's path and kind; one that cannot be read fails the case. */
static const char *
subject_path(enum artifact_kind *kind)
{
    char error[1200];
    struct artifact artifact;
    const char *path = conform_impl_path();
    if (path == NULL)
        conform_broken("no artifact: --impl FILE is needed");
    bool good = artifact_read(path, &artifact, error, sizeof error);
    expect(good, "the artifact is readable: %s", good ? "yes" : error);
    *kind = artifact.kind;
    artifact_free(&artifact);
    return path;
}

CONFORM_CASE(hardened_flags, .id = "a.hardened.flags", .clauses = "a.hardened",
             .why = "One object with an executable stack, lazy binding or a "
                    "text relocation takes a defence from the whole host; "
                    "static TLS makes dlopen fail in a large one.",
             .steps = "Read the program headers and the dynamic section of a "
                      ".so, the stack notes of the objects of a .a, by "
                      "libelf.",
             .expected = "No executable stack, full RELRO, no text "
                         "relocations, no static TLS.",
             .mutant = "executable-stack executable-stack-of-an-object "
                       "lazy-binding static-tls")
{
    enum artifact_kind kind;
    struct findings found = {0};
    const char *path = subject_path(&kind);
    hardened_check_flags(path, kind, &found);
    report_findings(&found, "the artifact takes no defence from its host");
}

CONFORM_CASE(hardened_needed, .id = "a.hardened.needed",
             .clauses = "a.hardened",
             .why = "A library that is needed and not declared is missing on "
                    "the machine where the artifact is deployed.",
             .steps = "Compare the NEEDED entries of a .so with the claim "
                      "`needed`.",
             .expected = "Each is declared.", .needs = "claim:needed",
             .mutant = "needs-one-library-more")
{
    enum artifact_kind kind;
    struct findings found = {0};
    leave_sanitized();
    const char *path = subject_path(&kind);
    size_t count = conform_claim_count("needed");
    const char **declared = calloc(count + 1, sizeof *declared);
    if (declared == NULL)
        conform_broken("out of memory");
    for (size_t i = 0; i < count; i++)
        declared[i] = conform_claim_item("needed", i);
    hardened_check_needed(path, kind, declared, count, &found);
    free(declared);
    report_findings(&found, "NEEDED is as declared");
}

CONFORM_CASE(hardened_versions, .id = "a.hardened.symbol-versions",
             .clauses = "a.hardened",
             .why = "One call of a newer C library function, and the artifact "
                    "does not load on the oldest system that it was promised "
                    "for.",
             .steps = "Compare the symbol versions that a .so needs with the "
                      "claim `symbol_versions`.",
             .expected = "None above the declared ceiling.",
             .needs = "claim:symbol_versions", .mutant = "newer-symbol-version")
{
    enum artifact_kind kind;
    struct findings found = {0};
    leave_sanitized();
    const char *path = subject_path(&kind);
    size_t count = conform_claim_count("symbol_versions");
    struct version_ceiling *declared = calloc(count + 1, sizeof *declared);
    if (declared == NULL)
        conform_broken("out of memory");
    for (size_t i = 0; i < count; i++)
        declared[i] =
            (struct version_ceiling){conform_claim_item("symbol_versions", i),
                                     conform_claim_value("symbol_versions", i)};
    hardened_check_versions(path, kind, declared, count, &found);
    free(declared);
    report_findings(&found, "symbol versions stay below the ceiling");
}
