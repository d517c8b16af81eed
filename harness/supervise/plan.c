/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "plan.h"

#include <fnmatch.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "clauses.h"
#include "exit_codes.h"
#include "proofs.h"
#include "same_file.h"

/* A glob on the id, or on the id without its transport, or a clause. */
static bool
matches(const char *pattern, const struct case_info *info)
{
    if (strings_have(&info->clauses, pattern) ||
        fnmatch(pattern, info->id, 0) == 0)
        return true;
    char *bare = need_copy(info->id);
    bare[case_base(info)] = '\0';
    bool same = fnmatch(pattern, bare, 0) == 0;
    free(bare);
    return same;
}

/*
 * Sets chosen[i] to `value` for each match that the level runs; quits when
 * there is none.
 */
static void
mark(const struct manifest *manifest, enum level level, const char *option,
     const char *pattern, bool value, bool *chosen)
{
    size_t found = 0, beyond = 0;
    for (size_t i = 0; i < manifest->count; i++) {
        if (!matches(pattern, &manifest->cases[i]))
            continue;
        if (!level_runs(level, &manifest->cases[i])) {
            beyond++;
            continue;
        }
        chosen[i] = value;
        found++;
    }
    if (found == 0 && beyond > 0)
        quit(EXIT_NOTHING_SELECTED,
             "%s %s selects only what level %s leaves "
             "out",
             option, pattern, level_word(level));
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
    enum level level = options->level;
    for (size_t i = 0; i < manifest->count; i++)
        chosen[i] = options->filters.count == 0 &&
                    level_runs(level, &manifest->cases[i]);
    for (size_t i = 0; i < options->filters.count; i++)
        mark(manifest, level, "--filter", options->filters.items[i], true,
             chosen);
    for (size_t i = 0; i < options->excludes.count; i++)
        mark(manifest, level, "--exclude", options->excludes.items[i], false,
             chosen);
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
    text_add(&text, "rounds %u\neffort %s\nlevel %s\n", plan->rounds,
             plan->effort, level_word(plan->level));
    for (size_t i = 0; i < plan->subject_count; i++)
        text_add(&text, "subject %s\n",
                 plan->subjects[i].is_header
                     ? plan->subjects[i].header_sha256
                     : plan->subjects[i].artifact.sha256);
    for (size_t i = 0; i < plan->subject_count; i++) {
        if (plan->subjects[i].test_engine != NULL)
            text_add(&text, "test-engine %s\n",
                     plan->subjects[i].test_engine->sha256);
        if (plan->subjects[i].go != NULL)
            text_add(&text, "%s package %s\n", plan->subjects[i].go->version,
                     plan->subjects[i].go->sha256);
    }
    if (plan->claims->path != NULL)
        text_add(&text, "claims %s\n", plan->claims->sha256);
    for (size_t i = 0; i < plan->count; i++)
        text_add(&text, "case %s\n", plan->items[i].info->id);
    crypto_hash_sha256(hash, (const unsigned char *)text_get(&text), text.len);
    sodium_bin2hex(plan->hash, sizeof plan->hash, hash, sizeof hash);
    text_free(&text);
}

/*
 * A nightly case repeats itself up to a hundred times as often, and all that
 * is most of its time; the patience inside the case is the same.
 */
static double
hang_scale(const struct options *options)
{
    bool nightly = strcmp(options->effort, "nightly") == 0;
    return options->timeout_scale * (nightly ? NIGHTLY_HANG_SCALE : 1);
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

/* The parts of a round, in their order. */
enum turn { TURN_SLEEPS, TURN_WORKS, TURN_ALONE, TURN_LAST };

static enum turn
turn_of(const struct case_info *info)
{
    if (same_file_case(info))
        return TURN_LAST;
    if (info->tags & CASE_ALONE)
        return TURN_ALONE;
    return info->tags & CASE_SLEEPS ? TURN_SLEEPS : TURN_WORKS;
}

static size_t
append(const struct plan *plan, size_t at, enum turn turn)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (turn_of(plan->items[i].info) == turn)
            plan->order[at++] = i;
    }
    return at;
}

/*
 * Those that sleep start first: they cost no core, and the run ends sooner
 * when they are not the last to begin. What asks whether the artifact is still
 * the same file comes when all others are through.
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
        at = append(plan, at, TURN_SLEEPS);
        at = append(plan, at, TURN_WORKS);
        if (shuffled)
            shuffle(plan->order + from, at - from, &state);
    }
    plan->together = at;
    for (unsigned round = 0; round < plan->rounds; round++) {
        size_t from = at;
        at = append(plan, at, TURN_ALONE);
        if (shuffled)
            shuffle(plan->order + from, at - from, &state);
        at = append(plan, at, TURN_LAST);
    }
}

void
plan_make(struct plan *plan, const struct manifest *manifest,
          const bool *chosen, struct subject *subjects, size_t subject_count,
          const struct options *options, const struct waivers *waivers,
          const struct claims *claims)
{
    static const struct claims silent;
    *plan = (struct plan){.manifest = manifest,
                          .subjects = subjects,
                          .subject_count = subject_count,
                          .rounds = options->repeat,
                          .seed = options->seed,
                          .timeout_scale = options->timeout_scale,
                          .hang_scale = hang_scale(options),
                          .level = options->level,
                          .effort = options->effort,
                          .waivers = waivers,
                          .claims = claims != NULL ? claims : &silent,
                          .complete_manifest = true,
                          .filtered = options->filters.count > 0 ||
                                      options->excludes.count > 0};
    plan->items =
        need_memory(manifest->count * subject_count, sizeof *plan->items);
    for (size_t i = 0; i < subject_count; i++) {
        for (size_t j = 0; j < manifest->count; j++) {
            const struct case_info *info = &manifest->cases[j];
            if (!chosen[j]) {
                plan->complete_manifest = false;
                continue;
            }
            plan->cases += i == 0;
            if (subjects[i].is_header != ((info->tags & CASE_ONCE) != 0))
                continue;
            plan->items[plan->count++] = (struct item){
                .info = info,
                .subject = &subjects[i],
                .proven = proofs_have(info),
                .binds = options->strict || claims_probe(info, NULL) ||
                         clause_binds(info->clauses.items[0])};
        }
    }
    hash_plan(plan);
    put_in_order(plan, options->shuffle);
}

/* The waiver for a verdict of the item, or NULL. */
static const struct waiver *
waiver_of(const struct plan *plan, const struct item *item,
          enum verdict verdict)
{
    return waivers_find(plan->waivers, item->info->clauses.items[0], verdict);
}

/* Over all rounds: one word when they agree or never pass, else FLAKY. */
static enum verdict
settle(const struct plan *plan, struct item *item)
{
    enum verdict verdict = item->shown.verdict;
    if (item->counts[verdict] != item->done && item->counts[VERDICT_PASS] > 0)
        return VERDICT_FLAKY;
    if (!verdict_against(verdict))
        return verdict;
    item->waiver = waiver_of(plan, item, verdict);
    return item->waiver ? VERDICT_WAIVED : verdict;
}

/* How much a result has to say beside others of the same item. */
static int
weight(const struct plan *plan, const struct item *item, enum verdict verdict)
{
    if (verdict == VERDICT_PASS)
        return 0;
    return verdict_against(verdict) && waiver_of(plan, item, verdict) == NULL
               ? 2
               : 1;
}

void
plan_book(struct plan *plan, struct item *item, struct result *result)
{
    bool keep = item->done == 0 || item->shown.verdict == VERDICT_PASS ||
                weight(plan, item, result->verdict) >
                    weight(plan, item, item->shown.verdict);
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
        item->verdict = settle(plan, item);
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
