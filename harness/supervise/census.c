/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

/* "KIND KEY" and "VALUE" of one fact. */
struct fact {
    char *name;
    char *value;
};

struct facts {
    char *copy; /* what name and value point into */
    struct fact *items;
    size_t count;
};

static const struct {
    const char *kind;
    const char *words;
} kinds[] = {
    {"fd", "descriptor"},
    {"threads", "number of threads"},
    {"signal", "disposition of"},
    {"mask", "signal mask"},
    {"altstack", "alternate stack"},
    {"cwd", "working directory"},
    {"itimer", "interval timer"},
    {"timers", "timers"},
    {"rlimit", "resource limit"},
    {"live_bytes", "live bytes"},
    {"mapped_bytes", "mapped bytes"},
    {"pending", "pending signals"},
};

static bool
is_kind(const char *name, const char *kind)
{
    size_t len = strlen(kind);
    return strncmp(name, kind, len) == 0 &&
           (name[len] == ' ' || name[len] == '\0');
}

/* Facts that are there to be read, not to be compared. */
static bool
is_remark(const char *name)
{
    return is_kind(name, "thread") || is_kind(name, "note");
}

static int
by_fact(const void *left, const void *right)
{
    const struct fact *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->value, b->value);
}

/* False and the line in words when there is one that is no fact. */
static bool
parse(struct facts *facts, const char *bytes, size_t len, struct text *words)
{
    struct text copy = {0};
    text_add_bytes(&copy, bytes, len);
    *facts = (struct facts){.copy = text_take(&copy)};
    if (strlen(facts->copy) != len || (len > 0 && bytes[len - 1] != '\n')) {
        text_add(words, "the census is cut off or holds a NUL\n");
        return false;
    }
    for (char *at = facts->copy; *at != '\0';) {
        char *end = strchr(at, '\n');
        *end = '\0';
        char *tab = strchr(at, '\t');
        if (tab == NULL || tab == at) {
            text_add(words, "a line of the census is no fact: ");
            text_add_clean(words, at, strlen(at));
            text_add(words, "\n");
            return false;
        }
        *tab = '\0';
        if (strcmp(at, "note census") == 0) {
            text_add(words, "the census is not whole: ");
            text_add_clean(words, tab + 1, strlen(tab + 1));
            text_add(words, "\n");
            return false;
        }
        facts->items =
            need_more(facts->items, facts->count + 1, sizeof *facts->items);
        facts->items[facts->count++] = (struct fact){at, tab + 1};
        at = end + 1;
    }
    if (facts->count > 0)
        qsort(facts->items, facts->count, sizeof *facts->items, by_fact);
    return true;
}

/* Keys of the kinds that have one fact only. */
static bool
says_nothing(const char *key)
{
    static const char *const fillers[] = {"-",     "main",  "process", "total",
                                          "count", "stats", "hash",    "posix"};
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
        if (strcmp(key, fillers[i]) == 0)
            return true;
    }
    return key[0] == '\0';
}

/* "descriptor 7", "disposition of SIGPIPE", "live bytes". */
static void
add_name(struct text *text, const char *name)
{
    size_t len = strcspn(name, " ");
    const char *key = name[len] == ' ' ? name + len + 1 : "";
    const char *words = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (is_kind(name, kinds[i].kind))
            words = kinds[i].words;
    }
    if (words != NULL)
        text_add(text, "%s", words);
    else
        text_add_clean(text, name, len);
    if (says_nothing(key))
        return;
    text_add(text, " ");
    if (is_kind(name, "signal") && atoi(key) > 0)
        text_add(text, "%s", signal_name(atoi(key)));
    else
        text_add_clean(text, key, strlen(key));
}

static void
one_sided(struct text *text, const struct fact *fact, const char *what)
{
    add_name(text, fact->name);
    text_add(text, " %s: ", what);
    text_add_clean(text, fact->value, strlen(fact->value));
    text_add(text, "\n");
}

/* False when the two values may stand beside each other. */
static bool
changed(struct text *text, const struct fact *before, const struct fact *after)
{
    if (strcmp(before->value, after->value) == 0)
        return false;
    if (is_kind(before->name, "mapped_bytes")) {
        unsigned long long was = strtoull(before->value, NULL, 10);
        unsigned long long is = strtoull(after->value, NULL, 10);
        if (is <= was)
            return false;
    }
    add_name(text, before->name);
    text_add(text, " changed: before ");
    text_add_clean(text, before->value, strlen(before->value));
    text_add(text, ", after ");
    text_add_clean(text, after->value, strlen(after->value));
    text_add(text, "\n");
    return true;
}

/* Differences into text, those of remarks into remarks; whether any counts. */
static bool
walk(const struct facts *before, const struct facts *after, struct text *text,
     struct text *remarks)
{
    size_t i = 0, j = 0;
    bool differs = false;
    while (i < before->count || j < after->count) {
        int order = 0;
        if (i == before->count)
            order = 1;
        else if (j == after->count)
            order = -1;
        else
            order = strcmp(before->items[i].name, after->items[j].name);
        const struct fact *fact =
            &(order > 0 ? after : before)->items[order > 0 ? j : i];
        bool counts = !is_remark(fact->name);
        struct text *words = counts ? text : remarks;
        if (order == 0)
            counts &= changed(words, &before->items[i], &after->items[j]);
        else
            one_sided(words, fact, order < 0 ? "is gone" : "left behind");
        differs |= counts;
        i += order <= 0;
        j += order >= 0;
    }
    return differs;
}

enum census_answer
census_compare(const char *before, size_t before_bytes, const char *after,
               size_t after_bytes, struct text *differences)
{
    struct facts was = {0}, is = {0};
    struct text remarks = {0};
    enum census_answer answer = CENSUS_UNREADABLE;
    if (before_bytes == 0 || after_bytes == 0)
        text_add(differences, "no census was taken %s the body\n",
                 before_bytes == 0 ? "before" : "after");
    else if (parse(&was, before, before_bytes, differences) &&
             parse(&is, after, after_bytes, differences))
        answer = walk(&was, &is, differences, &remarks) ? CENSUS_DIFFERS
                                                        : CENSUS_SAME;
    if (answer == CENSUS_DIFFERS)
        text_add(differences, "%s", text_get(&remarks));
    text_free(&remarks);
    free(was.copy);
    free(was.items);
    free(is.copy);
    free(is.items);
    return answer;
}
