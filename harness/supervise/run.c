/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_codes.h"
#include "leftovers.h"
#include "parts.h"
#include "proofs.h"
#include "report/report.h"
#include "schedule.h"
#include "selftest.h"
#include "test_engine.h"
#include "waived.h"
#include "work.h"

/* The files to judge: those given, or both forms of the reference. */
static void
name_subjects(const struct options *options, struct strings *paths)
{
    static const char *const reference[] = {"lib/libgusset.a",
                                            "lib/libgusset.so"};
    for (size_t i = 0; i < options->impls.count; i++)
        strings_add(paths, options->impls.items[i]);
    for (int i = 0; i < 2 && options->impls.count == 0; i++) {
        char *path = part_path(reference[i]);
        if (access(path, R_OK) != 0)
            quit(EXIT_USAGE,
                 "the reference %s is not there: %s (make builds "
                 "it; --impl names another)",
                 path, strerror(errno));
        strings_add(paths, path);
        free(path);
    }
}

/* The reference speaks for itself, another implementation by --claims only. */
static void
read_claims(const struct options *options, struct claims *claims)
{
    char *beside = part_path("lib/libgusset.claims.json");
    const char *path = options->claims;
    if (path == NULL && options->impls.count == 0)
        path = beside;
    claims_read(claims, path);
    free(beside);
}

/* A file may be called anything; in a report its name stays in its line. */
static const char *
label_of(const char *name)
{
    struct text label = {0};
    text_add_clean(&label, name, strlen(name));
    char *whole = text_take(&label);
    for (char *at = whole; *at != '\0'; at++) {
        if (*at == '\n' || *at == '\t' || *at == '\r')
            *at = '?';
    }
    return whole;
}

static struct subject *
read_subjects(const struct strings *paths)
{
    struct subject *subjects = need_memory(paths->count + 1, sizeof *subjects);
    for (size_t i = 0; i < paths->count; i++) {
        subjects[i].has_artifact = true;
        artifact_read(&subjects[i].artifact, paths->items[i]);
        subjects[i].label = label_of(subjects[i].artifact.name);
    }
    for (size_t i = 0; i < paths->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(subjects[i].artifact.path, subjects[j].artifact.path) ==
                0)
                quit(EXIT_USAGE, "--impl %s is given twice", paths->items[i]);
            if (strcmp(subjects[i].label, subjects[j].label) != 0)
                continue;
            subjects[i].label = label_of(subjects[i].artifact.path);
            subjects[j].label = label_of(subjects[j].artifact.path);
        }
    }
    return subjects;
}

/*
 * The header is a subject of its own, judged once whatever the artifacts; an
 * artifact that no chosen case judges is none of the run. There is room for
 * one more subject. Returns how many there are now.
 */
static size_t
add_header(struct subject *subjects, size_t count,
           const struct manifest *manifest, const bool *chosen,
           const struct options *options)
{
    bool once = false, others = false;
    for (size_t i = 0; i < manifest->count; i++) {
        bool is_once = (manifest->cases[i].tags & CASE_ONCE) != 0;
        once = once || (chosen[i] && is_once);
        others = others || (chosen[i] && !is_once);
    }
    if (options->header != NULL && !once)
        quit(EXIT_NOTHING_SELECTED, "--header %s: no chosen case judges it",
             options->header);
    if (!others)
        count = 0;
    if (once)
        subject_header(&subjects[count++], options->header);
    return count;
}

/* Where the programs are kept that were made for one artifact. */
static char *
make_cache(const char *out)
{
    char *cache = need_format("%s/cache", out);
    if (mkdir(cache, 0777) != 0 && errno != EEXIST)
        quit(EXIT_USAGE, "--out %s: %s", out, strerror(errno));
    char *whole = realpath(cache, NULL);
    if (whole == NULL)
        quit(EXIT_USAGE, "--out %s: %s", out, strerror(errno));
    free(cache);
    return whole;
}

static void
link_subjects(struct subject *subjects, size_t count,
              const struct manifest *manifest, const bool *chosen,
              const struct preparation *preparation)
{
    bool *needed = need_memory(manifest->program_count, sizeof *needed);
    for (size_t i = 0; i < manifest->count; i++) {
        if (chosen[i])
            needed[manifest->cases[i].program - manifest->programs] = true;
    }
    for (size_t i = 0; i < count; i++)
        subject_prepare(&subjects[i], manifest, needed, preparation);
    free(needed);
}

/* True when a chosen case is written in Go. */
static bool
wants_go(const struct manifest *manifest, const bool *chosen)
{
    for (size_t i = 0; i < manifest->count; i++) {
        if (chosen[i] && manifest->cases[i].program->go)
            return true;
    }
    return false;
}

/* Quits when the supervisor's own verdicts cannot be trusted. */
static void
trust_ourselves(const struct options *options, const char *work,
                const struct preparation *preparation,
                struct selftest *selftest)
{
    if (options->no_self_test) {
        *selftest = (struct selftest){.passed = true};
        text_add(&selftest->line, "left out, by --no-self-test");
        return;
    }
    selftest_run(selftest, options, work, preparation, false);
    if (selftest->interrupted != 0) {
        rmdir(work);
        quit(EXIT_INCONCLUSIVE, "ended by %s during the self-test",
             signal_name(selftest->interrupted));
    }
    if (!selftest->passed) {
        fputs(text_get(&selftest->detail), stderr);
        rmdir(work);
        quit(EXIT_OUR_BUG, "harness self-test failed: %s; nothing was judged",
             text_get(&selftest->line));
    }
    if (options->format == FORMAT_PRETTY) {
        printf("self-test %s\n", text_get(&selftest->line));
        fflush(stdout);
    }
}

static void
seen(void *context, const struct item *item, const struct result *result)
{
    report_result(context, item, result);
}

static void
settled(void *context, const struct item *item)
{
    report_settled(context, item);
}

static void
tick(void *context, size_t running)
{
    report_tick(context, running);
}

/* Everything from the plan to the exit code. */
static int
judge_plan(struct plan *plan, const struct options *options, const char *work,
           const char *self_test)
{
    struct report report;
    struct summary summary;
    report_open(&report, plan, options, self_test);
    struct schedule schedule = {.plan = plan,
                                .jobs = options->jobs,
                                .folder = work,
                                .seen = seen,
                                .settled = settled,
                                .tick = tick,
                                .context = &report};
    schedule_run(&schedule);
    if (schedule.strays.len > 0) {
        complain("inconclusive: processes that no case owns up to:");
        fputs(text_get(&schedule.strays), stderr);
    }
    summary_make(&summary, plan,
                 report.lost || schedule.interrupted != 0 ||
                     schedule.strays.len > 0);
    report_files(&report, &summary);
    bool written = report_close(&report, &summary);
    int code = summary.exit_code;
    if (schedule.interrupted != 0) {
        complain("ended by %s: %zu of %zu cases have no verdict",
                 signal_name(schedule.interrupted), plan_missing(plan),
                 plan->count);
        code = EXIT_INCONCLUSIVE;
    }
    for (size_t i = 0; i < plan->subject_count; i++) {
        if (summary.changed[i])
            complain("%s changed while it was judged: nothing said of it "
                     "holds",
                     plan->subjects[i].artifact.path);
    }
    struct text trouble = {0};
    waived_troubles(plan, &trouble);
    if (trouble.len > 0) {
        fputs(text_get(&trouble), stderr);
        complain("waivers have to be put right");
        if (code == EXIT_CONFORMING)
            code = EXIT_WAIVER;
    }
    text_free(&trouble);
    if ((report.lost || !written) && code == EXIT_CONFORMING)
        code = EXIT_INCONCLUSIVE;
    if (options->no_self_test && code == EXIT_CONFORMING) {
        complain("inconclusive: without its self-test this run can refuse, "
                 "not certify");
        code = EXIT_INCONCLUSIVE;
    }
    summary_free(&summary);
    text_free(&schedule.strays);
    return code;
}

int
run_command(const struct options *options)
{
    struct strings paths = {0}, programs = {0};
    struct manifest manifest;
    struct selftest selftest;
    struct plan plan;
    struct waivers waivers = {0};
    struct claims claims;
    struct go_tool go;
    read_claims(options, &claims);
    if (options->waive != NULL)
        waivers_read(&waivers, options->waive);
    for (size_t i = 0; i < options->proofs.count; i++)
        proofs_read(options->proofs.items[i]);
    name_subjects(options, &paths);
    struct subject *subjects = read_subjects(&paths);
    test_engines_read(&options->test_engines, subjects, paths.count);
    part_programs(options, &programs);
    manifest_read(&manifest, &programs);
    bool *chosen = need_memory(manifest.count, sizeof *chosen);
    plan_select(&manifest, options, chosen);
    size_t count =
        add_header(subjects, paths.count, &manifest, chosen, options);
    report_folder(options->out);
    work_lock(options->out);
    leftovers_adopt();
    char *work = work_make(options->out);
    char *cache = make_cache(options->out);
    struct preparation preparation = {cache, NULL};
    if (wants_go(&manifest, chosen)) {
        go_tool_find(&go, options);
        preparation.go = &go;
    }
    trust_ourselves(options, work, &preparation, &selftest);
    link_subjects(subjects, count, &manifest, chosen, &preparation);
    plan_make(&plan, &manifest, chosen, subjects, count, options, &waivers,
              &claims);
    int code = judge_plan(&plan, options, work, text_get(&selftest.line));
    plan_free(&plan);
    work_remove(work);
    free(cache);
    free(chosen);
    return code;
}

/*
 * A proof of a case that is not there proves nothing any more. False when the
 * case programs are not there to be asked.
 */
static bool
check_proofs(const struct options *options, struct selftest *selftest)
{
    struct strings programs = {0};
    struct manifest manifest;
    struct text unknown = {0};
    part_programs(options, &programs);
    for (size_t i = 0; i < programs.count; i++) {
        if (access(programs.items[i], X_OK) == 0)
            continue;
        text_add(&selftest->detail, "SKIP   table of kills: %s: %s\n",
                 programs.items[i], strerror(errno));
        return false;
    }
    manifest_read(&manifest, &programs);
    size_t count = proofs_unknown(&manifest, &unknown);
    if (count == 0)
        text_add(&selftest->detail,
                 "right  table of kills: every case in it exists\n");
    else
        text_add(&selftest->detail,
                 "WRONG  docs/data/kills.tsv proves %zu case%s that no "
                 "program has:\n%s",
                 count, count == 1 ? "" : "s", text_get(&unknown));
    selftest->right += count == 0;
    selftest->wrong += count != 0;
    selftest->passed = selftest->passed && count == 0;
    text_free(&unknown);
    return true;
}

int
self_command(const struct options *options)
{
    struct selftest selftest;
    report_folder(options->out);
    work_lock(options->out);
    leftovers_adopt();
    char *work = work_make(options->out);
    char *cache = make_cache(options->out);
    struct go_tool go;
    go_tool_find(&go, options);
    struct preparation preparation = {cache, &go};
    selftest_run(&selftest, options, work, &preparation, true);
    work_remove(work);
    free(cache);
    bool looked = selftest.interrupted == 0 && check_proofs(options, &selftest);
    fputs(text_get(&selftest.detail), stdout);
    printf("self-test %s\n%zu passed, %zu failed, %zu skipped\n",
           text_get(&selftest.line), selftest.right, selftest.wrong,
           selftest.skipped + !looked);
    if (fflush(stdout) != 0)
        quit(EXIT_INCONCLUSIVE, "cannot write standard output: %s",
             strerror(errno));
    if (selftest.interrupted != 0)
        quit(EXIT_INCONCLUSIVE, "ended by %s",
             signal_name(selftest.interrupted));
    if (!selftest.passed)
        quit(EXIT_OUR_BUG, "harness self-test failed");
    return EXIT_CONFORMING;
}
