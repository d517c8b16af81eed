/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "exit_codes.h"

#define ON_RUN 1u
#define ON_LIST 2u
#define ON_EXPLAIN 4u
#define ON_SELF 8u

static const struct {
    const char *name;
    enum command command;
    unsigned bit;
    const char *usage;
    const char *about;
} commands[] = {
    {"run", COMMAND_RUN, ON_RUN, "run [options] [GLOB|CLAUSE ...]",
     "judges an implementation (the reference when no --impl is given)"},
    {"list", COMMAND_LIST, ON_LIST, "list [options] [GLOB|CLAUSE ...]",
     "prints the cases"},
    {"explain", COMMAND_EXPLAIN, ON_EXPLAIN, "explain [options] ID ...",
     "says what a case or a clause is about"},
    {"self", COMMAND_SELF, ON_SELF, "self [options]",
     "shows that every kind of failure is recognised"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

enum option_key {
    KEY_IMPL = 256,
    KEY_TEST_ENGINE,
    KEY_PROGRAM,
    KEY_NO_DEFAULTS,
    KEY_HEADER,
    KEY_FILTER,
    KEY_EXCLUDE,
    KEY_JOBS,
    KEY_SEED,
    KEY_SHUFFLE,
    KEY_REPEAT,
    KEY_SCALE,
    KEY_STRICT,
    KEY_NO_SELF_TEST,
    KEY_LEVEL,
    KEY_EFFORT,
    KEY_VERBOSE,
    KEY_PROOFS,
    KEY_CLAIMS,
    KEY_GO,
    KEY_GO_PACKAGE,
    KEY_WAIVE,
    KEY_OUT,
    KEY_FORMAT,
    KEY_HELP
};

static const struct {
    const char *name;
    const char *value; /* NULL: takes none */
    enum option_key key;
    unsigned on;
    const char *about;
} table[] = {
    {"impl", "FILE", KEY_IMPL, ON_RUN,
     "the .so or .a to judge; may be given again"},
    {"header", "FILE", KEY_HEADER, ON_RUN,
     "the gusset.h to judge (default: this release's)"},
    {"test-engine", "FILE", KEY_TEST_ENGINE, ON_RUN,
     "the .so or .a that offers gte_register; once for each kind of --impl"},
    {"filter", "GLOB|CLAUSE", KEY_FILTER, ON_RUN | ON_LIST,
     "only cases whose id matches, or that judge the clause"},
    {"exclude", "GLOB|CLAUSE", KEY_EXCLUDE, ON_RUN | ON_LIST, "not these"},
    {"jobs", "N", KEY_JOBS, ON_RUN | ON_SELF,
     "cases at a time (default: the number of cores)"},
    {"seed", "S", KEY_SEED, ON_RUN, "of shuffling and of the cases' choices"},
    {"shuffle", NULL, KEY_SHUFFLE, ON_RUN, "run in an order made by the seed"},
    {"repeat", "N", KEY_REPEAT, ON_RUN,
     "run each case N times; pass and fail mixed is FLAKY"},
    {"timeout-scale", "X", KEY_SCALE, ON_RUN | ON_SELF,
     "multiply all patience by X"},
    {"strict", NULL, KEY_STRICT, ON_RUN,
     "a SHOULD that is not met is not conforming either"},
    {"no-self-test", NULL, KEY_NO_SELF_TEST, ON_RUN,
     "trust the supervisor unseen: the run can refuse, never certify"},
    {"level", "core|hardened|certified", KEY_LEVEL, ON_RUN | ON_LIST,
     "which clauses are asked for (default hardened)"},
    {"effort", "survey|normal|nightly", KEY_EFFORT, ON_RUN,
     "how often the cases repeat what they try (default normal)"},
    {"claims", "FILE", KEY_CLAIMS, ON_RUN,
     "what the implementation declares of itself; each claim is probed"},
    {"go", "auto|never|require", KEY_GO, ON_RUN | ON_SELF,
     "run the cases in Go: where there is Go, never, or not without (default "
     "auto)"},
    {"go-package", "DIR", KEY_GO_PACKAGE, ON_RUN,
     "the Go package gusset to judge (default: this release's)"},
    {"waive", "FILE", KEY_WAIVE, ON_RUN,
     "failures that somebody answers for until a date: a JSON file"},
    {"proofs", "FILE", KEY_PROOFS, ON_RUN,
     "one more table of kills: lines of CASE, a tab, MUTANT ..."},
    {"verbose", NULL, KEY_VERBOSE, ON_RUN, "name what does not count, too"},
    {"out", "DIR", KEY_OUT, ON_RUN | ON_SELF,
     "folder of the reports (default build/conformance)"},
    {"format", "pretty|tap|jsonl", KEY_FORMAT, ON_RUN | ON_LIST,
     "of standard output (default pretty)"},
    {"program", "FILE", KEY_PROGRAM, ON_RUN | ON_LIST | ON_EXPLAIN,
     "one more case program; may be given again"},
    {"no-default-programs", NULL, KEY_NO_DEFAULTS,
     ON_RUN | ON_LIST | ON_EXPLAIN,
     "leave out conform-cases, abi-check and the cases in Go"},
    {"help", NULL, KEY_HELP, ON_RUN | ON_LIST | ON_EXPLAIN | ON_SELF,
     "this text"},
};
enum { OPTIONS = sizeof table / sizeof table[0] };

static void
general_help(void)
{
    printf("usage: gusset-conform COMMAND [options]\n\n"
           "Judges whether a build of the Gusset runtime, any build, keeps "
           "the contract.\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].about);
    printf("\n  gusset-conform COMMAND --help    the options of a command\n"
           "  gusset-conform --version\n\n"
           "exit codes: 0 conforming, 1 not conforming, 2 usage, "
           "3 inconclusive,\n  4 nothing selected, 5 waiver trouble, "
           "6 the artifact changed, 70 a bug of ours\n");
}

void
options_help(const char *command)
{
    for (size_t i = 0; command != NULL && i < COMMANDS; i++) {
        if (strcmp(commands[i].name, command) != 0)
            continue;
        printf("usage: gusset-conform %s\n%s.\n\n", commands[i].usage,
               commands[i].about);
        for (size_t j = 0; j < OPTIONS; j++) {
            if (!(table[j].on & commands[i].bit))
                continue;
            char left[64];
            snprintf(left, sizeof left, "--%s%s%s", table[j].name,
                     table[j].value ? " " : "",
                     table[j].value ? table[j].value : "");
            printf("  %-28s %s\n", left, table[j].about);
        }
        return;
    }
    if (command != NULL)
        quit(EXIT_USAGE, "there is no command %s", command);
    general_help();
}

static uint64_t
number(const char *option, const char *value, uint64_t least, uint64_t most)
{
    char *end = NULL;
    errno = 0;
    unsigned long long read = strtoull(value, &end, 0);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0 ||
        read < least || read > most)
        quit(EXIT_USAGE, "--%s %s: must be a number from %llu to %llu", option,
             value, (unsigned long long)least, (unsigned long long)most);
    return read;
}

static double
scale(const char *value)
{
    char *end = NULL;
    double read = strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(read) || read < 0.01 ||
        read > 1000.0)
        quit(EXIT_USAGE,
             "--timeout-scale %s: must be a number from 0.01 to 1000", value);
    return read;
}

static enum format
format(const char *value)
{
    if (strcmp(value, "pretty") == 0)
        return FORMAT_PRETTY;
    if (strcmp(value, "tap") == 0)
        return FORMAT_TAP;
    if (strcmp(value, "jsonl") == 0)
        return FORMAT_JSONL;
    quit(EXIT_USAGE, "--format %s: must be pretty, tap or jsonl", value);
}

static const char *
effort(const char *value)
{
    if (strcmp(value, "survey") != 0 && strcmp(value, "normal") != 0 &&
        strcmp(value, "nightly") != 0)
        quit(EXIT_USAGE, "--effort %s: must be survey, normal or nightly",
             value);
    return value;
}

static enum level
level(const char *value)
{
    enum level level = LEVEL_HARDENED;
    if (!level_read(value, &level))
        quit(EXIT_USAGE, "--level %s: must be core, hardened or certified",
             value);
    return level;
}

static enum go_use
go_use(const char *value)
{
    if (strcmp(value, "auto") == 0)
        return GO_AUTO;
    if (strcmp(value, "never") == 0)
        return GO_NEVER;
    if (strcmp(value, "require") == 0)
        return GO_REQUIRE;
    quit(EXIT_USAGE, "--go %s: must be auto, never or require", value);
}

static const char *
filled(const char *option, const char *value)
{
    if (value[0] == '\0')
        quit(EXIT_USAGE, "--%s: the value is empty", option);
    return value;
}

static void
nonempty(const char *option, const char *value, struct strings *list)
{
    strings_add(list, filled(option, value));
}

/* What is said, and what does not count. */
static void
apply_report(struct options *options, int key, const char *value)
{
    switch (key) {
    case KEY_WAIVE:
        options->waive = filled("waive", value);
        break;
    case KEY_PROOFS:
        nonempty("proofs", value, &options->proofs);
        break;
    case KEY_VERBOSE:
        options->verbose = true;
        break;
    case KEY_OUT:
        options->out = filled("out", value);
        break;
    default:
        options->format = format(value);
        break;
    }
}

/* The other things that are judged, or by which. */
static void
apply_more(struct options *options, int key, const char *value)
{
    switch (key) {
    case KEY_CLAIMS:
        options->claims = value;
        break;
    case KEY_GO:
        options->go = go_use(value);
        break;
    case KEY_GO_PACKAGE:
        options->go_package = filled("go-package", value);
        break;
    default:
        apply_report(options, key, value);
        break;
    }
}

static void
apply(struct options *options, int key, const char *value)
{
    switch (key) {
    case KEY_IMPL:
        nonempty("impl", value, &options->impls);
        break;
    case KEY_TEST_ENGINE:
        nonempty("test-engine", value, &options->test_engines);
        break;
    case KEY_PROGRAM:
        nonempty("program", value, &options->programs);
        break;
    case KEY_NO_DEFAULTS:
        options->default_programs = false;
        break;
    case KEY_HEADER:
        options->header = filled("header", value);
        break;
    case KEY_FILTER:
        nonempty("filter", value, &options->filters);
        break;
    case KEY_EXCLUDE:
        nonempty("exclude", value, &options->excludes);
        break;
    case KEY_JOBS:
        options->jobs = (unsigned)number("jobs", value, 1, 1024);
        break;
    case KEY_SEED:
        options->seed = number("seed", value, 0, UINT64_MAX);
        break;
    case KEY_SHUFFLE:
        options->shuffle = true;
        break;
    case KEY_REPEAT:
        options->repeat = (unsigned)number("repeat", value, 1, 1000000);
        break;
    case KEY_SCALE:
        options->timeout_scale = scale(value);
        break;
    case KEY_NO_SELF_TEST:
        options->no_self_test = true;
        break;
    case KEY_STRICT:
        options->strict = true;
        break;
    case KEY_LEVEL:
        options->level = level(value);
        break;
    case KEY_EFFORT:
        options->effort = effort(value);
        break;
    default:
        apply_more(options, key, value);
        break;
    }
}

/* A seed that a person can copy by hand. */
static uint64_t
draw_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint32_t)now_ns();
    return seed;
}

static void
read_options(struct options *options, size_t command, int argc, char **argv)
{
    struct option longs[OPTIONS + 1];
    memset(longs, 0, sizeof longs);
    for (size_t i = 0; i < OPTIONS; i++) {
        longs[i].name = table[i].name;
        longs[i].has_arg = table[i].value ? required_argument : no_argument;
        longs[i].val = table[i].key;
    }
    opterr = 0;
    optind = 2;
    for (;;) {
        int at = optind;
        int index = -1;
        int key = getopt_long(argc, argv, ":h", longs, &index);
        if (key == -1)
            break;
        if (key == ':')
            quit(EXIT_USAGE, "%s: %s needs a value", commands[command].name,
                 argv[optind - 1]);
        if (key == '?')
            quit(EXIT_USAGE, "%s: cannot use %s (see gusset-conform %s --help)",
                 commands[command].name, argv[at] ? argv[at] : "that",
                 commands[command].name);
        if (key == KEY_HELP || key == 'h') {
            options->command = COMMAND_HELP;
            options->help_on = commands[command].name;
            return;
        }
        if (!(table[index].on & commands[command].bit))
            quit(EXIT_USAGE,
                 "%s has no option --%s (see gusset-conform %s --help)",
                 commands[command].name, table[index].name,
                 commands[command].name);
        apply(options, key, optarg);
    }
    for (int i = optind; i < argc; i++) {
        if (commands[command].bit & (ON_RUN | ON_LIST))
            nonempty("filter", argv[i], &options->filters);
        else if (commands[command].bit & ON_EXPLAIN)
            strings_add(&options->subjects, argv[i]);
        else
            quit(EXIT_USAGE, "%s takes no argument: %s", commands[command].name,
                 argv[i]);
    }
    if (strcmp(options->effort, "survey") == 0 && !options->no_self_test)
        quit(EXIT_USAGE, "--effort survey certifies nothing: it needs "
                         "--no-self-test");
}

void
options_read(struct options *options, int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    *options = (struct options){.invoked_as = argv[0],
                                .default_programs = true,
                                .jobs = cores > 0 ? (unsigned)cores : 1,
                                .repeat = 1,
                                .timeout_scale = 1.0,
                                .level = LEVEL_HARDENED,
                                .effort = "normal",
                                .out = "build/conformance",
                                .seed = draw_seed()};
    if (argc < 2)
        quit(EXIT_USAGE, "no command given (see gusset-conform --help)");
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        options->command = COMMAND_VERSION;
        return;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        options->command = COMMAND_HELP;
        options->help_on = argc > 2 ? argv[2] : NULL;
        return;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            options->command = commands[i].command;
            read_options(options, i, argc, argv);
            if (options->command == COMMAND_EXPLAIN &&
                options->subjects.count == 0)
                quit(EXIT_USAGE, "explain: name a case or a clause");
            return;
        }
    }
    quit(EXIT_USAGE, "there is no command %s (see gusset-conform --help)",
         word);
}
