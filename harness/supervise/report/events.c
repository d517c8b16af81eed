/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"

/* One whole line in one write: a reader never meets half of one. */
static void
emit(struct report *report, json_t *event)
{
    char *line = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (line != NULL) {
        struct text whole = {0};
        text_add(&whole, "%s\n", line);
        fwrite(whole.bytes, 1, whole.len, report->events);
        fflush(report->events);
        if (report->options->format == FORMAT_JSONL) {
            fwrite(whole.bytes, 1, whole.len, stdout);
            fflush(stdout);
        }
        text_free(&whole);
    }
    free(line);
    json_decref(event);
}

static json_t *
event_new(const char *name)
{
    char when[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *event = json_object();
    json_object_set_new(event, "event", json_string(name));
    json_object_set_new(event, "time", json_string(when));
    return event;
}

void
events_open(struct report *report)
{
    const struct plan *plan = report->plan;
    json_t *event = event_new("plan");
    json_t *subjects = json_array();
    for (size_t i = 0; i < plan->subject_count; i++)
        json_array_append_new(subjects, results_subject(&plan->subjects[i]));
    json_object_set_new(event, "version", json_string(CONFORM_VERSION));
    json_object_set_new(event, "plan", json_string(plan->hash));
    json_object_set_new(event, "results",
                        json_integer((json_int_t)(plan->count * plan->rounds)));
    json_object_set_new(event, "seed", json_integer((json_int_t)plan->seed));
    json_object_set_new(event, "level", json_string(level_word(plan->level)));
    json_object_set_new(event, "effort", json_string(plan->effort));
    json_object_set_new(event, "rounds", json_integer(plan->rounds));
    json_object_set_new(event, "self_test", json_string(report->self_test));
    json_object_set_new(event, "subjects", subjects);
    emit(report, event);
}

void
events_result(struct report *report, const struct item *item,
              const struct result *result)
{
    json_t *event = event_new("result");
    json_t *found = results_case(report->plan, report->options, item, result);
    json_object_update(event, found);
    json_decref(found);
    emit(report, event);
}

void
events_close(struct report *report, const struct summary *summary)
{
    const struct plan *plan = report->plan;
    json_t *event = event_new("end");
    json_t *verdicts = json_object();
    for (size_t i = 0; i < plan->subject_count; i++) {
        struct text label = {0};
        text_add_clean(&label, plan->subjects[i].label,
                       strlen(plan->subjects[i].label));
        json_object_set_new(verdicts, text_get(&label),
                            json_string(summary_word(summary, plan, i)));
        text_free(&label);
    }
    json_object_set_new(event, "exit_code", json_integer(summary->exit_code));
    json_object_set_new(event, "subjects", verdicts);
    emit(report, event);
}
