/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../reach.h"
#include "../waived.h"
#include "report.h"

/* Text or attribute value; also fit for texts that nobody cleaned yet. */
static void
put_escaped(FILE *file, const char *words)
{
    struct text clean = {0};
    text_add_clean(&clean, words, strlen(words));
    for (const char *at = text_get(&clean); *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\n':
            fputs("&#10;", file);
            break;
        default:
            fputc(*at, file);
            break;
        }
    }
    text_free(&clean);
}

static void
put_attribute(FILE *file, const char *name, const char *value)
{
    fprintf(file, " %s=\"", name);
    put_escaped(file, value);
    fputc('"', file);
}

static void
put_property(FILE *file, const char *name, const char *value)
{
    fputs("   <property", file);
    put_attribute(file, "name", name);
    put_attribute(file, "value", value ? value : "");
    fputs("/>\n", file);
}

static void
put_number(FILE *file, const char *name, size_t value)
{
    char *words = need_format("%zu", value);
    put_property(file, name, words);
    free(words);
}

static void
put_level(FILE *file, const struct plan *plan, const struct subject *subject)
{
    struct reach reach;
    struct text line = {0};
    put_property(file, "level", level_word(plan->level));
    if (!subject->has_artifact)
        return;
    reach_make(&reach, plan, subject);
    reach_line(&reach, plan, &line);
    put_number(file, "level.required", reach.required);
    put_number(file, "level.judged", reach.judged);
    put_property(file, "level.line", text_get(&line));
    text_free(&line);
    reach_free(&reach);
}

static void
put_outcome(FILE *file, const struct report *report, const struct item *item)
{
    const struct plan *plan = report->plan;
    enum standing standing = item_standing(plan, item);
    const char *word = verdict_word(item->verdict);
    const char *reason = item->shown.reason ? item->shown.reason : word;
    if (standing == STANDING_SKIPPED) {
        char *message = item->verdict == VERDICT_PASS
                            ? need_copy("UNPROVEN: passed, not counted")
                            : need_format("%s: %s", word, reason);
        fputs("   <skipped", file);
        put_attribute(file, "message", message);
        fputs("/>\n", file);
        free(message);
        return;
    }
    if (standing == STANDING_NOT_RUN) {
        fputs("   <error type=\"NOT-RUN\" message=\"not run\"/>\n", file);
        return;
    }
    struct text block = {0};
    const char *element = verdict_unclear(item->verdict) ? "error" : "failure";
    console_block(plan, report->options, item, &item->shown, &block);
    fprintf(file, "   <%s", element);
    put_attribute(file, "type", word);
    put_attribute(file, "message", reason);
    fputc('>', file);
    put_escaped(file, text_get(&block));
    fprintf(file, "</%s>\n", element);
    text_free(&block);
}

static void
put_case(FILE *file, const struct report *report, const struct item *item)
{
    const struct case_info *info = item->info;
    enum standing standing = item_standing(report->plan, item);
    fputs("  <testcase", file);
    put_attribute(file, "classname", info->clauses.items[0]);
    put_attribute(file, "name", info->id);
    if (info->file != NULL) {
        put_attribute(file, "file", info->file);
        if (info->line > 0)
            fprintf(file, " line=\"%d\"", info->line);
    }
    fprintf(file, " time=\"%.3f\"", item->seconds);
    if (standing == STANDING_PASSED) {
        fputs("/>\n", file);
        return;
    }
    fputs(">\n", file);
    put_outcome(file, report, item);
    fputs("  </testcase>\n", file);
}

/* BROKEN, FLAKY and not run are errors of the run, not failures. */
static void
put_counts(FILE *file, const struct tally *tally)
{
    size_t errors = tally->unclear + tally->standings[STANDING_NOT_RUN];
    fprintf(file,
            " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
            tally->items, tally->against, errors,
            tally->standings[STANDING_SKIPPED]);
}

static void
put_suite(FILE *file, const struct report *report,
          const struct summary *summary, size_t i)
{
    const struct plan *plan = report->plan;
    const struct subject *subject = &plan->subjects[i];
    double seconds = 0;
    char *seed = need_format("%llu", (unsigned long long)plan->seed);
    for (size_t j = 0; j < plan->count; j++) {
        if (plan->items[j].subject == subject)
            seconds += plan->items[j].seconds;
    }
    fputs(" <testsuite", file);
    put_attribute(file, "name", subject->label);
    put_counts(file, &summary->subjects[i]);
    fprintf(file, " time=\"%.3f\">\n  <properties>\n", seconds);
    put_property(file, "verdict", summary_word(summary, plan, i));
    put_property(file, "path", subject->artifact.path);
    put_property(file, "sha256", subject->artifact.sha256);
    put_property(file, "seed", seed);
    put_property(file, "plan", plan->hash);
    put_property(file, "effort", plan->effort);
    put_level(file, plan, subject);
    put_number(file, "waivers", plan->waivers ? plan->waivers->count : 0);
    put_number(file, "waived", waived_results(plan, NULL));
    put_number(file, "unproven", summary->subjects[i].unproven);
    if (subject->has_artifact)
        claims_each(plan, i, put_property, file);
    fputs("  </properties>\n", file);
    for (size_t j = 0; j < plan->count; j++) {
        if (plan->items[j].subject == subject)
            put_case(file, report, &plan->items[j]);
    }
    fputs(" </testsuite>\n", file);
    free(seed);
}

void
junit_write(FILE *file, const struct report *report,
            const struct summary *summary)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<testsuites name=\"gusset-conform\"",
          file);
    put_counts(file, &summary->total);
    fputs(">\n", file);
    for (size_t i = 0; i < report->plan->subject_count; i++)
        put_suite(file, report, summary, i);
    fputs("</testsuites>\n", file);
}
