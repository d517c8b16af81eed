/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * embed.h - files of this project as they were when this program was built,
 * each a zero-terminated text, so that it needs no path to a checkout.
 */
#ifndef ABI_CHECK_EMBED_H
#define ABI_CHECK_EMBED_H

extern const char embed_gusset_h[];
extern const char embed_posix_h[];    /* abi_check/probes */
extern const char embed_contract_h[]; /* abi_check/probes */
extern const char embed_libc_names[];
extern const char embed_compiler_names[];

#endif /* ABI_CHECK_EMBED_H */
