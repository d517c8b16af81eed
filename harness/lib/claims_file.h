/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * claims_file.h - the claims file, read and checked whole. The supervisor and
 * the case programs both read it, by this one reader. What the keys mean:
 * harness/README.md, "Claims".
 */
#ifndef CONFORM_CLAIMS_FILE_H
#define CONFORM_CLAIMS_FILE_H

#include <jansson.h>
#include <stddef.h>

enum claim_kind {
    CLAIM_WORD,    /* one of two words */
    CLAIM_PREFIX,  /* how the names of an engine API begin */
    CLAIM_LIST,    /* an array of library names */
    CLAIM_VERSIONS /* an object, version name to highest version */
};

struct claim_key {
    const char *name;
    enum claim_kind kind;
    const char *words[2]; /* of CLAIM_WORD */
};

/* All keys that there are, in the order in which reports show them. */
extern const struct claim_key claim_keys[];
enum { CLAIM_KEYS = 10 };

/*
 * The file as a JSON object, which the caller decrefs; every member is of a
 * known key and a right value. NULL: error[cap] says in one line, which names
 * path and line, what is wrong. Does not block on a pipe.
 */
json_t *claims_file_read(const char *path, char *error, size_t cap);

/* The key of this name, or NULL. name[len] need not be terminated. */
const struct claim_key *claims_file_key(const char *name, size_t len);

#endif /* CONFORM_CLAIMS_FILE_H */
