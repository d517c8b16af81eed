/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rows about whole artifacts: reading, exports, foreign symbols, DWARF. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi_check/artifact.h"
#include "abi_check/bad/refuse.h"
#include "abi_check/dwarf.h"
#include "abi_check/exports.h"
#include "abi_check/foreign.h"
#include "abi_check/nm.h"

struct row {
    const char *input;
    enum expectation expected;
    const char *words;
};

typedef void (*artifact_check)(const struct artifact *, struct findings *);

static bool
absent(const char *check, const char *input, const char *path)
{
    /* Made only where the tool is: see inputs.sh. */
    bool optional = strcmp(input, "slim_lto.a") == 0 ||
                    strcmp(input, "real_bitcode.a") == 0;
    if (!optional || access(path, F_OK) == 0)
        return false;
    refuse_skip(check, input, "this compiler does not make it");
    return true;
}

static void
judge_artifact(const char *check, artifact_check run, const struct row *row)
{
    char path[4096], error[1200];
    struct artifact artifact;
    struct findings found = {0};
    refuse_path(row->input, path, sizeof path);
    if (absent(check, row->input, path))
        return;
    if (artifact_read(path, &artifact, error, sizeof error)) {
        run(&artifact, &found);
        artifact_free(&artifact);
    } else
        findings_fault(&found, "%s", error);
    refuse_judge(check, row->input, row->expected, row->words, &found);
}

static void
count_symbols(const struct artifact *artifact, struct findings *found)
{
    found->judged = artifact->count;
}

static void
foreign_with_gse(const struct artifact *artifact, struct findings *found)
{
    foreign_check(artifact, "gse_", found);
}

static void
foreign_without_prefix(const struct artifact *artifact, struct findings *found)
{
    foreign_check(artifact, NULL, found);
}

static void
engine_with_gse(const struct artifact *artifact, struct findings *found)
{
    foreign_check_engine(artifact, "gse_", found);
}

static void
engine_with_other(const struct artifact *artifact, struct findings *found)
{
    foreign_check_engine(artifact, "stra_", found);
}

static const struct row read_rows[] = {
    {"good.so", PASSES, NULL},
    {"good.a", PASSES, NULL},
    {"stripped.so", PASSES, NULL},
    {"missing.path.so", REFUSED, "No such file or directory"},
    {"/", REFUSED, "is a directory"},
    {"/dev/null", REFUSED, "is not a regular file"},
    {"nothing.so", REFUSED, "the file is empty"},
    {"text.so", REFUSED, "neither an ELF shared object nor an archive"},
    {"object.so", REFUSED, "ELF type 1, neither a shared object"},
    {"cut.so", REFUSED, "is truncated: its section headers end after the"},
    {"cut.a", REFUSED, "truncated archive: the member at byte"},
    {"cut_header.a", REFUSED, "truncated archive: the member at byte 8"},
    {"cut_member.a", REFUSED, "cut_member.o is truncated"},
    {"empty.a", REFUSED, "the archive has no members"},
    {"thin.a", REFUSED, "is a thin archive"},
    {"text_member.a", REFUSED, "specimen.map is not an ELF object"},
    {"foreign_machine.a", REFUSED, "ELF machine 183), not for"},
    {"small_class.a", REFUSED, "is a 32-bit ELF file"},
    {"bitcode.a", REFUSED, "bitcode.o is LLVM bitcode (LTO)"},
    {"half_bitcode.a", REFUSED, "bitcode.o is LLVM bitcode (LTO)"},
    {"real_bitcode.a", REFUSED, "real_bitcode.o is LLVM bitcode (LTO)"},
    {"slim_lto.a", REFUSED, "slim_lto.o is a slim LTO object"},
    {"no_names.a", PASSES, NULL},
    {"only_no_names.a", REFUSED, "defines no global symbol"},
    {"no_symbols.so", REFUSED, "defines no global symbol"},
};

static const struct row set_rows[] = {
    {"good.so", PASSES, NULL},
    {"good.a", PASSES, NULL},
    {"stripped.so", PASSES, NULL},
    {"neighbours.so", PASSES, NULL},
    {"neighbours.a", PASSES, NULL},
    {"eighteenth.so", REFUSED, "extra export: gusset_eighteenth (FUNC in"},
    {"eighteenth.a", REFUSED, "extra export: gusset_eighteenth (FUNC in"},
    {"missing.so", REFUSED, "missing export: gusset_take"},
    {"missing.a", REFUSED, "missing export: gusset_take"},
    {"swapped_name.so", REFUSED, "missing export: gusset_take"},
    {"swapped_name.a", REFUSED, "missing export: gusset_take"},
    {"hidden_take.so", REFUSED, "missing export: gusset_take"},
    {"hidden_take.a", REFUSED, "missing export: gusset_take is HIDDEN"},
    {"two_versions.so", REFUSED, "gusset_take is defined 2 times"},
    {"twice.a", REFUSED, "gusset_abi_layout is defined 2 times"},
    {"old_version.so", REFUSED, "version that is not the default"},
    {"/bin/true", REFUSED, "missing export: gusset_abi_layout"},
};

static const struct row kind_rows[] = {
    {"good.so", PASSES, NULL},
    {"good.a", PASSES, NULL},
    {"weak_take.so", REFUSED, "gusset_take is WEAK, not GLOBAL"},
    {"weak_take.a", REFUSED, "gusset_take is WEAK, not GLOBAL"},
    {"data_take.so", REFUSED, "gusset_take is OBJECT, not a function"},
    {"data_take.a", REFUSED, "gusset_take is OBJECT, not a function"},
    {"protected_take.so", REFUSED, "gusset_take has PROTECTED visibility"},
    {"protected_take.a", REFUSED, "gusset_take has PROTECTED visibility"},
};

static const struct row engine_rows[] = {
    {"neighbours.a", PASSES, "engine API: 1: gse_register (neighbours.o)"},
    {"neighbours.so", PASSES, "engine API: 1: gse_register (neighbours.so)"},
    {"good.so", REFUSED, "engine_prefix gse_, but no visible symbol of"},
    {"good.a", REFUSED, "engine_prefix gse_, but no visible symbol of"},
};

static const struct row other_engine_rows[] = {
    {"neighbours.a", REFUSED, "engine_prefix stra_, but no visible symbol of"},
};

static const struct row foreign_rows[] = {
    {"good.so", PASSES, NULL},
    {"good.a", PASSES, NULL},
    {"own_malloc.so", REFUSED, "foreign definition: malloc (GLOBAL FUNC"},
    {"own_malloc.a", REFUSED, "foreign definition: malloc (GLOBAL FUNC"},
    {"own_memcpy.so", REFUSED, "foreign definition: memcpy (GLOBAL FUNC"},
    {"hidden_memcpy.so", PASSES, NULL},
    {"hidden_memcpy.a", REFUSED, "memcpy (GLOBAL FUNC, HIDDEN) in"},
    {"weak_memcpy.so", PASSES, "weak definitions of C library names: 1: memc"},
    {"weak_memcpy.a", PASSES, "weak definitions of C library names: 1: memc"},
    {"neighbours.a", PASSES, "compiler support routines: 2: "},
    {"neighbours.a", PASSES, "engine API: 1: gse_register (neighbours.o)"},
    {"neighbours.a", PASSES, "other strays: 1: stray_symbol (neighbours.o)"},
    {"neighbours.so", PASSES, "other strays: 1: stray_symbol (neighbours.so)"},
};

static const struct row foreign_bare_rows[] = {
    {"neighbours.a", PASSES, "other strays: 2: gse_register (neighbours.o)"},
};

static const struct row dwarf_rows[] = {
    {"good.so", PASSES, NULL},
    {"good.a", PASSES, NULL},
    {"dwarf-4.so", PASSES, NULL},
    {"dwarf-4.a", PASSES, NULL},
    {"stripped.so", SKIPPED, "has no DWARF: it is stripped"},
    {"no_debug.a", SKIPPED, "has no DWARF: it is stripped"},
    {"other_structs.so", SKIPPED, "describes none of the structs CallHeader"},
    {"broken_debug.so", REFUSED, "DWARF of broken_debug.so"},
    {"text.so", REFUSED, "text.so"},
    {"dwarf-swapped.so", REFUSED, "CallHeader.flags has offset 36"},
    {"dwarf-swapped.a", REFUSED, "CallHeader.flags has offset 36"},
    {"dwarf-second-unit.a", REFUSED, "dwarf-swapped.o: CallHeader.flags has"},
    {"dwarf-signed-line.so", REFUSED, "FfiStatus.line is signed"},
    {"dwarf-unsigned-code.a", REFUSED, "FfiStatus.code is unsigned"},
    {"dwarf-integer-msg.so", REFUSED, "FfiStatus.msg is unsigned"},
    {"dwarf-integer-msg.a", REFUSED, "FfiStatus.msg is unsigned"},
    {"dwarf-const-msg.so", REFUSED, "FfiStatus.msg is pointer to const"},
    {"dwarf-plain-file.a", REFUSED, "FfiStatus.file is pointer, the"},
    {"dwarf-packed.so", REFUSED, "FfiStatus has size 40"},
    {"dwarf-packed.a", REFUSED, "FfiStatus has size 40"},
    {"dwarf-renamed.so", REFUSED, "CallHeader has no field timeout_ns"},
    {"dwarf-grown.a", REFUSED, "AbiLayout has size 40"},
};

/* An nm by its name, and what it must lead to on good.so and good.a. */
static const struct row nm_rows[] = {
    {"nm", PASSES, NULL},
    {"abi_check/bad/nm_omits.sh", REFUSED, "only libelf has gusset_take"},
    {"abi_check/bad/nm_adds.sh", REFUSED, "nm_adds.sh has gusset_nineteenth"},
    {"abi_check/bad/nm_weakens.sh", REFUSED, "only libelf has gusset_take (T)"},
    {"abi_check/bad/nm_moves.sh", REFUSED, "only libelf has gusset_take (T)"},
    {"abi_check/bad/nm_complains.sh", REFUSED, "complained: nm: warning"},
    {"abi_check/bad/nm_fails.sh", REFUSED, "failed on the artifact: exit 3"},
    {"abi_check/bad/nm_silent.sh", REFUSED, "lists no symbol"},
    {"abi_check/bad/nm_babbles.sh", REFUSED, "a line that is no symbol"},
    {"abi_check/bad/nm_absent.sh", BROKEN, "cannot run"},
};

/* And nm itself on every artifact that libelf reads. */
static const char *const nm_inputs[] = {
    "good.so",          "good.a",        "stripped.so",  "eighteenth.so",
    "eighteenth.a",     "weak_take.so",  "weak_take.a",  "data_take.so",
    "data_take.a",      "hidden_take.a", "neighbours.a", "two_versions.so",
    "old_version.so",   "own_malloc.a",  "no_names.a",   "twice.a",
    "beside_bitcode.a",
};

static void
judge_nm(const char *nm, const char *input, enum expectation expected,
         const char *words)
{
    char path[4096], error[1200], what[256];
    struct artifact artifact;
    struct findings found = {0};
    refuse_path(input, path, sizeof path);
    if (artifact_read(path, &artifact, error, sizeof error)) {
        nm_compare(nm, path, &artifact, &found);
        artifact_free(&artifact);
    } else
        findings_broken(&found, "%s", error);
    snprintf(what, sizeof what, "%s by %s", input, nm);
    refuse_judge("second opinion", what, expected, words, &found);
}

#define RUN(check, run, rows)                               \
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) \
    judge_artifact(check, run, &rows[i])

void
refuse_artifacts(void)
{
    RUN("read", count_symbols, read_rows);
    RUN("export set", exports_check_set, set_rows);
    RUN("export kinds", exports_check_kinds, kind_rows);
    RUN("foreign symbols", foreign_with_gse, foreign_rows);
    RUN("claimed engine API", engine_with_gse, engine_rows);
    RUN("claimed engine API, another's", engine_with_other, other_engine_rows);
    RUN("foreign symbols, no prefix", foreign_without_prefix,
        foreign_bare_rows);
    for (size_t i = 0; i < sizeof nm_rows / sizeof *nm_rows; i++) {
        judge_nm(nm_rows[i].input, "good.so", nm_rows[i].expected,
                 nm_rows[i].words);
        judge_nm(nm_rows[i].input, "good.a", nm_rows[i].expected,
                 nm_rows[i].words);
    }
    for (size_t i = 0; i < sizeof nm_inputs / sizeof *nm_inputs; i++)
        judge_nm("nm", nm_inputs[i], PASSES, NULL);
    for (size_t i = 0; i < sizeof dwarf_rows / sizeof *dwarf_rows; i++) {
        char path[4096];
        struct findings found = {0};
        dwarf_check(refuse_path(dwarf_rows[i].input, path, sizeof path),
                    &found);
        refuse_judge("dwarf", dwarf_rows[i].input, dwarf_rows[i].expected,
                     dwarf_rows[i].words, &found);
    }
}
