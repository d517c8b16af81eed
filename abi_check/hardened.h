/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * hardened.h - how an artifact was linked, by libelf [a.hardened].
 *
 * All take the path of a file that artifact_read has accepted; nothing is
 * loaded or run.
 */
#ifndef ABI_CHECK_HARDENED_H
#define ABI_CHECK_HARDENED_H

#include <stddef.h>

#include "abi_check/artifact.h"
#include "abi_check/findings.h"

/*
 * Of a shared object: a PT_GNU_STACK that is not executable; PT_GNU_RELRO with
 * immediate binding (DF_BIND_NOW, DF_1_NOW or DT_BIND_NOW; an object without
 * lazily bound calls needs none); neither DT_TEXTREL nor DF_TEXTREL; no
 * DF_STATIC_TLS. Of an archive: no object asks for an executable stack, by a
 * .note.GNU-stack with SHF_EXECINSTR or, where the link editor then assumes
 * one (x86), by having none; the rest is decided when it is linked and noted
 * as not applicable, by name.
 */
void hardened_check_flags(const char *path, enum artifact_kind kind,
                          struct findings *found);

/*
 * Each DT_NEEDED is one of the `declared` sonames. An archive is skipped: it
 * names no libraries.
 */
void hardened_check_needed(const char *path, enum artifact_kind kind,
                           const char *const *declared, size_t count,
                           struct findings *found);

/* One declared ceiling: versions of NAME_x.y up to `version`. */
struct version_ceiling {
    const char *name;    /* "GLIBC" */
    const char *version; /* "2.34" */
};

/*
 * Each symbol version that the object needs (.gnu.version_r) is NAME_x.y with
 * a declared ceiling for NAME that is not below x.y. Versions that no number
 * ends (GLIBC_PRIVATE) are faults; GLIBC_ABI_ markers, which name no symbol,
 * are noted. An archive is skipped.
 */
void hardened_check_versions(const char *path, enum artifact_kind kind,
                             const struct version_ceiling *declared,
                             size_t count, struct findings *found);

/* The DT_SONAME into name; false: it has none, or cannot be read. */
bool hardened_soname(const char *path, char *name, size_t size);

#endif /* ABI_CHECK_HARDENED_H */
