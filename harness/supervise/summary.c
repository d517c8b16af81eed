/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "summary.h"

#include <stdlib.h>

#include "exit_codes.h"
#include "reach.h"

enum standing
item_standing(const struct plan *plan, const struct item *item)
{
    if (item->done != plan->rounds)
        return STANDING_NOT_RUN;
    if (item->verdict == VERDICT_PASS)
        return item->proven ? STANDING_PASSED : STANDING_SKIPPED;
    if (verdict_unclear(item->verdict))
        return STANDING_FAILED;
    if (verdict_against(item->verdict) && item->binds)
        return STANDING_FAILED;
    return STANDING_SKIPPED;
}

static void
count_item(struct tally *tally, const struct plan *plan,
           const struct item *item)
{
    enum standing standing = item_standing(plan, item);
    tally->items++;
    tally->standings[standing]++;
    if (standing == STANDING_NOT_RUN)
        return;
    tally->verdicts[item->verdict]++;
    tally->unclear += verdict_unclear(item->verdict);
    tally->unproven += item->verdict == VERDICT_PASS && !item->proven;
    if (verdict_against(item->verdict)) {
        tally->against += item->binds;
        tally->advisory += !item->binds;
    }
}

static void
count_all(struct summary *summary, const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        count_item(&summary->total, plan, item);
        count_item(&summary->subjects[item->subject - plan->subjects], plan,
                   item);
    }
}

static bool
exports_wrong(const struct subject *subject)
{
    return subject->has_artifact && (subject->artifact.missing.count > 0 ||
                                     subject->artifact.strays.count > 0);
}

/* One of the exit codes from EXIT_CONFORMING to EXIT_ARTIFACT_CHANGED. */
static int
subject_code(const struct summary *summary, const struct plan *plan, size_t i)
{
    const struct tally *tally = &summary->subjects[i];
    if (summary->changed[i])
        return EXIT_ARTIFACT_CHANGED;
    if (tally->against > 0 || exports_wrong(&plan->subjects[i]))
        return EXIT_NOT_CONFORMING;
    /* A run in which nothing was judged has shown nothing. */
    size_t spoke = tally->standings[STANDING_PASSED] + tally->advisory;
    /* Who asks for one case may have it unproven; a whole run may not. */
    if (plan->filtered || !plan->subjects[i].has_artifact)
        spoke += tally->unproven;
    if (tally->unclear > 0 || tally->standings[STANDING_NOT_RUN] > 0 ||
        spoke == 0 || reach_bar(plan->level) != NULL)
        return EXIT_INCONCLUSIVE;
    return EXIT_CONFORMING;
}

void
summary_make(struct summary *summary, const struct plan *plan, bool lost)
{
    static const int weight[] = {EXIT_ARTIFACT_CHANGED, EXIT_NOT_CONFORMING,
                                 EXIT_INCONCLUSIVE};
    *summary = (struct summary){.exit_code = EXIT_CONFORMING};
    summary->subjects =
        need_memory(plan->subject_count, sizeof *summary->subjects);
    summary->changed =
        need_memory(plan->subject_count, sizeof *summary->changed);
    for (size_t i = 0; i < plan->subject_count; i++)
        summary->changed[i] =
            (plan->subjects[i].has_artifact &&
             !artifact_unchanged(&plan->subjects[i].artifact)) ||
            !subject_header_unchanged(&plan->subjects[i]);
    count_all(summary, plan);
    for (int i = 2; i >= 0; i--) {
        for (size_t j = 0; j < plan->subject_count; j++) {
            if (subject_code(summary, plan, j) == weight[i])
                summary->exit_code = weight[i];
        }
    }
    if (lost && summary->exit_code == EXIT_CONFORMING)
        summary->exit_code = EXIT_INCONCLUSIVE;
}

void
summary_free(struct summary *summary)
{
    free(summary->subjects);
    free(summary->changed);
    *summary = (struct summary){0};
}

const char *
summary_word(const struct summary *summary, const struct plan *plan,
             size_t subject)
{
    switch (subject_code(summary, plan, subject)) {
    case EXIT_CONFORMING:
        return "conforming";
    case EXIT_NOT_CONFORMING:
        return "not conforming";
    case EXIT_ARTIFACT_CHANGED:
        return "changed during the run";
    default:
        return "inconclusive";
    }
}

void
tally_add(const struct tally *tally, struct text *text)
{
    const char *between = "";
    for (int i = 0; i < VERDICT_COUNT; i++) {
        if (tally->verdicts[i] == 0)
            continue;
        text_add(text, "%s%zu %s", between, tally->verdicts[i],
                 verdict_word((enum verdict)i));
        if (i == VERDICT_PASS && tally->unproven > 0)
            text_add(text, " (%zu of them unproven, not counted)",
                     tally->unproven);
        between = ", ";
    }
    if (tally->advisory > 0)
        text_add(text, " (%zu of them a SHOULD, reported only)",
                 tally->advisory);
    if (tally->standings[STANDING_NOT_RUN] > 0)
        text_add(text, "%s%zu not run", between,
                 tally->standings[STANDING_NOT_RUN]);
}
