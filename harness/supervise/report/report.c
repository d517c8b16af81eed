/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../exit_codes.h"

static void
lose(struct report *report, const char *what, int error)
{
    if (!report->lost)
        complain("the report is incomplete: cannot write %s: %s", what,
                 strerror(error));
    report->lost = true;
}

/* The first folder that is not there and cannot be made tells why. */
static void
make_folder(const char *folder, const char *part)
{
    struct stat st;
    if (mkdir(part, 0777) == 0)
        return;
    int error = errno;
    if (stat(part, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return;
        error = ENOTDIR;
    }
    if (strcmp(folder, part) == 0)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(error));
    quit(EXIT_USAGE, "--out %s: cannot make %s: %s", folder, part,
         strerror(error));
}

void
report_folder(const char *folder)
{
    char *path = need_copy(folder);
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        make_folder(folder, path);
        *at = '/';
    }
    make_folder(folder, path);
    free(path);
    char *probe = need_format("%s/.writable-%ld", folder, (long)getpid());
    int fd = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        quit(EXIT_USAGE, "--out %s: %s", folder, strerror(errno));
    close(fd);
    unlink(probe);
    free(probe);
}

/* Old reports beside a run that has not ended would speak for it. */
static void
remove_old(const char *folder)
{
    static const char *const names[] = {"events.jsonl", "results.json",
                                        "junit.xml", "results.tap"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = need_format("%s/%s", folder, names[i]);
        unlink(path);
        free(path);
    }
}

void
report_open(struct report *report, const struct plan *plan,
            const struct options *options, const char *self_test)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    *report = (struct report){.options = options,
                              .plan = plan,
                              .self_test = self_test,
                              .terminal = isatty(STDOUT_FILENO) != 0};
    report->colour = report->terminal && (!no_colour || !no_colour[0]) &&
                     term != NULL && strcmp(term, "dumb") != 0;
    remove_old(options->out);
    char *path = need_format("%s/events.jsonl", options->out);
    report->events = fopen(path, "we");
    if (report->events == NULL)
        quit(EXIT_USAGE, "--out %s: %s", options->out, strerror(errno));
    free(path);
    events_open(report);
    if (options->format == FORMAT_PRETTY)
        console_open(report);
    if (options->format == FORMAT_TAP)
        tap_plan(stdout, plan);
}

void
report_result(struct report *report, const struct item *item,
              const struct result *result)
{
    report->finished++;
    report->bad += result->verdict != VERDICT_PASS &&
                   result->verdict != VERDICT_SKIP &&
                   result->verdict != VERDICT_OUT_OF_REACH;
    events_result(report, item, result);
    if (report->options->format == FORMAT_PRETTY)
        console_result(report, item, result);
    if (ferror(report->events))
        lose(report, "events.jsonl", errno);
}

void
report_settled(struct report *report, const struct item *item)
{
    report->settled++;
    if (report->options->format != FORMAT_TAP)
        return;
    tap_item(stdout, report, report->settled, item);
    fflush(stdout);
}

void
report_tick(struct report *report, size_t running)
{
    if (report->options->format == FORMAT_PRETTY)
        console_tick(report, running);
}

/* Opens OUT/.NAME; finish_file makes it OUT/NAME when all was written. */
static FILE *
begin_file(struct report *report, const char *name, char **path)
{
    *path =
        need_format("%s/.%s-%ld", report->options->out, name, (long)getpid());
    FILE *file = fopen(*path, "we");
    if (file == NULL)
        lose(report, name, errno);
    return file;
}

static void
finish_file(struct report *report, FILE *file, const char *name, char *path)
{
    char *target = need_format("%s/%s", report->options->out, name);
    if (file != NULL) {
        bool wrong = ferror(file) != 0;
        wrong |= fclose(file) != 0;
        int error = errno;
        if (!wrong && rename(path, target) != 0) {
            wrong = true;
            error = errno;
        }
        if (wrong) {
            lose(report, name, error);
            unlink(path);
        }
    }
    free(target);
    free(path);
}

void
report_files(struct report *report, const struct summary *summary)
{
    char *path = NULL;
    FILE *file = begin_file(report, "results.tap", &path);
    if (file != NULL)
        tap_write(file, report);
    finish_file(report, file, "results.tap", path);
    file = begin_file(report, "junit.xml", &path);
    if (file != NULL)
        junit_write(file, report, summary);
    finish_file(report, file, "junit.xml", path);
    file = begin_file(report, "results.json", &path);
    if (file != NULL)
        results_write(file, report, summary);
    finish_file(report, file, "results.json", path);
    events_close(report, summary);
    bool wrong = ferror(report->events) != 0;
    if (fclose(report->events) != 0 || wrong)
        lose(report, "events.jsonl", errno);
    report->events = NULL;
}

bool
report_close(struct report *report, const struct summary *summary)
{
    if (report->options->format == FORMAT_PRETTY)
        console_close(report, summary);
    if (report->options->format == FORMAT_TAP)
        printf("# %zu passed, %zu failed, %zu skipped\n",
               summary->total.standings[STANDING_PASSED],
               summary->total.standings[STANDING_FAILED],
               summary->total.standings[STANDING_SKIPPED]);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        lose(report, "standard output", errno);
        return false;
    }
    return true;
}
