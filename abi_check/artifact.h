/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * artifact.h - the global symbols that a .so or .a defines, read by libelf.
 *
 * Nothing is loaded or run. Whatever cannot be read whole is an error in
 * words, never an empty list [i6.exports-exact].
 */
#ifndef ABI_CHECK_ARTIFACT_H
#define ABI_CHECK_ARTIFACT_H

#include <stdbool.h>
#include <stddef.h>

enum artifact_kind { ARTIFACT_SHARED, ARTIFACT_ARCHIVE };

/* One defined symbol that is not local. The numbers are those of <elf.h>. */
struct symbol {
    char *name;
    char *object; /* the archive member, or the file's own name */
    unsigned type;
    unsigned binding;
    unsigned visibility;
    bool old_version;  /* of a .so: not the default version of its name */
    bool version_node; /* of a .so: names a version, defines nothing */
};

struct artifact {
    enum artifact_kind kind;
    struct symbol *symbols; /* in the order of the file */
    size_t count;
    size_t objects; /* ELF objects read: 1, or the archive's members */
};

/*
 * Reads path. False: error holds one line that says what is wrong, and there
 * is nothing to free. Refused: what is no regular file, empty, truncated,
 * neither a shared object nor an archive, a thin archive, LLVM bitcode, slim
 * LTO objects, another machine than this program's, 32-bit, and what defines
 * no global symbol at all.
 */
bool artifact_read(const char *path, struct artifact *artifact, char *error,
                   size_t error_size);
void artifact_free(struct artifact *artifact);

/*
 * True when a host that links or loads the artifact sees the symbol: default
 * or protected visibility. The others are the artifact's own business.
 */
bool symbol_is_visible(const struct symbol *symbol);

/* Words for numbers of <elf.h>: "FUNC", "WEAK", "HIDDEN"; never NULL. */
const char *symbol_type_name(unsigned type);
const char *symbol_binding_name(unsigned binding);
const char *symbol_visibility_name(unsigned visibility);

#endif /* ABI_CHECK_ARTIFACT_H */
