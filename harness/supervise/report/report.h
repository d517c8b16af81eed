/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * report.h - everything a run says: to standard output in one format, and to
 * the files of the report folder in all of them.
 *
 * events.jsonl grows as the run goes, a line at a time; the others are written
 * at the end under another name first, so that none is ever half there.
 */
#ifndef SUPERVISE_REPORT_H
#define SUPERVISE_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "../options.h"
#include "../plan.h"
#include "../summary.h"

struct report {
    const struct options *options;
    const struct plan *plan;
    const char *self_test; /* its line, for the files */
    FILE *events;
    bool lost;     /* something could not be written; was said */
    bool terminal; /* standard output is one */
    bool colour;
    bool line_open; /* the progress line stands unfinished */
    size_t finished, bad, settled;
    uint64_t last_tick_ns;
};

/*
 * Makes the folder and shows that it can be written to. Quits with EXIT_USAGE
 * when not.
 */
void report_folder(const char *folder);

void report_open(struct report *report, const struct plan *plan,
                 const struct options *options, const char *self_test);
void report_result(struct report *report, const struct item *item,
                   const struct result *result);
void report_settled(struct report *report, const struct item *item);
void report_tick(struct report *report, size_t running);
/* The files; sets report->lost when one could not be written. */
void report_files(struct report *report, const struct summary *summary);
/* The last lines on standard output; false when it could not be written. */
bool report_close(struct report *report, const struct summary *summary);

/* ---- Between the parts of the report ----------------------------------- */

/* console.c */
void console_open(struct report *report);
void console_result(struct report *report, const struct item *item,
                    const struct result *result);
void console_tick(struct report *report, size_t running);
/* Takes the unfinished progress line away. */
void console_clear(struct report *report);
/* All that is known of a result that did not pass, in lines, no colours. */
void console_block(const struct plan *plan, const struct options *options,
                   const struct item *item, const struct result *result,
                   struct text *text);
/* The command that runs just this again. */
void console_rerun(const struct plan *plan, const struct options *options,
                   const struct item *item, const struct result *result,
                   struct text *text);

/* closing.c */
void console_close(struct report *report, const struct summary *summary);

/* events.c */
void events_open(struct report *report);
void events_result(struct report *report, const struct item *item,
                   const struct result *result);
void events_close(struct report *report, const struct summary *summary);

/* results.c */
json_t *results_subject(const struct subject *subject);
json_t *results_case(const struct plan *plan, const struct options *options,
                     const struct item *item, const struct result *result);
void results_write(FILE *file, const struct report *report,
                   const struct summary *summary);

/* claims.c */
void claims_console(const struct plan *plan);
/* {KEY: {"declared": ..., "state": ...}} */
json_t *claims_json(const struct plan *plan, size_t subject);
/* Calls put with "claim.KEY" and "VALUE: STATE" for each key. */
void claims_each(const struct plan *plan, size_t subject,
                 void (*put)(FILE *file, const char *name, const char *value),
                 FILE *file);

/* tap.c */
void tap_plan(FILE *file, const struct plan *plan);
void tap_item(FILE *file, const struct report *report, size_t number,
              const struct item *item);
void tap_write(FILE *file, const struct report *report);

/* junit.c */
void junit_write(FILE *file, const struct report *report,
                 const struct summary *summary);

#endif /* SUPERVISE_REPORT_H */
