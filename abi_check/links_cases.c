/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The artifact beside code of others, as cases [a.links-with-others]. */
#include "abi_check/artifact.h"
#include "abi_check/links.h"
#include "abi_check/report.h"
#include "conform.h"

/* Compilers on a busy machine: patience, no limit of the contract. */
#define COMPILERS_MS 300000

static void
judge(bool with_rust)
{
    char error[1200];
    struct artifact artifact;
    struct findings found = {0};
    const char *path = conform_impl_path();
    if (path == NULL)
        conform_broken("no artifact: --impl FILE is needed");
    bool good = artifact_read(path, &artifact, error, sizeof error);
    expect(good, "the artifact is readable: %s", good ? "yes" : error);
    enum artifact_kind kind = artifact.kind;
    artifact_free(&artifact);
    links_check(path, kind, with_rust, conform_claims("engine", "own"), &found);
    report_findings(&found, "the artifact lives beside code of others");
}

CONFORM_CASE(links_cpp, .id = "a.links-with-others.archive-and-cpp",
             .clauses = "a.links-with-others",
             .why = "A global helper of the artifact has the name of one in "
                    "another library, or the artifact brings its own unwinder: "
                    "the host does not link, or its exceptions end it.",
             .steps = "Link the artifact, before and behind, with an archive "
                      "full of common names and a C++ object that throws; run "
                      "jobs around and inside the others' code.",
             .expected = "It links without --allow-multiple-definition; all "
                         "17 functions work, each name is its owner's, each "
                         "exception is caught.",
             .mutant = "common-name-defined unwinder-replaced",
             .timeout_ms = COMPILERS_MS)
{
    judge(false);
}

CONFORM_CASE(links_rust, .id = "a.links-with-others.rust-staticlib",
             .clauses = "a.links-with-others",
             .why = "A service links a Rust library too: its runtime symbols, "
                    "its panics and the artifact share one process.",
             .steps = "The same with a Rust staticlib that panics and catches.",
             .expected = "The same, and each panic is caught.",
             .mutant = "rust-panics-stopped", .timeout_ms = COMPILERS_MS)
{
    judge(true);
}
