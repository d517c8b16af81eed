/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "clauses.h"

#include <stdlib.h>
#include <string.h>

#include "exit_codes.h"
#include "text.h"

extern const char contract_text[];

static struct clause *clauses;
static size_t clause_count;

/* The cell that begins at *at, without the blanks around; moves *at on. */
static char *
cell(const char **at, const char *end)
{
    const char *from = *at;
    const char *stop = from;
    while (stop < end && *stop != '|')
        stop++;
    *at = stop < end ? stop + 1 : end;
    while (from < stop && *from == ' ')
        from++;
    while (stop > from && stop[-1] == ' ')
        stop--;
    struct text text = {0};
    text_add_bytes(&text, from, (size_t)(stop - from));
    return text_take(&text);
}

/* The rest of a row is the text: bars inside it are its own. */
static char *
last_cell(const char *from, const char *end)
{
    while (end > from && (end[-1] == ' ' || end[-1] == '|'))
        end--;
    while (from < end && *from == ' ')
        from++;
    struct text text = {0};
    text_add_bytes(&text, from, (size_t)(end - from));
    return text_take(&text);
}

static bool
is_id(const char *id)
{
    const char *dot = strchr(id, '.');
    if (dot == NULL || dot == id || dot - id > 2 || id[0] < 'a' || id[0] > 'z')
        return false;
    return dot[1] != '\0' &&
           dot[1 + strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz"
                                   "0123456789-")] == '\0';
}

static void
read_row(const char *at, const char *end)
{
    struct clause clause;
    clause.id = cell(&at, end);
    clause.level = cell(&at, end);
    if (!is_id(clause.id) || strspn(clause.level, "MSUOTHLDAY") < 3) {
        free(clause.id);
        free(clause.level);
        return;
    }
    clause.text = last_cell(at, end);
    clauses = need_more(clauses, clause_count + 1, sizeof *clauses);
    clauses[clause_count++] = clause;
}

const struct clause *
clauses_all(size_t *count)
{
    const char *at = clauses == NULL ? contract_text : "";
    while (*at != '\0') {
        const char *end = strchrnul(at, '\n');
        if (at[0] == '|')
            read_row(at + 1, end);
        at = *end ? end + 1 : end;
    }
    if (clause_count == 0)
        quit(EXIT_OUR_BUG, "the contract inside the program has no clause");
    *count = clause_count;
    return clauses;
}

const struct clause *
clause_find(const char *id)
{
    size_t count = 0;
    const struct clause *all = clauses_all(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].id, id) == 0)
            return &all[i];
    }
    return NULL;
}

bool
clause_binds(const char *id)
{
    const struct clause *clause = clause_find(id);
    return clause == NULL || (strncmp(clause->level, "SHOULD", 6) != 0 &&
                              strncmp(clause->level, "MAY", 3) != 0);
}
