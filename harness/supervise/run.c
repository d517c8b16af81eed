/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit_codes.h"
#include "leftovers.h"
#include "parts.h"
#include "report/report.h"
#include "schedule.h"
#include "selftest.h"

/* Two runs that write the same reports would mix them. */
static void
lock_folder(const char *folder)
{
    char *path = need_format("%s/.lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        quit(EXIT_USAGE, "--out %s: another run writes its reports there",
             folder);
    free(path);
}

/* The folder of the pages: gone again when the run is over. */
static char *
make_work(const char *folder)
{
    char *path = need_format("%s/work-%ld", folder, (long)getpid());
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    char *whole = realpath(path, NULL);
    if (whole == NULL)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    free(path);
    return whole;
}

static void
remove_work(char *folder)
{
    rmdir(folder);
    free(folder);
}

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
    struct subject *subjects = need_memory(paths->count, sizeof *subjects);
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

static void
link_subjects(struct subject *subjects, size_t count,
              const struct manifest *manifest, const bool *chosen,
              const char *out)
{
    char *cache = need_format("%s/cache", out);
    bool *needed = need_memory(manifest->program_count, sizeof *needed);
    if (mkdir(cache, 0777) != 0 && errno != EEXIST)
        quit(EXIT_USAGE, "--out %s: %s", out, strerror(errno));
    char *whole = realpath(cache, NULL);
    if (whole == NULL)
        quit(EXIT_USAGE, "--out %s: %s", out, strerror(errno));
    for (size_t i = 0; i < manifest->count; i++) {
        if (chosen[i])
            needed[manifest->cases[i].program - manifest->programs] = true;
    }
    for (size_t i = 0; i < count; i++)
        subject_prepare(&subjects[i], manifest, needed, whole);
    free(needed);
    free(cache);
    free(whole);
}

/* Quits when the supervisor's own verdicts cannot be trusted. */
static void
trust_ourselves(const struct options *options, const char *work,
                struct selftest *selftest)
{
    selftest_run(selftest, options, work, false);
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
    plan_waiver_trouble(plan, &trouble);
    if (trouble.len > 0) {
        fputs(text_get(&trouble), stderr);
        complain("waivers have to be put right");
        if (code == EXIT_CONFORMING)
            code = EXIT_WAIVER;
    }
    text_free(&trouble);
    if ((report.lost || !written) && code == EXIT_CONFORMING)
        code = EXIT_INCONCLUSIVE;
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
    if (options->waive != NULL)
        waivers_read(&waivers, options->waive);
    name_subjects(options, &paths);
    struct subject *subjects = read_subjects(&paths);
    part_programs(options, &programs);
    manifest_read(&manifest, &programs);
    bool *chosen = need_memory(manifest.count, sizeof *chosen);
    plan_select(&manifest, options, chosen);
    report_folder(options->out);
    lock_folder(options->out);
    leftovers_adopt();
    char *work = make_work(options->out);
    trust_ourselves(options, work, &selftest);
    link_subjects(subjects, paths.count, &manifest, chosen, options->out);
    plan_make(&plan, &manifest, chosen, subjects, paths.count, options,
              &waivers);
    int code = judge_plan(&plan, options, work, text_get(&selftest.line));
    plan_free(&plan);
    remove_work(work);
    free(chosen);
    return code;
}

int
self_command(const struct options *options)
{
    struct selftest selftest;
    report_folder(options->out);
    lock_folder(options->out);
    leftovers_adopt();
    char *work = make_work(options->out);
    selftest_run(&selftest, options, work, true);
    remove_work(work);
    fputs(text_get(&selftest.detail), stdout);
    printf("self-test %s\n%zu passed, %zu failed, 0 skipped\n",
           text_get(&selftest.line), selftest.right, selftest.wrong);
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
