/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * exports.h - the exports of an artifact against the frozen 17
 * [i6.exports-exact].
 */
#ifndef ABI_CHECK_EXPORTS_H
#define ABI_CHECK_EXPORTS_H

#include "abi_check/artifact.h"
#include "abi_check/findings.h"

/*
 * The visible symbols beginning with gusset_ are exactly the 17, each once,
 * in the default version: compared as a set, in both directions.
 */
void exports_check_set(const struct artifact *artifact, struct findings *found);

/*
 * Each of them is a function (FUNC), GLOBAL and not WEAK, of DEFAULT
 * visibility. Missing ones are the other check's business.
 */
void exports_check_kinds(const struct artifact *artifact,
                         struct findings *found);

#endif /* ABI_CHECK_EXPORTS_H */
