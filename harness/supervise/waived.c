/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "waived.h"

#include <stdlib.h>
#include <string.h>

/* What the cases that blame a clause came to. */
struct use {
    size_t cases;   /* of the manifest */
    size_t planned; /* results that there are to be */
    size_t covered;
    size_t passed;
    bool left_out; /* the run does not have all the cases */
    bool open;     /* no result, or one that says nothing about the kind */
};

static bool
blames(const struct case_info *info, const struct waiver *waiver)
{
    return strcmp(info->clauses.items[0], waiver->clause) == 0;
}

static bool
planned(const struct plan *plan, const struct case_info *info)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->items[i].info == info)
            return true;
    }
    return false;
}

static struct use
count_use(const struct plan *plan, const struct waiver *waiver)
{
    struct use use = {0};
    for (size_t i = 0; i < plan->manifest->count; i++) {
        const struct case_info *info = &plan->manifest->cases[i];
        if (!blames(info, waiver))
            continue;
        use.cases++;
        use.left_out = use.left_out || !planned(plan, info);
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        if (!blames(item->info, waiver))
            continue;
        use.planned++;
        if (item->done != plan->rounds || verdict_unclear(item->verdict))
            use.open = true;
        else if (item->waiver == waiver)
            use.covered++;
        else if (item->verdict == VERDICT_PASS)
            use.passed++;
    }
    return use;
}

size_t
waived_results(const struct plan *plan, const struct waiver *waiver)
{
    size_t results = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        if (item->done == plan->rounds && item->verdict == VERDICT_WAIVED &&
            (waiver == NULL || item->waiver == waiver))
            results++;
    }
    return results;
}

char *
waived_trouble(const struct plan *plan, const struct waiver *waiver)
{
    struct use use = count_use(plan, waiver);
    const char *kind = verdict_word(waiver->kind);
    if (use.cases == 0 && !plan->filtered)
        return need_format("is unused: no case blames %s", waiver->clause);
    if (use.planned == 0)
        return NULL;
    if (waiver->expired)
        return need_copy("has expired");
    if (use.covered > 0 || use.left_out || use.open)
        return NULL;
    if (use.passed == use.planned)
        return need_format("is not needed any more: all cases of %s pass",
                           waiver->clause);
    return need_format("is unused: no case of %s ended as %s", waiver->clause,
                       kind);
}

void
waived_troubles(const struct plan *plan, struct text *troubles)
{
    for (size_t i = 0; plan->waivers != NULL && i < plan->waivers->count; i++) {
        const struct waiver *waiver = &plan->waivers->items[i];
        char *what = waived_trouble(plan, waiver);
        if (what != NULL)
            text_add(troubles,
                     "%s: item %zu: the waiver of %s for %s (%s, until %s) "
                     "%s\n",
                     plan->waivers->path, i + 1, verdict_word(waiver->kind),
                     waiver->clause, waiver->owner, waiver->expires, what);
        free(what);
    }
}
