/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The last lines of a run on standard output. */
#include <stdlib.h>
#include <string.h>

#include "../claims.h"
#include "../reach.h"
#include "../waived.h"
#include "report.h"

/* Items that only all rounds together make FLAKY have had no line yet. */
static void
print_flaky(const struct report *report)
{
    const struct plan *plan = report->plan;
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        if (item->done != plan->rounds || item->verdict != VERDICT_FLAKY)
            continue;
        printf("%-12s %s [%s]:", verdict_word(item->verdict), item->info->id,
               item->subject->label);
        for (int j = 0; j < VERDICT_COUNT; j++) {
            if (item->counts[j] > 0)
                printf(" %u %s", item->counts[j],
                       verdict_word((enum verdict)j));
        }
        putchar('\n');
    }
}

/* What passed and does not count, by name, once for each case. */
static void
print_unproven(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        if (item->done == plan->rounds && item->verdict == VERDICT_PASS &&
            !item->proven)
            printf("unproven  %s [%s]\n", item->info->id, item->subject->label);
    }
}

static void
print_waivers(const struct plan *plan)
{
    size_t count = plan->waivers ? plan->waivers->count : 0;
    size_t results = waived_results(plan, NULL);
    printf("%zu waiver%s, %zu result%s waived\n", count, count == 1 ? "" : "s",
           results, results == 1 ? "" : "s");
}

static void
print_levels(const struct plan *plan)
{
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct subject *subject = &plan->subjects[i];
        struct reach reach;
        struct text line = {0};
        if (!subject->has_artifact)
            continue;
        reach_make(&reach, plan, subject);
        if (plan->subject_count > 1)
            text_add(&line, "%s: ", subject->label);
        reach_line(&reach, plan, &line);
        puts(text_get(&line));
        text_free(&line);
        reach_free(&reach);
    }
}

void
console_close(struct report *report, const struct summary *summary)
{
    const struct plan *plan = report->plan;
    console_clear(report);
    print_flaky(report);
    if (report->options->verbose)
        print_unproven(plan);
    claims_console(plan);
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct subject *subject = &plan->subjects[i];
        struct text names = {0};
        text_add(&names, "%s (%s): %s: ", subject->label,
                 subject->is_header ? "header"
                                    : artifact_kind_word(&subject->artifact),
                 summary_word(summary, plan, i));
        tally_add(&summary->subjects[i], &names);
        if (subject->artifact.missing.count > 0) {
            text_add(&names, "; lacks ");
            strings_join(&subject->artifact.missing, ", ", &names);
        }
        if (subject->artifact.strays.count > 0) {
            text_add(&names, "; exports beyond the 17: ");
            strings_join(&subject->artifact.strays, ", ", &names);
        }
        if (!plan->complete_manifest)
            text_add(&names, "; %zu of %zu cases were selected", plan->cases,
                     plan->manifest->count);
        puts(text_get(&names));
        text_free(&names);
    }
    print_waivers(plan);
    printf("reports in %s\n", report->options->out);
    print_levels(plan);
    printf("%zu passed, %zu failed, %zu skipped",
           summary->total.standings[STANDING_PASSED],
           summary->total.standings[STANDING_FAILED],
           summary->total.standings[STANDING_SKIPPED]);
    if (summary->total.standings[STANDING_NOT_RUN] > 0)
        printf(", %zu not run", summary->total.standings[STANDING_NOT_RUN]);
    putchar('\n');
}
