/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How each claim fared: the cases that need `claim:KEY` are its probes, and
 * their verdicts together are the answer.
 */
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum fate {
    FATE_SILENT,
    FATE_NOT_PROBED,
    FATE_OUT_OF_REACH,
    FATE_HELD,
    FATE_UNCLEAR,
    FATE_BROKEN
};

static const char *const fates[] = {"silent", "not probed",   "out of reach",
                                    "held",   "inconclusive", "broken"};

/* What one probe says; more weight has what stands later in enum fate. */
static enum fate
fate_of_item(const struct plan *plan, const struct item *item)
{
    if (item->done != plan->rounds)
        return FATE_NOT_PROBED;
    if (item->verdict == VERDICT_WAIVED || verdict_against(item->verdict))
        return FATE_BROKEN;
    if (verdict_unclear(item->verdict))
        return FATE_UNCLEAR;
    return item->verdict == VERDICT_PASS ? FATE_HELD : FATE_OUT_OF_REACH;
}

static enum fate
fate_of(const struct plan *plan, size_t subject, size_t key)
{
    enum fate fate = FATE_NOT_PROBED;
    if (claims_declared(plan->claims, key) == NULL)
        return FATE_SILENT;
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        if (item->subject != &plan->subjects[subject] ||
            !claims_probe(item->info, claim_keys[key].name))
            continue;
        enum fate one = fate_of_item(plan, item);
        fate = one > fate ? one : fate;
    }
    return fate;
}

/* The declared value in words: text as it is, the rest as JSON. */
static char *
declared_text(const struct plan *plan, size_t key)
{
    json_t *value = claims_declared(plan->claims, key);
    if (json_is_string(value))
        return need_copy(json_string_value(value));
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER);
    char *text = need_copy(dumped ? dumped : "?");
    free(dumped);
    return text;
}

/* "held", or, where the subjects differ, "held (a.so), broken (b.so)". */
static void
add_fates(const struct plan *plan, size_t key, struct text *text)
{
    enum fate first = fate_of(plan, 0, key);
    bool same = true;
    for (size_t i = 1; i < plan->subject_count; i++)
        same = same && (!plan->subjects[i].has_artifact ||
                        fate_of(plan, i, key) == first);
    if (same) {
        text_add(text, "%s", fates[first]);
        return;
    }
    for (size_t i = 0; i < plan->subject_count; i++) {
        if (plan->subjects[i].has_artifact)
            text_add(text, "%s%s (%s)", i == 0 ? "" : ", ",
                     fates[fate_of(plan, i, key)], plan->subjects[i].label);
    }
}

static bool
probed(const struct plan *plan, size_t key)
{
    for (size_t i = 0; i < plan->subject_count; i++) {
        if (fate_of(plan, i, key) != FATE_NOT_PROBED)
            return true;
    }
    return false;
}

static void
list_one(struct text *list, size_t key)
{
    text_add(list, "%s%s", list->len > 0 ? ", " : "", claim_keys[key].name);
}

static void
print_list(const char *what, struct text *list)
{
    if (list->len > 0)
        printf("          %s %s\n", what, text_get(list));
    text_free(list);
}

void
claims_console(const struct plan *plan)
{
    struct text silent = {0}, left_out = {0};
    printf("claims    %s\n", plan->claims->path ? plan->claims->path : "none");
    for (size_t key = 0; key < CLAIM_KEYS; key++) {
        if (claims_declared(plan->claims, key) == NULL) {
            list_one(&silent, key);
        } else if (!probed(plan, key)) {
            list_one(&left_out, key);
        } else {
            struct text fate = {0};
            char *declared = declared_text(plan, key);
            add_fates(plan, key, &fate);
            printf("          %-15s %s: %s\n", claim_keys[key].name, declared,
                   text_get(&fate));
            text_free(&fate);
            free(declared);
        }
    }
    print_list("not probed:", &left_out);
    print_list("silent about", &silent);
}

json_t *
claims_json(const struct plan *plan, size_t subject)
{
    json_t *object = json_object();
    for (size_t key = 0; key < CLAIM_KEYS; key++) {
        json_t *claim = json_object();
        json_t *declared = claims_declared(plan->claims, key);
        json_object_set_new(claim, "declared",
                            declared ? json_deep_copy(declared) : json_null());
        json_object_set_new(claim, "state",
                            json_string(fates[fate_of(plan, subject, key)]));
        json_object_set_new(object, claim_keys[key].name, claim);
    }
    return object;
}

void
claims_each(const struct plan *plan, size_t subject,
            void (*put)(FILE *file, const char *name, const char *value),
            FILE *file)
{
    for (size_t key = 0; key < CLAIM_KEYS; key++) {
        enum fate fate = fate_of(plan, subject, key);
        char *name = need_format("claim.%s", claim_keys[key].name);
        char *declared =
            fate == FATE_SILENT ? need_copy("") : declared_text(plan, key);
        char *value = need_format("%s%s%s", declared, declared[0] ? ": " : "",
                                  fates[fate]);
        put(file, name, value);
        free(value);
        free(declared);
        free(name);
    }
}
