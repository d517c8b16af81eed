/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The case program's command line; the protocol is in page.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

struct conform_run conform_run;

static const char *run_id; /* with the transport's suffix */

struct arguments {
    bool list;
    const char *id;
    const char *page;
    const char *impl;
    const char *claims;
    const char *test_engine;
    const char *seed;
    const char *effort;
    const char *scale;
};

static const char usage_text[] =
    "usage: %s --list\n"
    "       %s --run ID [--page FILE] [--impl FILE] [--seed N]\n"
    "          [--claims FILE] [--test-engine FILE]\n"
    "          [--effort survey|normal|nightly] [--timeout-scale X]\n";

__attribute__((noreturn, format(printf, 1, 2))) static void
usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("conform: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(CONFORM_EXIT_USAGE);
}

static void
parse(int argc, char **argv, struct arguments *arguments)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--run", &arguments->id},
        {"--page", &arguments->page},
        {"--impl", &arguments->impl},
        {"--claims", &arguments->claims},
        {"--test-engine", &arguments->test_engine},
        {"--seed", &arguments->seed},
        {"--effort", &arguments->effort},
        {"--timeout-scale", &arguments->scale},
    };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            arguments->list = true;
            continue;
        }
        if (strcmp(argv[i], "--help") == 0) {
            printf(usage_text, argv[0], argv[0]);
            exit(0);
        }
        size_t k = 0;
        while (k < sizeof options / sizeof options[0] &&
               strcmp(argv[i], options[k].name) != 0) {
            k++;
        }
        if (k == sizeof options / sizeof options[0]) {
            usage_error("unknown argument %s (--help shows them)", argv[i]);
        }
        if (i + 1 == argc) {
            usage_error("%s needs a value", argv[i]);
        }
        if (*options[k].value != NULL) {
            usage_error("%s is given twice", argv[i]);
        }
        *options[k].value = argv[++i];
    }
}

static uint64_t
parse_seed(const char *text)
{
    char *end = NULL;
    errno = 0;
    uint64_t seed = strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || *text == '-') {
        usage_error("--seed %s is not a number of 64 bits", text);
    }
    return seed;
}

static enum conform_effort
parse_effort(const char *word)
{
    if (strcmp(word, "survey") == 0) {
        return CONFORM_EFFORT_SURVEY;
    }
    if (strcmp(word, "nightly") == 0) {
        return CONFORM_EFFORT_NIGHTLY;
    }
    if (strcmp(word, "normal") != 0) {
        usage_error("--effort %s is not survey, normal or nightly", word);
    }
    return CONFORM_EFFORT_NORMAL;
}

static double
parse_scale(const char *text)
{
    char *end = NULL;
    double scale = strtod(text, &end);
    if (end == text || *end != '\0' || !(scale > 0.0 && scale <= 10000.0)) {
        usage_error("--timeout-scale %s is not a number above 0, "
                    "10000 at most",
                    text);
    }
    return scale;
}

static void
prepare(const struct arguments *arguments)
{
    conform_run.impl = arguments->impl;
    conform_run.test_engine = arguments->test_engine;
    conform_run.timeout_scale = 1.0;
    conform_run.seed = 1;
    if (arguments->seed != NULL) {
        conform_run.seed = parse_seed(arguments->seed);
    }
    if (arguments->scale != NULL) {
        conform_run.timeout_scale = parse_scale(arguments->scale);
    }
    if (arguments->effort != NULL) {
        conform_run.effort = parse_effort(arguments->effort);
    }
    if (conform_subject_wants_path()) {
        if (arguments->impl == NULL) {
            usage_error("--run needs --impl FILE.so in this program");
        }
        if (arguments->impl[0] != '/') {
            usage_error("--impl %s is not an absolute path", arguments->impl);
        }
    }
}

static void
select_case(const struct conform_entry *entries, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++) {
        char text[512];
        conform_entry_id(&entries[i], text, sizeof text);
        if (strcmp(text, id) == 0) {
            conform_run.declared = entries[i].declared;
            conform_run.transport = entries[i].transport;
            return;
        }
    }
    usage_error("no case %s (--list shows them)", id);
}

static const char *
outcome_word(enum conform_outcome outcome)
{
    static const char *const words[] = {"NONE",    "PASSED",       "FAILED",
                                        "SKIPPED", "OUT-OF-REACH", "BROKEN"};
    return words[outcome];
}

/* The run without a page is for people: they get the page as text. */
int
conform_show(void)
{
    const char *id = run_id;
    const struct conform_page *page = conform_page;
    enum conform_outcome outcome = conform_page_outcome_now();
    if (outcome == CONFORM_OUTCOME_PASSED && page->checks == 0) {
        printf("BROKEN %s: no check was executed\n", id);
        return 1;
    }
    printf("%s %s (%llu checks, seed %llu)\n", outcome_word(outcome), id,
           (unsigned long long)page->checks, (unsigned long long)page->seed);
    if (outcome == CONFORM_OUTCOME_FAILED) {
        printf("  %s:%u: %s\n  expected %s\n  actual   %s\n  %s\n", page->file,
               page->line, page->expression, page->expected, page->actual,
               page->message);
    }
    if (page->reason[0] != '\0') {
        printf("  %s\n", page->reason);
    }
    return outcome == CONFORM_OUTCOME_PASSED ? 0 : 1;
}

__attribute__((noreturn)) static void
finish(void)
{
    int code = conform_run.foreground ? conform_show() : 0;
    fflush(stdout);
    fflush(stderr);
    bool passed = conform_page_outcome_now() == CONFORM_OUTCOME_PASSED;
    conform_page_phase(CONFORM_PHASE_ENDED);
    /*
     * A case that was left half-way may have threads of its own that still
     * run; atexit handlers and leak reports would only add noise to a verdict
     * that stands. A passed one ends as a host does.
     */
    if (!passed) {
        _exit(code);
    }
    exit(code);
}

int
main(int argc, char **argv)
{
    struct arguments arguments = {0};
    parse(argc, argv, &arguments);
    if (arguments.list == (arguments.id != NULL)) {
        usage_error("give one of --list and --run ID (--help)");
    }
    const struct conform_entry *entries = NULL;
    size_t count = 0;
    if (!conform_registry(&entries, &count)) {
        return CONFORM_EXIT_OWN_BUG;
    }
    if (arguments.list) {
        conform_list(entries, count);
        return 0;
    }
    select_case(entries, count, arguments.id);
    prepare(&arguments);
    conform_run.foreground = arguments.page == NULL;
    if (arguments.claims != NULL) {
        conform_claims_load(arguments.claims);
    }
    bool mapped = arguments.page != NULL ? conform_page_map(arguments.page)
                                         : conform_page_private();
    if (!mapped) {
        return CONFORM_EXIT_USAGE;
    }
    run_id = arguments.id;
    conform_page->seed = conform_run.seed;
    conform_run_case();
    finish();
}
