/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * claims.h - what the implementation under judgement declares of itself.
 *
 * The format is read by harness/lib/claims_file.c, for the case programs and
 * for us alike; how each claim fared is worked out in report/claims.c.
 */
#ifndef SUPERVISE_CLAIMS_H
#define SUPERVISE_CLAIMS_H

#include <stdbool.h>

#include "../lib/claims_file.h"
#include "manifest.h"

struct claims {
    char *path;      /* absolute; NULL: no file, silent about everything */
    char sha256[65]; /* of the file; empty without one */
    json_t *root;
};

/*
 * Reads the file, or none for NULL. Quits with EXIT_USAGE and one line when it
 * is not as it must be.
 */
void claims_read(struct claims *claims, const char *path);

/* What is declared for claim_keys[key]: a JSON value, or NULL when silent. */
json_t *claims_declared(const struct claims *claims, size_t key);

/* True when the case judges the claim of this name; NULL: any claim. */
bool claims_probe(const struct case_info *info, const char *name);

#endif /* SUPERVISE_CLAIMS_H */
