/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "level.h"

#include <string.h>

static const char *const words[] = {"core", "hardened", "certified"};
_Static_assert(sizeof words / sizeof words[0] == LEVEL_COUNT,
               "a word for each level");

const char *
level_word(enum level level)
{
    return words[level];
}

bool
level_read(const char *word, enum level *level)
{
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (strcmp(word, words[i]) != 0)
            continue;
        *level = (enum level)i;
        return true;
    }
    return false;
}

bool
level_asks(enum level level, const struct clause *clause)
{
    if (level == LEVEL_CORE && strncmp(clause->id, "h.", 2) == 0)
        return false;
    return level != LEVEL_CORE || (strstr(clause->level, "(engine)") == NULL &&
                                   strstr(clause->level, "(fault)") == NULL &&
                                   strstr(clause->level, "(hook)") == NULL);
}

bool
level_runs(enum level level, const struct case_info *info)
{
    const struct clause *blamed = clause_find(info->clauses.items[0]);
    if (blamed != NULL && !level_asks(level, blamed))
        return false;
    return level != LEVEL_CORE || (!strings_have(&info->needs, "engine") &&
                                   !strings_have(&info->needs, "test-engine"));
}
