/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <string.h>

#include "report.h"

void
tap_plan(FILE *file, const struct plan *plan)
{
    fprintf(file, "TAP version 13\n1..%zu\n", plan->count);
}

/* A description must not look like a directive. */
static void
put_words(FILE *file, const char *words)
{
    for (; *words != '\0' && *words != '\n'; words++) {
        if (*words == '#' || *words == '\\')
            fputc('\\', file);
        fputc(*words, file);
    }
}

void
tap_item(FILE *file, const struct report *report, size_t number,
         const struct item *item)
{
    const struct plan *plan = report->plan;
    enum standing standing = item_standing(plan, item);
    const char *word =
        standing == STANDING_NOT_RUN ? "not run" : verdict_word(item->verdict);
    bool bad = standing == STANDING_FAILED || standing == STANDING_NOT_RUN;
    fprintf(file, "%s %zu - ", bad ? "not ok" : "ok", number);
    put_words(file, item->info->id);
    fputs(" [", file);
    put_words(file, item->subject->label);
    fputc(']', file);
    if (standing == STANDING_SKIPPED) {
        fprintf(file, " # SKIP %s", word);
        if (item->verdict == VERDICT_PASS)
            fputs(" unproven, not counted", file);
        if (verdict_against(item->verdict))
            fputs(" of a SHOULD", file);
        if (item->shown.reason != NULL) {
            fputs(": ", file);
            put_words(file, item->shown.reason);
        }
    }
    fputc('\n', file);
    if (!bad)
        return;
    fprintf(file, "# %s\n", word);
    if (standing == STANDING_NOT_RUN)
        return;
    struct text block = {0};
    console_block(plan, report->options, item, &item->shown, &block);
    for (const char *at = text_get(&block); *at != '\0';) {
        size_t len = strcspn(at, "\n");
        fprintf(file, "# %.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
    text_free(&block);
}

void
tap_write(FILE *file, const struct report *report)
{
    tap_plan(file, report->plan);
    for (size_t i = 0; i < report->plan->count; i++)
        tap_item(file, report, i + 1, &report->plan->items[i]);
}
