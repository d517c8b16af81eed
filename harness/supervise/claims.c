/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "artifact.h"
#include "exit_codes.h"

void
claims_read(struct claims *claims, const char *path)
{
    char error[1024];
    *claims = (struct claims){0};
    if (path == NULL)
        return;
    claims->root = claims_file_read(path, error, sizeof error);
    if (claims->root == NULL)
        quit(EXIT_USAGE, "--claims %s", error);
    claims->path = realpath(path, NULL);
    if (claims->path == NULL || !file_sha256(path, claims->sha256))
        quit(EXIT_USAGE, "--claims %s: %s", path, strerror(errno));
}

json_t *
claims_declared(const struct claims *claims, size_t key)
{
    return json_object_get(claims->root, claim_keys[key].name);
}

bool
claims_probe(const struct case_info *info, const char *name)
{
    for (size_t i = 0; i < info->needs.count; i++) {
        const char *need = info->needs.items[i];
        if (strncmp(need, "claim:", 6) == 0 &&
            (name == NULL || strcmp(need + 6, name) == 0))
            return true;
    }
    return false;
}
