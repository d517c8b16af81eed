/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "selftest.h"

#include <stdlib.h>
#include <string.h>

#include "../self/table.h"
#include "parts.h"
#include "plan.h"
#include "report/report.h"
#include "schedule.h"

/* One misbehaves without any help, one through harness/lib, one in Go. */
static const char *const self_programs[] = {
    "bin/conform-self", "bin/conform-self-glue",
    "share/gusset-conform/go/cases/self"};
enum { SELF_PROGRAMS = 3 };

/* The state of one selftest_run. */
struct check {
    struct selftest *selftest;
    const struct options *options;
    struct plan plan;
    struct manifest manifest;
    size_t right, wrong;
    bool go; /* the rows in Go are part of it */
    size_t stacks_taken, stacks_due;
};

static const struct self_row *
find_row(const char *id)
{
    for (size_t i = 0; i < self_rows; i++) {
        if (strcmp(self_table[i].id, id) == 0)
            return &self_table[i];
    }
    return NULL;
}

__attribute__((format(printf, 2, 3))) static void
wrong(struct check *check, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_add(&check->selftest->detail, "WRONG  ");
    text_addv(&check->selftest->detail, format, arguments);
    text_add(&check->selftest->detail, "\n");
    va_end(arguments);
    check->wrong++;
}

/* NULL, or the first word of the row that the report lacks. */
static const char *
lacking(struct check *check, const struct self_row *row,
        const struct result *result, const char *block)
{
    for (int i = 0; i < SELF_WORDS && row->words[i] != NULL; i++) {
        bool of_stacks = strncmp(row->words[i], "| TID", 5) == 0;
        if (!of_stacks && strstr(block, row->words[i]) == NULL)
            return row->words[i];
    }
    if (row->stack == NULL)
        return NULL;
    check->stacks_due++;
    /* Where ptrace is forbidden there are no stacks; `line` says so. */
    if (result->stacks == NULL || strstr(result->stacks, "TID ") == NULL)
        return NULL;
    check->stacks_taken++;
    return strstr(block, row->stack) == NULL ? row->stack : NULL;
}

static void
compare(struct check *check, const struct item *item,
        const struct result *result)
{
    const struct self_row *row = find_row(item->info->id);
    struct text block = {0};
    if (row == NULL) {
        wrong(check, "%s is not in the table", item->info->id);
        return;
    }
    console_block(&check->plan, check->options, item, result, &block);
    const char *lacks = lacking(check, row, result, text_get(&block));
    if (result->verdict != row->verdict || lacks != NULL) {
        wrong(check, "%s: %s%s, must be %s%s%s%s; the report was:\n%s", row->id,
              verdict_word(result->verdict),
              result->verdict != row->verdict ? "" : " as it must be",
              verdict_word(row->verdict), lacks ? " with the words \"" : "",
              lacks ? lacks : "", lacks ? "\"" : "", text_get(&block));
    } else {
        check->right++;
        text_add(&check->selftest->detail, "right  %-12s %s %.3f s\n",
                 verdict_word(row->verdict), row->id, result->seconds);
    }
    text_free(&block);
}

static void
seen(void *context, const struct item *item, const struct result *result)
{
    compare(context, item, result);
}

/* In the second run only the verdict over both rounds counts. */
static void
seen_flaky(void *context, const struct item *item, const struct result *result)
{
    (void)context;
    (void)item;
    (void)result;
}

static void
settled(void *context, const struct item *item)
{
    (void)context;
    (void)item;
}

static void
tick(void *context, size_t running)
{
    (void)context;
    (void)running;
}

static bool
run_plan(struct check *check, const bool *chosen, struct subject *subject,
         const struct options *options, const char *folder, bool flaky)
{
    plan_make(&check->plan, &check->manifest, chosen, subject, 1, options, NULL,
              NULL);
    struct schedule schedule = {.plan = &check->plan,
                                .jobs = options->jobs,
                                .folder = folder,
                                .seen = flaky ? seen_flaky : seen,
                                .settled = settled,
                                .tick = tick,
                                .context = check};
    schedule_run(&schedule);
    check->selftest->interrupted = schedule.interrupted;
    if (schedule.strays.len > 0)
        wrong(check, "a process was not found out: %s",
              text_get(&schedule.strays));
    text_free(&schedule.strays);
    return schedule.interrupted == 0;
}

/* Both sides of the table: a case that did not run proves nothing. */
static void
check_complete(struct check *check)
{
    for (size_t i = 0; i < self_rows; i++) {
        if (self_table[i].go && !check->go)
            check->selftest->skipped++;
        else if (manifest_find(&check->manifest, self_table[i].id) == NULL)
            wrong(check, "%s is in the table, but there is no such case",
                  self_table[i].id);
    }
    if (plan_missing(&check->plan) != 0)
        wrong(check, "%zu cases have no result", plan_missing(&check->plan));
}

/* One round passes, the other fails: only together they are FLAKY. */
static void
check_flaky(struct check *check, struct subject *subject,
            struct options *options, const char *folder)
{
    bool *chosen = need_memory(check->manifest.count, sizeof *chosen);
    for (size_t i = 0; i < check->manifest.count; i++)
        chosen[i] = strcmp(check->manifest.cases[i].id, SELF_FLAKY) == 0;
    plan_free(&check->plan);
    options->repeat = 2;
    if (run_plan(check, chosen, subject, options, folder, true) &&
        (check->plan.count != 1 ||
         check->plan.items[0].verdict != VERDICT_FLAKY))
        wrong(check, "%s: twice, and not FLAKY", SELF_FLAKY);
    free(chosen);
}

static void
say_line(struct check *check, double seconds)
{
    struct selftest *selftest = check->selftest;
    struct text *line = &selftest->line;
    selftest->passed = check->wrong == 0;
    selftest->right = check->right;
    selftest->wrong = check->wrong;
    text_add(line, "%zu of %zu verdicts as they must be, %.1f s", check->right,
             check->right + check->wrong, seconds);
    if (check->stacks_taken < check->stacks_due)
        text_add(line, " (no stacks of hangs: eu-stack may not look here)");
    if (selftest->skipped > 0)
        text_add(line, " (%zu left out: no case in Go is built)",
                 selftest->skipped);
}

/* Every program is needed: none is left out of the self-test. */
static void
prepare(struct check *check, struct subject *subject,
        const struct preparation *preparation)
{
    size_t count = check->manifest.program_count;
    bool *needed = need_memory(count, sizeof *needed);
    memset(needed, true, count * sizeof *needed);
    subject_prepare(subject, &check->manifest, needed, preparation);
    free(needed);
}

/* A Go that builds nothing is said of the run, where it is inconclusive. */
static void
leave_out_go(struct check *check, const struct subject *subject, bool *chosen)
{
    const struct manifest *manifest = &check->manifest;
    for (size_t i = 0; i < manifest->count; i++) {
        const struct unavailable *why =
            subject_unavailable(subject, manifest, &manifest->cases[i]);
        if (why == NULL)
            continue;
        if (check->go)
            text_add(&check->selftest->detail, "SKIP   %s\n", why->reason);
        check->go = false;
        chosen[i] = false;
    }
}

void
selftest_run(struct selftest *selftest, const struct options *options,
             const char *folder, const struct preparation *preparation,
             bool whole)
{
    struct check check = {.selftest = selftest};
    struct strings programs = {0};
    struct options own = *options;
    uint64_t start = now_ns();
    *selftest = (struct selftest){0};
    /* Even seed: SELF_FLAKY passes in the first round. */
    own.seed = 0;
    own.repeat = 1;
    own.strict = true;
    own.shuffle = false;
    own.effort = "normal";
    own.timeout_scale =
        options->timeout_scale < 1.0 ? 1.0 : options->timeout_scale;
    check.options = &own;
    check.go = preparation->go != NULL && preparation->go->missing == NULL;
    for (size_t i = 0; i < (check.go ? SELF_PROGRAMS : SELF_PROGRAMS - 1);
         i++) {
        char *path = part_path(self_programs[i]);
        strings_add(&programs, path);
        free(path);
    }
    manifest_read(&check.manifest, &programs);
    struct subject subject = {.label = "self"};
    bool *chosen = need_memory(check.manifest.count, sizeof *chosen);
    for (size_t i = 0; i < check.manifest.count; i++) {
        const struct self_row *row = find_row(check.manifest.cases[i].id);
        chosen[i] = whole || row == NULL || !row->slow;
    }
    prepare(&check, &subject, preparation);
    leave_out_go(&check, &subject, chosen);
    if (run_plan(&check, chosen, &subject, &own, folder, false)) {
        check_complete(&check);
        check_flaky(&check, &subject, &own, folder);
    }
    plan_free(&check.plan);
    free(chosen);
    say_line(&check, (double)(now_ns() - start) / 1e9);
}
