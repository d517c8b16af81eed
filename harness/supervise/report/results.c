/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "../clauses.h"
#include "../reach.h"
#include "../waived.h"
#include "report.h"

static void
set_text(json_t *object, const char *key, const char *value)
{
    if (value == NULL)
        return;
    struct text clean = {0};
    text_add_clean(&clean, value, strlen(value));
    json_object_set_new(object, key, json_string(text_get(&clean)));
    text_free(&clean);
}

static json_t *
list_json(const struct strings *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(array, json_string(list->items[i]));
    return array;
}

static json_t *
lines_json(const char *lines)
{
    json_t *array = json_array();
    for (const char *at = lines; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        json_array_append_new(array, json_stringn(at, len));
        at += len + (at[len] == '\n');
    }
    return array;
}

/* "KEY\tVALUE" lines as members; the last of a key counts. */
static json_t *
evidence_json(const char *evidence)
{
    json_t *object = json_object();
    for (const char *at = evidence; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        size_t key = strcspn(at, "\t");
        if (key < len) {
            char *name = need_format("%.*s", (int)key, at);
            json_object_set_new(object, name,
                                json_stringn(at + key + 1, len - key - 1));
            free(name);
        }
        at += len + (at[len] == '\n');
    }
    return object;
}

json_t *
results_subject(const struct subject *subject)
{
    const struct artifact *artifact = &subject->artifact;
    json_t *object = json_object();
    set_text(object, "name", subject->label);
    if (subject->header != NULL) {
        set_text(object, "path", subject->header);
        set_text(object, "sha256", subject->header_sha256);
    }
    if (!subject->has_artifact)
        return object;
    set_text(object, "path", artifact->path);
    set_text(object, "kind", artifact_kind_word(artifact));
    set_text(object, "sha256", artifact->sha256);
    json_object_set_new(object, "bytes",
                        json_integer((json_int_t)artifact->bytes));
    set_text(object, "build_id", artifact->build_id);
    set_text(object, "machine", artifact->machine);
    set_text(object, "libc", artifact->libc);
    if (subject->test_engine != NULL) {
        set_text(object, "test_engine", subject->test_engine->path);
        set_text(object, "test_engine_sha256", subject->test_engine->sha256);
    }
    json_object_set_new(object, "exports", list_json(&artifact->exports));
    json_object_set_new(object, "missing_exports",
                        list_json(&artifact->missing));
    json_object_set_new(object, "stray_exports", list_json(&artifact->strays));
    set_text(object, "link", subject->link_line);
    if (subject->go != NULL) {
        set_text(object, "go", subject->go->version);
        set_text(object, "go_package", subject->go->package);
        set_text(object, "go_package_sha256", subject->go->sha256);
        set_text(object, "go_build", subject->go_line);
    }
    return object;
}

static void
set_check(json_t *object, const struct result *result)
{
    if (result->file == NULL)
        return;
    json_t *check = json_object();
    set_text(check, "message", result->message);
    set_text(check, "expression", result->expression);
    set_text(check, "expected", result->expected);
    set_text(check, "actual", result->actual);
    set_text(check, "file", result->file);
    json_object_set_new(check, "line", json_integer(result->line));
    json_object_set_new(object, "check", check);
}

json_t *
results_case(const struct plan *plan, const struct options *options,
             const struct item *item, const struct result *result)
{
    json_t *object = json_object();
    struct text rerun = {0};
    set_text(object, "id", item->info->id);
    set_text(object, "subject", item->subject->label);
    set_text(object, "verdict", verdict_word(result->verdict));
    set_text(object, "reason", result->reason);
    json_object_set_new(object, "clauses", list_json(&item->info->clauses));
    json_object_set_new(object, "binds", json_boolean(item->binds));
    json_object_set_new(object, "proven", json_boolean(item->proven));
    const struct waiver *waiver = waivers_find(
        plan->waivers, item->info->clauses.items[0], result->verdict);
    if (waiver != NULL) {
        set_text(object, "waived_until", waiver->expires);
        set_text(object, "waived_by", waiver->owner);
        set_text(object, "waived_because", waiver->reason);
        set_text(object, "waived_link", waiver->link);
    }
    set_check(object, result);
    json_object_set_new(object, "seed", json_integer((json_int_t)result->seed));
    json_object_set_new(object, "round", json_integer(result->round));
    json_object_set_new(object, "seconds", json_real(result->seconds));
    json_object_set_new(object, "checks",
                        json_integer((json_int_t)result->checks));
    set_text(object, "ended", result->ending);
    set_text(object, "marker", result->marker);
    if (result->evidence != NULL)
        json_object_set_new(object, "evidence",
                            evidence_json(result->evidence));
    if (result->differences != NULL && result->differences[0] != '\0')
        json_object_set_new(object, "differences",
                            lines_json(result->differences));
    if (result->output_bytes > 0)
        json_object_set_new(object, "output_bytes",
                            json_integer((json_int_t)result->output_bytes));
    if (result->verdict == VERDICT_PASS)
        return object;
    set_text(object, "output", result->output);
    set_text(object, "stacks", result->stacks);
    console_rerun(plan, options, item, result, &rerun);
    set_text(object, "rerun", text_get(&rerun));
    text_free(&rerun);
    return object;
}

static json_t *
counts_json(const struct tally *tally)
{
    json_t *object = json_object();
    for (int i = 0; i < VERDICT_COUNT; i++)
        json_object_set_new(object, verdict_word((enum verdict)i),
                            json_integer((json_int_t)tally->verdicts[i]));
    json_object_set_new(
        object, "not_run",
        json_integer((json_int_t)tally->standings[STANDING_NOT_RUN]));
    return object;
}

/* How far the level was reached; everything that was not, by name. */
static json_t *
level_json(const struct plan *plan, const struct subject *subject)
{
    json_t *object = json_object();
    json_t *missed = json_array();
    struct reach reach;
    reach_make(&reach, plan, subject);
    set_text(object, "name", level_word(plan->level));
    set_text(object, "bar", reach_bar(plan->level));
    json_object_set_new(object, "required",
                        json_integer((json_int_t)reach.required));
    json_object_set_new(object, "judged",
                        json_integer((json_int_t)reach.judged));
    for (size_t i = 0; i < reach.count; i++) {
        const struct reach_clause *at = &reach.clauses[i];
        json_t *one = json_object();
        if (at->state == REACH_JUDGED) {
            json_decref(one);
            continue;
        }
        set_text(one, "clause", at->clause->id);
        set_text(one, "demand", at->clause->level);
        set_text(one, "state", reach_word(at->state));
        set_text(one, "needs", at->need);
        json_array_append_new(missed, one);
    }
    json_object_set_new(object, "not_judged", missed);
    reach_free(&reach);
    return object;
}

static json_t *
waivers_json(const struct plan *plan)
{
    size_t count = plan->waivers ? plan->waivers->count : 0;
    json_t *object = json_object();
    json_t *items = json_array();
    set_text(object, "file", plan->waivers ? plan->waivers->path : NULL);
    json_object_set_new(object, "count", json_integer((json_int_t)count));
    json_object_set_new(object, "results_waived",
                        json_integer((json_int_t)waived_results(plan, NULL)));
    for (size_t i = 0; i < count; i++) {
        const struct waiver *waiver = &plan->waivers->items[i];
        char *trouble = waived_trouble(plan, waiver);
        json_t *one = json_object();
        set_text(one, "clause", waiver->clause);
        set_text(one, "kind", verdict_word(waiver->kind));
        set_text(one, "owner", waiver->owner);
        set_text(one, "reason", waiver->reason);
        set_text(one, "link", waiver->link);
        set_text(one, "expires", waiver->expires);
        json_object_set_new(
            one, "results_waived",
            json_integer((json_int_t)waived_results(plan, waiver)));
        set_text(one, "trouble", trouble);
        json_array_append_new(items, one);
        free(trouble);
    }
    json_object_set_new(object, "items", items);
    return object;
}

static json_t *
item_json(const struct report *report, const struct item *item)
{
    const struct plan *plan = report->plan;
    json_t *object = results_case(plan, report->options, item, &item->shown);
    if (item->done == plan->rounds)
        set_text(object, "verdict", verdict_word(item->verdict));
    else
        set_text(object, "verdict", "NOT-RUN");
    if (plan->rounds == 1)
        return object;
    json_t *rounds = json_object();
    for (int i = 0; i < VERDICT_COUNT; i++) {
        if (item->counts[i] > 0)
            json_object_set_new(rounds, verdict_word((enum verdict)i),
                                json_integer(item->counts[i]));
    }
    json_object_set_new(object, "rounds", rounds);
    return object;
}

void
results_write(FILE *file, const struct report *report,
              const struct summary *summary)
{
    const struct plan *plan = report->plan;
    json_t *root = json_object();
    json_t *subjects = json_array();
    json_t *cases = json_array();
    json_object_set_new(root, "format", json_integer(1));
    set_text(root, "version", CONFORM_VERSION);
    json_object_set_new(root, "exit_code", json_integer(summary->exit_code));
    set_text(root, "self_test", report->self_test);
    set_text(root, "plan", plan->hash);
    json_object_set_new(root, "whole_manifest",
                        json_boolean(plan->complete_manifest));
    json_object_set_new(root, "seed", json_integer((json_int_t)plan->seed));
    set_text(root, "level", level_word(plan->level));
    set_text(root, "effort", plan->effort);
    json_object_set_new(root, "rounds", json_integer(plan->rounds));
    json_object_set_new(root, "timeout_scale", json_real(plan->timeout_scale));
    set_text(root, "claims_file", plan->claims->path);
    if (plan->claims->path != NULL)
        set_text(root, "claims_sha256", plan->claims->sha256);
    json_object_set_new(root, "strict", json_boolean(report->options->strict));
    for (size_t i = 0; i < plan->subject_count; i++) {
        json_t *subject = results_subject(&plan->subjects[i]);
        set_text(subject, "verdict", summary_word(summary, plan, i));
        json_object_set_new(subject, "counts",
                            counts_json(&summary->subjects[i]));
        if (plan->subjects[i].has_artifact) {
            json_object_set_new(subject, "claims", claims_json(plan, i));
            json_object_set_new(subject, "level",
                                level_json(plan, &plan->subjects[i]));
        }
        json_array_append_new(subjects, subject);
    }
    for (size_t i = 0; i < plan->count; i++)
        json_array_append_new(cases, item_json(report, &plan->items[i]));
    json_object_set_new(root, "waivers", waivers_json(plan));
    json_object_set_new(root, "subjects", subjects);
    json_object_set_new(root, "cases", cases);
    json_dumpf(root, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    fputc('\n', file);
    json_decref(root);
}
