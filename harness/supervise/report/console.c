/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../clauses.h"
#include "report.h"

#define TICK_NS UINT64_C(100000000)

enum { WIDTH = 78, INDENT = 12 };

/* Words broken into lines that begin below each other. */
static void
add_wrapped(struct text *text, const char *label, const char *words)
{
    size_t column = INDENT;
    text_add(text, "  %-9s", label);
    for (const char *at = words; *at != '\0';) {
        size_t blank = strspn(at, " \n\t");
        size_t word = strcspn(at + blank, " \n\t");
        at += blank;
        if (word == 0)
            break;
        if (column > INDENT && column + 1 + word > WIDTH) {
            text_add(text, "\n%*s", INDENT - 1, "");
            column = INDENT;
        }
        text_add(text, " %.*s", (int)word, at);
        column += 1 + word;
        at += word;
    }
    text_add(text, "\n");
}

/* A value that must arrive as it is: its own lines, but indented. */
static void
add_value(struct text *text, const char *label, const char *value)
{
    if (value == NULL)
        return;
    for (const char *at = value; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        text_add(text, "  %-9s %.*s\n", at == value ? label : "", (int)len, at);
        at += len + (at[len] == '\n');
    }
}

static void
add_block(struct text *text, const char *label, const char *lines)
{
    if (lines == NULL)
        return;
    text_add(text, "  %s\n", label);
    for (const char *at = lines; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        text_add(text, "  | %.*s\n", (int)len, at);
        at += len + (at[len] == '\n');
    }
}

void
console_rerun(const struct plan *plan, const struct options *options,
              const struct item *item, const struct result *result,
              struct text *text)
{
    text_add_shell(text, options->invoked_as);
    if (!item->subject->has_artifact && !item->subject->is_header) {
        text_add(text, " self");
        return;
    }
    text_add(text, " run");
    if (item->subject->has_artifact) {
        text_add(text, " --impl ");
        text_add_shell(text, item->subject->artifact.path);
    }
    if (item->subject->test_engine != NULL) {
        text_add(text, " --test-engine ");
        text_add_shell(text, item->subject->test_engine->path);
    }
    if (item->subject->header != NULL) {
        text_add(text, " --header ");
        text_add_shell(text, item->subject->header);
    }
    if (options->go_package != NULL) {
        text_add(text, " --go-package ");
        text_add_shell(text, options->go_package);
    }
    text_add(text, " --filter ");
    text_add_shell(text, item->info->id);
    text_add(text, " --seed %llu", (unsigned long long)result->seed);
    if (strcmp(plan->effort, "normal") != 0)
        text_add(text, " --effort %s", plan->effort);
    if (plan->claims->path != NULL) {
        text_add(text, " --claims ");
        text_add_shell(text, plan->claims->path);
    }
    if (plan->timeout_scale != 1.0)
        text_add(text, " --timeout-scale %g", plan->timeout_scale);
    if (!options->default_programs)
        text_add(text, " --no-default-programs");
    for (size_t i = 0; i < options->programs.count; i++) {
        text_add(text, " --program ");
        text_add_shell(text, options->programs.items[i]);
    }
}

static void
add_clause(struct text *text, const struct case_info *info)
{
    const char *id = info->clauses.items[0];
    const struct clause *clause = clause_find(id);
    struct text words = {0};
    if (clause == NULL)
        text_add(&words, "%s (not a clause of the contract)", id);
    else
        text_add(&words, "%s, %s: %s", id, clause->level, clause->text);
    add_wrapped(text, "clause", text_get(&words));
    text_free(&words);
}

static void
add_check(struct text *text, const struct result *result)
{
    if (result->file == NULL)
        return;
    struct text place = {0};
    text_add(&place, "%s:%u", result->file, result->line);
    if (result->expression != NULL)
        text_add(&place, ": %s", result->expression);
    add_value(text, "check", text_get(&place));
    text_free(&place);
    add_value(text, "about", result->message);
    add_value(text, "expected", result->expected);
    add_value(text, "actual", result->actual);
}

/* "KEY\tVALUE" lines as "KEY: VALUE". */
static void
add_evidence(struct text *text, const char *evidence)
{
    struct text lines = {0};
    for (const char *at = evidence ? evidence : ""; *at != '\0'; at++) {
        if (*at == '\t')
            text_add(&lines, ": ");
        else
            text_add_bytes(&lines, at, 1);
    }
    if (lines.len > 0)
        add_value(text, "evidence", text_get(&lines));
    text_free(&lines);
}

void
console_block(const struct plan *plan, const struct options *options,
              const struct item *item, const struct result *result,
              struct text *text)
{
    struct text line = {0};
    add_clause(text, item->info);
    add_value(text, "reason", result->reason);
    add_check(text, result);
    if (result->file == NULL && item->info->file != NULL) {
        case_place(item->info, &line);
        add_value(text, "case", text_get(&line));
        text_free(&line);
    }
    if (result->ending != NULL)
        add_value(text, "ended", result->ending);
    text_add(&line, "%llu, %llu checks, %.3f s",
             (unsigned long long)result->seed,
             (unsigned long long)result->checks, result->seconds);
    if (plan->rounds > 1)
        text_add(&line, ", round %u of %u", result->round + 1, plan->rounds);
    if (result->marker != NULL)
        text_add(&line, ", marker %s", result->marker);
    add_value(text, "seed", text_get(&line));
    text_free(&line);
    add_value(text, "changed", result->differences);
    add_evidence(text, result->evidence);
    add_block(text, "output", result->output);
    add_block(text, "stacks", result->stacks);
    console_rerun(plan, options, item, result, &line);
    add_value(text, "rerun", text_get(&line));
    text_free(&line);
}

void
console_clear(struct report *report)
{
    if (report->line_open)
        fputs("\r\033[K", stdout);
    report->line_open = false;
}

static const char *
colour_of(const struct report *report, const struct item *item,
          enum verdict verdict)
{
    if (!report->colour)
        return "";
    if (verdict == VERDICT_PASS)
        return "\033[32m";
    if (verdict_unclear(verdict) || (verdict_against(verdict) && !item->binds))
        return "\033[33m";
    return verdict_against(verdict) ? "\033[31m" : "\033[36m";
}

void
console_open(struct report *report)
{
    const struct plan *plan = report->plan;
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct subject *subject = &plan->subjects[i];
        const struct artifact *artifact = &subject->artifact;
        if (subject->header != NULL)
            printf("subject   %s (header)\n          sha256 %s\n",
                   subject->header, subject->header_sha256);
        if (!subject->has_artifact)
            continue;
        printf("subject   %s (%s, %s, libc %s)\n", artifact->path,
               artifact_kind_word(artifact), artifact->machine, artifact->libc);
        printf("          sha256 %s\n", artifact->sha256);
        if (artifact->build_id != NULL)
            printf("          build id %s\n", artifact->build_id);
        if (subject->go != NULL)
            printf("          with %s and the package of sha256 %s\n",
                   subject->go->version, subject->go->sha256);
    }
    printf("plan      %zu results: %zu case%s", plan->count * plan->rounds,
           plan->cases, plan->cases == 1 ? "" : "s");
    if (plan->subject_count > 1)
        printf(" on %zu subjects", plan->subject_count);
    if (plan->rounds > 1)
        printf(", %u times", plan->rounds);
    printf("; seed %llu, level %s, effort %s, plan %.12s\n",
           (unsigned long long)plan->seed, level_word(plan->level),
           plan->effort, plan->hash);
    fflush(stdout);
}

/* On a terminal, and in repeats, only what is not PASS leaves a line. */
void
console_result(struct report *report, const struct item *item,
               const struct result *result)
{
    const struct plan *plan = report->plan;
    bool passed = result->verdict == VERDICT_PASS;
    if (passed && (report->terminal || plan->rounds > 1)) {
        if (!report->terminal && report->finished % 1000 == 0)
            printf("%zu of %zu results, %zu not passed\n", report->finished,
                   plan->count * plan->rounds, report->bad);
        return;
    }
    console_clear(report);
    const char *colour = colour_of(report, item, result->verdict);
    printf("%s%-12s%s %s", colour, verdict_word(result->verdict),
           colour[0] ? "\033[0m" : "", item->info->id);
    if (plan->subject_count > 1)
        printf(" [%s]", item->subject->label);
    printf(" %.3f s", result->seconds);
    const struct waiver *waiver = waivers_find(
        plan->waivers, item->info->clauses.items[0], result->verdict);
    if (waiver != NULL)
        printf(" (waived until %s by %s: %s, %s)", waiver->expires,
               waiver->owner, waiver->reason, waiver->link);
    else if (verdict_against(result->verdict) && !item->binds)
        printf(" (a SHOULD, reported only)");
    else if (passed && !item->proven && report->options->verbose)
        printf(" (unproven, not counted)");
    if (!passed && !verdict_against(result->verdict) &&
        !verdict_unclear(result->verdict) && result->reason != NULL)
        printf(": %s", result->reason);
    putchar('\n');
    if (verdict_against(result->verdict) || verdict_unclear(result->verdict)) {
        struct text block = {0};
        console_block(plan, report->options, item, result, &block);
        fputs(text_get(&block), stdout);
        text_free(&block);
    }
    fflush(stdout);
}

void
console_tick(struct report *report, size_t running)
{
    uint64_t now = now_ns();
    const struct plan *plan = report->plan;
    if (!report->terminal || now - report->last_tick_ns < TICK_NS)
        return;
    report->last_tick_ns = now;
    printf("\r\033[K%zu of %zu done, %zu running, %zu not passed",
           report->finished, plan->count * plan->rounds, running, report->bad);
    fflush(stdout);
    report->line_open = true;
}
