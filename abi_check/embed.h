/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * embed.h - files of this project as they were when this program was built,
 * each a zero-terminated text, so that it needs no path to a checkout.
 */
#ifndef ABI_CHECK_EMBED_H
#define ABI_CHECK_EMBED_H

extern const char embed_gusset_h[];
extern const char embed_posix_h[];        /* abi_check/probes */
extern const char embed_contract_h[];     /* abi_check/probes */
extern const char embed_others_program[]; /* abi_check/others */
extern const char embed_others_neighbour[];
extern const char embed_others_thrower[];
extern const char embed_others_panicker[];
extern const char embed_header_layout_c[]; /* to compile once more */
extern const char embed_header_layout_h[];
extern const char embed_layout_h[];
extern const char embed_frozen_h[];
extern const char embed_findings_h[];
extern const char embed_libc_names[];
extern const char embed_compiler_names[];

#endif /* ABI_CHECK_EMBED_H */
