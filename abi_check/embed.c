/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The assembler includes the files, relative to the root of the project, in
 * which make runs; abi_check/build.mk lists them as prerequisites.
 */
#include "abi_check/embed.h"

#define EMBED(symbol, file)                                        \
    __asm__(".pushsection .rodata\n\t.globl " #symbol "\n" #symbol \
            ":\n\t.incbin \"" file "\"\n\t.byte 0\n\t.popsection")

EMBED(embed_gusset_h, "runtime/include/gusset.h");
EMBED(embed_posix_h, "abi_check/probes/posix.h");
EMBED(embed_contract_h, "abi_check/probes/contract.h");
EMBED(embed_others_program, "abi_check/others/program.c");
EMBED(embed_others_neighbour, "abi_check/others/neighbour.c");
EMBED(embed_others_thrower, "abi_check/others/thrower.cc");
EMBED(embed_others_panicker, "abi_check/others/panicker.rs");
EMBED(embed_header_layout_c, "abi_check/header_layout.c");
EMBED(embed_header_layout_h, "abi_check/header_layout.h");
EMBED(embed_layout_h, "abi_check/layout.h");
EMBED(embed_frozen_h, "abi_check/frozen.h");
EMBED(embed_findings_h, "abi_check/findings.h");
EMBED(embed_libc_names, "abi_check/libc-names");
EMBED(embed_compiler_names, "abi_check/compiler-names");
