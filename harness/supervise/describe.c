/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clauses.h"
#include "exit_codes.h"
#include "parts.h"
#include "plan.h"

static void
read_all(const struct options *options, struct manifest *manifest)
{
    struct strings programs = {0};
    part_programs(options, &programs);
    manifest_read(manifest, &programs);
}

static int
done(void)
{
    bool wrong = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || wrong)
        quit(EXIT_INCONCLUSIVE, "cannot write standard output: %s",
             strerror(errno));
    return EXIT_CONFORMING;
}

static const char *
level_of(const struct case_info *info)
{
    const struct clause *clause = clause_find(info->clauses.items[0]);
    return clause ? clause->level : "unknown clause";
}

/* The case program's own line, and what only we know. */
static void
list_json(const struct case_info *info)
{
    json_t *copy = json_copy(info->declared);
    json_object_set_new(copy, "program", json_string(info->program->name));
    json_object_set_new(copy, "level", json_string(level_of(info)));
    char *line = json_dumps(copy, JSON_COMPACT | JSON_PRESERVE_ORDER);
    puts(line ? line : "{}");
    free(line);
    json_decref(copy);
}

static void
list_tap(const struct case_info *info, size_t number)
{
    printf("ok %zu - %s # SKIP listed only\n", number, info->id);
}

int
list_command(const struct options *options)
{
    struct manifest manifest;
    size_t count = 0;
    read_all(options, &manifest);
    bool *chosen = need_memory(manifest.count, sizeof *chosen);
    plan_select(&manifest, options, chosen);
    for (size_t i = 0; i < manifest.count; i++)
        count += chosen[i];
    if (options->format == FORMAT_TAP)
        printf("TAP version 13\n1..%zu\n", count);
    size_t number = 0;
    for (size_t i = 0; i < manifest.count; i++) {
        const struct case_info *info = &manifest.cases[i];
        struct text clauses = {0};
        if (!chosen[i])
            continue;
        number++;
        strings_join(&info->clauses, " ", &clauses);
        if (options->format == FORMAT_JSONL)
            list_json(info);
        else if (options->format == FORMAT_TAP)
            list_tap(info, number);
        else
            printf("%-48s %-8s %s\n", info->id, level_of(info),
                   text_get(&clauses));
        text_free(&clauses);
    }
    if (options->format == FORMAT_PRETTY)
        printf("%zu case%s\n", count, count == 1 ? "" : "s");
    free(chosen);
    return done();
}

static void
line(const char *label, const char *value)
{
    if (value != NULL)
        printf("  %-9s %s\n", label, value);
}

static void
explain_clause(const char *id)
{
    const struct clause *clause = clause_find(id);
    if (clause == NULL)
        printf("  %-9s %s: not in the contract\n", "clause", id);
    else
        printf("  %-9s %s (%s): %s\n", "clause", clause->id, clause->level,
               clause->text);
}

static void
explain_case(const struct options *options, const struct case_info *info)
{
    struct text rerun = {0}, words = {0}, place = {0};
    puts(info->id);
    for (size_t i = 0; i < info->clauses.count; i++)
        explain_clause(info->clauses.items[i]);
    line("why", info->why);
    line("steps", info->steps);
    line("expected", info->expected);
    line("mutant", info->mutant ? info->mutant : "none yet");
    if (info->needs.count > 0) {
        strings_join(&info->needs, ", ", &words);
        line("needs", text_get(&words));
    }
    line("transport", info->transport);
    if (info->dies_by != 0)
        printf("  %-9s by %s after the marker %s\n", "dies",
               signal_name(info->dies_by),
               info->marker ? info->marker : "(none)");
    printf("  %-9s %.1f s\n", "patience", info->timeout_ms / 1000.0);
    printf("  %-9s %s", "program", info->program->path);
    case_place(info, &place);
    if (place.len > 0)
        printf(" (%s)", text_get(&place));
    putchar('\n');
    text_add_shell(&rerun, options->invoked_as);
    text_add(&rerun, " run --filter ");
    text_add_shell(&rerun, info->id);
    line("rerun", text_get(&rerun));
    text_free(&rerun);
    text_free(&words);
    text_free(&place);
}

/* A clause: its text and the cases that judge it. */
static bool
explain_as_clause(const struct manifest *manifest, const char *id)
{
    const struct clause *clause = clause_find(id);
    if (clause == NULL)
        return false;
    size_t count = 0;
    printf("%s (%s)\n  %s\n", clause->id, clause->level, clause->text);
    for (size_t i = 0; i < manifest->count; i++) {
        const struct case_info *info = &manifest->cases[i];
        if (!strings_have(&info->clauses, id))
            continue;
        printf("  %-9s %s\n", count++ == 0 ? "cases" : "", info->id);
    }
    if (count == 0)
        line("cases", "none yet");
    return true;
}

int
explain_command(const struct options *options)
{
    struct manifest manifest;
    read_all(options, &manifest);
    for (size_t i = 0; i < options->subjects.count; i++) {
        const char *id = options->subjects.items[i];
        const struct case_info *info = manifest_find(&manifest, id);
        if (info != NULL) {
            explain_case(options, info);
            continue;
        }
        if (explain_as_clause(&manifest, id))
            continue;
        struct options narrowed = *options;
        bool *chosen = need_memory(manifest.count, sizeof *chosen);
        narrowed.filters = (struct strings){0};
        narrowed.excludes = (struct strings){0};
        strings_add(&narrowed.filters, id);
        plan_select(&manifest, &narrowed, chosen);
        for (size_t j = 0; j < manifest.count; j++) {
            if (chosen[j])
                explain_case(options, &manifest.cases[j]);
        }
        free(chosen);
    }
    return done();
}
