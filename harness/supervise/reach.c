/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "reach.h"

#include <stdlib.h>
#include <string.h>

/* The states that a line names, in its order. */
static const struct {
    enum reach_state state;
    const char *label;
} named[] = {{REACH_OUT, "out of reach"},
             {REACH_NO_CASE, "without a case"},
             {REACH_UNPROVEN, "by unproven cases only"},
             {REACH_UNCLEAR, "without a verdict"},
             {REACH_NOT_COUNTED, "not counted"}};

const char *
reach_word(enum reach_state state)
{
    static const char *const words[] = {
        "judged",  "unproven",     "out-of-reach", "unclear",
        "no-case", "not-selected", "not-counted"};
    return words[state];
}

const char *
reach_bar(enum level level)
{
    return level == LEVEL_CERTIFIED
               ? "there are no results of the matrix that it asks for"
               : NULL;
}

/* What one item says about each of its clauses; the lowest state counts. */
static enum reach_state
state_of(const struct plan *plan, const struct item *item)
{
    if (item->done != plan->rounds || verdict_unclear(item->verdict))
        return REACH_UNCLEAR;
    if (item->verdict == VERDICT_PASS)
        return item->proven ? REACH_JUDGED : REACH_UNPROVEN;
    if (verdict_against(item->verdict) || item->verdict == VERDICT_WAIVED)
        return REACH_JUDGED;
    return REACH_OUT;
}

/* Whether one result says more about a clause than another. */
static bool
outranks(enum reach_state state, enum reach_state other)
{
    static const int rank[] = {[REACH_JUDGED] = 0,
                               [REACH_UNPROVEN] = 1,
                               [REACH_UNCLEAR] = 2,
                               [REACH_OUT] = 3};
    return rank[state] < rank[other];
}

static char *
need_of(const struct item *item, enum reach_state state)
{
    const char *reason = item->shown.reason;
    switch (state) {
    case REACH_OUT:
        return need_format("%.*s", reason ? (int)strcspn(reason, "\n") : 7,
                           reason ? reason : "unknown");
    case REACH_UNPROVEN:
        return need_copy("a case that has found a seeded fault");
    case REACH_UNCLEAR:
        return need_copy("a verdict");
    default:
        return NULL;
    }
}

static void
set(struct reach_clause *at, enum reach_state state, char *need)
{
    free(at->need);
    at->state = state;
    at->need = need;
}

/* From the cases there are: left out by the filters or by the level. */
static void
look_at_manifest(struct reach_clause *at, const struct plan *plan)
{
    at->state = REACH_NO_CASE;
    at->need = need_copy(
        strncmp(at->clause->id, "h.", 2) == 0 ? "needs a Go host" : "no case");
    for (size_t i = 0; i < plan->manifest->count; i++) {
        const struct case_info *info = &plan->manifest->cases[i];
        struct text words = {0};
        if (!strings_have(&info->clauses, at->clause->id))
            continue;
        if (level_runs(plan->level, info)) {
            set(at, REACH_NOT_SELECTED, need_copy("not selected"));
            return;
        }
        if (at->state == REACH_OUT)
            continue;
        text_add(&words, "level %s leaves out what needs ",
                 level_word(plan->level));
        strings_join(&info->needs, ", ", &words);
        set(at, REACH_OUT, text_take(&words));
    }
}

/* Any result says more than that there is a case. */
static void
look_at_results(struct reach_clause *at, const struct plan *plan,
                const struct subject *subject)
{
    bool any = false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        bool everybody = !item->subject->has_artifact;
        if ((item->subject != subject && !everybody) ||
            !strings_have(&item->info->clauses, at->clause->id))
            continue;
        enum reach_state state = state_of(plan, item);
        if (!any || outranks(state, at->state))
            set(at, state, need_of(item, state));
        any = true;
    }
}

void
reach_make(struct reach *reach, const struct plan *plan,
           const struct subject *subject)
{
    size_t count = 0;
    const struct clause *all = clauses_all(&count);
    *reach = (struct reach){0};
    reach->clauses = need_memory(count, sizeof *reach->clauses);
    for (size_t i = 0; i < count; i++) {
        if (!level_asks(plan->level, &all[i]))
            continue;
        struct reach_clause *at = &reach->clauses[reach->count++];
        at->clause = &all[i];
        look_at_manifest(at, plan);
        look_at_results(at, plan, subject);
        if (at->state != REACH_JUDGED && at->state != REACH_NOT_SELECTED &&
            strstr(at->clause->level, "(hook)") != NULL)
            at->state = REACH_NOT_COUNTED;
        reach->required += at->state != REACH_NOT_COUNTED;
        reach->judged += at->state == REACH_JUDGED;
        reach->not_selected += at->state == REACH_NOT_SELECTED;
    }
}

void
reach_free(struct reach *reach)
{
    for (size_t i = 0; i < reach->count; i++)
        free(reach->clauses[i].need);
    free(reach->clauses);
    *reach = (struct reach){0};
}

/* True for the first clause of this state and need. */
static bool
begins_group(const struct reach *reach, size_t i)
{
    const struct reach_clause *at = &reach->clauses[i];
    for (size_t j = 0; j < i; j++) {
        if (reach->clauses[j].state == at->state &&
            strcmp(reach->clauses[j].need, at->need) == 0)
            return false;
    }
    return true;
}

/* "a, b (what they need)"; the need only where the label does not say it. */
static void
add_group(const struct reach *reach, size_t first, struct text *line)
{
    const struct reach_clause *at = &reach->clauses[first];
    const char *between = "";
    for (size_t i = first; i < reach->count; i++) {
        if (reach->clauses[i].state != at->state ||
            strcmp(reach->clauses[i].need, at->need) != 0)
            continue;
        text_add(line, "%s%s", between, reach->clauses[i].clause->id);
        between = ", ";
    }
    if (at->state == REACH_OUT || at->state == REACH_NOT_COUNTED ||
        (at->state == REACH_NO_CASE && strcmp(at->need, "no case") != 0))
        text_add(line, " (%s)", at->need);
}

void
reach_line(const struct reach *reach, const struct plan *plan,
           struct text *line)
{
    text_add(line, "level %s: reached for %zu of %zu clauses",
             level_word(plan->level), reach->judged, reach->required);
    for (size_t k = 0; k < sizeof named / sizeof named[0]; k++) {
        const char *before = named[k].label, *between = ": ";
        for (size_t i = 0; i < reach->count; i++) {
            if (reach->clauses[i].state != named[k].state ||
                !begins_group(reach, i))
                continue;
            text_add(line, "%s%s%s", before == NULL ? "" : "; ",
                     before == NULL ? "" : before, between);
            add_group(reach, i, line);
            before = NULL;
            between = ", ";
        }
    }
    if (reach->not_selected > 0)
        text_add(line, "; not selected: %zu", reach->not_selected);
    if (reach_bar(plan->level) != NULL)
        text_add(line, "; the level itself is out of reach: %s",
                 reach_bar(plan->level));
}
