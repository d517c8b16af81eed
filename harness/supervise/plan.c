/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "plan.h"

#include <fnmatch.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "clauses.h"
#include "exit_codes.h"

/* A glob on the id, or on the id without its transport, or a clause. */
static bool
matches(const char *pattern, const struct case_info *info)
{
    if (strings_have(&info->clauses, pattern) ||
        fnmatch(pattern, info->id, 0) == 0)
        return true;
    if (info->transport == NULL)
        return false;
    size_t len = strlen(info->id), cut = strlen(info->transport);
    if (len <= cut + 1 || strcmp(info->id + len - cut, info->transport) != 0)
        return false;
    char *bare = need_copy(info->id);
    bare[len - cut - 1] = '\0';
    bool same = fnmatch(pattern, bare, 0) == 0;
    free(bare);
    return same;
}

/* Sets chosen[i] to `value` for each match; quits when there is none. */
static void
mark(const struct manifest *manifest, const char *option, const char *pattern,
     bool value, bool *chosen)
{
    size_t found = 0;
    for (size_t i = 0; i < manifest->count; i++) {
        if (!matches(pattern, &manifest->cases[i]))
            continue;
        chosen[i] = value;
        found++;
    }
    if (found == 0)
        quit(EXIT_NOTHING_SELECTED, "%s %s selects no case%s", option, pattern,
             clause_find(pattern) ? ": the clause is in the contract, no case "
                                    "judges it yet"
                                  : " (gusset-conform list shows them)");
}

void
plan_select(const struct manifest *manifest, const struct options *options,
            bool *chosen)
{
    size_t left = 0;
    for (size_t i = 0; i < manifest->count; i++)
        chosen[i] = options->filters.count == 0;
    for (size_t i = 0; i < options->filters.count; i++)
        mark(manifest, "--filter", options->filters.items[i], true, chosen);
    for (size_t i = 0; i < options->excludes.count; i++)
        mark(manifest, "--exclude", options->excludes.items[i], false, chosen);
    for (size_t i = 0; i < manifest->count; i++)
        left += chosen[i];
    if (left == 0)
        quit(EXIT_NOTHING_SELECTED, "nothing is left after --exclude");
}

static void
hash_plan(struct plan *plan)
{
    struct text text = {0};
    unsigned char hash[crypto_hash_sha256_BYTES];
    text_add(&text, "rounds %u\nlevel %s\n", plan->rounds, plan->level);
    for (size_t i = 0; i < plan->subject_count; i++)
        text_add(&text, "subject %s\n", plan->subjects[i].artifact.sha256);
    for (size_t i = 0; i < plan->count; i++)
        text_add(&text, "case %s\n", plan->items[i].info->id);
    crypto_hash_sha256(hash, (const unsigned char *)text_get(&text), text.len);
    sodium_bin2hex(plan->hash, sizeof plan->hash, hash, sizeof hash);
    text_free(&text);
}

/* splitmix64: any seed gives a good sequence, also 0. */
static uint64_t
next_random(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static void
shuffle(size_t *order, size_t count, uint64_t *state)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(next_random(state) % i);
        size_t other = order[i - 1];
        order[i - 1] = order[j];
        order[j] = other;
    }
}

/* Appends the items whose tags under `mask` are `tags`. */
static size_t
append(const struct plan *plan, size_t at, unsigned mask, unsigned tags)
{
    for (size_t i = 0; i < plan->count; i++) {
        if ((plan->items[i].info->tags & mask) == tags)
            plan->order[at++] = i;
    }
    return at;
}

/*
 * Those that sleep start first: they cost no core, and the run ends sooner
 * when they are not the last to begin.
 */
static void
put_in_order(struct plan *plan, bool shuffled)
{
    uint64_t state = plan->seed;
    size_t at = 0;
    plan->order =
        need_memory(plan->count * (size_t)plan->rounds, sizeof(size_t));
    for (unsigned round = 0; round < plan->rounds; round++) {
        size_t from = at;
        at = append(plan, at, CASE_ALONE | CASE_SLEEPS, CASE_SLEEPS);
        at = append(plan, at, CASE_ALONE | CASE_SLEEPS, 0);
        if (shuffled)
            shuffle(plan->order + from, at - from, &state);
    }
    plan->together = at;
    for (unsigned round = 0; round < plan->rounds; round++) {
        size_t from = at;
        at = append(plan, at, CASE_ALONE, CASE_ALONE);
        if (shuffled)
            shuffle(plan->order + from, at - from, &state);
    }
}

static const struct waiver *
find_waiver(const struct waivers *waivers, const struct case_info *info)
{
    for (size_t i = 0; waivers != NULL && i < waivers->count; i++) {
        if (!waivers->items[i].expired &&
            matches(waivers->items[i].pattern, info))
            return &waivers->items[i];
    }
    return NULL;
}

void
plan_make(struct plan *plan, const struct manifest *manifest,
          const bool *chosen, struct subject *subjects, size_t subject_count,
          const struct options *options, const struct waivers *waivers)
{
    *plan = (struct plan){.manifest = manifest,
                          .subjects = subjects,
                          .subject_count = subject_count,
                          .rounds = options->repeat,
                          .seed = options->seed,
                          .timeout_scale = options->timeout_scale,
                          .level = options->level,
                          .waivers = waivers,
                          .complete_manifest = true};
    plan->items =
        need_memory(manifest->count * subject_count, sizeof *plan->items);
    for (size_t i = 0; i < subject_count; i++) {
        for (size_t j = 0; j < manifest->count; j++) {
            const struct case_info *info = &manifest->cases[j];
            if (!chosen[j]) {
                plan->complete_manifest = false;
                continue;
            }
            plan->items[plan->count++] =
                (struct item){.info = info,
                              .subject = &subjects[i],
                              .waiver = find_waiver(waivers, info),
                              .binds = options->strict ||
                                       clause_binds(info->clauses.items[0])};
        }
    }
    hash_plan(plan);
    put_in_order(plan, options->shuffle);
}

/* Over all rounds: one word when they agree or never pass, else FLAKY. */
static enum verdict
settle(const struct item *item)
{
    enum verdict verdict = item->shown.verdict;
    if (item->counts[verdict] != item->done && item->counts[VERDICT_PASS] > 0)
        return VERDICT_FLAKY;
    return verdict_against(verdict) && item->waiver ? VERDICT_WAIVED : verdict;
}

void
plan_book(struct plan *plan, struct item *item, struct result *result)
{
    bool keep = item->done == 0 || item->shown.verdict == VERDICT_PASS;
    item->counts[result->verdict]++;
    item->done++;
    item->seconds += result->seconds;
    if (keep) {
        result_free(&item->shown);
        item->shown = *result;
    } else {
        result_free(result);
    }
    *result = (struct result){0};
    if (item->done == plan->rounds)
        item->verdict = settle(item);
}

static bool
fits_a_case(const struct plan *plan, const struct waiver *waiver)
{
    for (size_t i = 0; i < plan->manifest->count; i++) {
        if (matches(waiver->pattern, &plan->manifest->cases[i]))
            return true;
    }
    return false;
}

/* True when cases of the waiver ran, and each of them passed. */
static bool
not_needed(const struct plan *plan, const struct waiver *waiver)
{
    size_t passed = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const struct item *item = &plan->items[i];
        if (item->waiver != waiver || item->done != plan->rounds)
            continue;
        if (item->verdict != VERDICT_PASS)
            return false;
        passed++;
    }
    return passed > 0;
}

void
plan_waiver_trouble(const struct plan *plan, struct text *trouble)
{
    for (size_t i = 0; plan->waivers != NULL && i < plan->waivers->count; i++) {
        const struct waiver *waiver = &plan->waivers->items[i];
        const char *what = NULL;
        if (waiver->expired)
            what = "has expired";
        else if (!fits_a_case(plan, waiver))
            what = "fits no case";
        else if (not_needed(plan, waiver))
            what = "is not needed any more, all its cases pass";
        if (what != NULL)
            text_add(trouble, "%s:%d: the waiver for %s (until %s) %s\n",
                     plan->waivers->path, waiver->line, waiver->pattern,
                     waiver->until, what);
    }
}

size_t
plan_missing(const struct plan *plan)
{
    size_t missing = 0;
    for (size_t i = 0; i < plan->count; i++)
        missing += plan->items[i].done != plan->rounds;
    return missing;
}

void
plan_free(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        result_free(&plan->items[i].shown);
    free(plan->items);
    free(plan->order);
    *plan = (struct plan){0};
}
