/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * options.h - the command line, read and checked whole before anything runs.
 */
#ifndef SUPERVISE_OPTIONS_H
#define SUPERVISE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "level.h"
#include "text.h"

#define CONFORM_VERSION "0.1.0"

enum command {
    COMMAND_RUN,
    COMMAND_LIST,
    COMMAND_EXPLAIN,
    COMMAND_SELF,
    COMMAND_VERSION,
    COMMAND_HELP
};

/* Whether to build the case programs in Go. */
enum go_use { GO_AUTO, GO_NEVER, GO_REQUIRE };

enum format { FORMAT_PRETTY, FORMAT_TAP, FORMAT_JSONL };

struct options {
    enum command command;
    const char *invoked_as;      /* argv[0], for the commands we print */
    const char *help_on;         /* the command `help` is about, or NULL */
    struct strings impls;        /* as given; empty: the reference */
    struct strings test_engines; /* files that offer gte_register */
    struct strings programs;     /* beside the default ones */
    bool default_programs;       /* false: only those of --program */
    struct strings filters;      /* globs on ids, or clause ids */
    struct strings excludes;     /* the same */
    struct strings subjects;     /* what `explain` is asked about */
    unsigned jobs;               /* at least 1 */
    bool shuffle;                /* by seed */
    bool strict;                 /* a SHOULD that is not met fails */
    bool no_self_test;           /* the run can refuse, never certify */
    uint64_t seed;               /* drawn when not given */
    unsigned repeat;             /* at least 1 */
    double timeout_scale;        /* above 0 */
    enum level level;            /* which clauses are asked for */
    const char *effort;          /* "survey", "normal" or "nightly" */
    bool verbose;                /* names what does not count */
    struct strings proofs;       /* files beside the built-in table of kills */
    const char *header;          /* gusset.h to judge, or NULL: the built-in */
    const char *claims;          /* the claims file, or NULL */
    enum go_use go;              /* when it is there, never, or it must be */
    const char *go_package;      /* folder of package gusset, or NULL: ours */
    const char *waive;           /* file of waivers, or NULL */
    const char *out;             /* folder of the reports */
    enum format format;          /* of standard output */
};

/* Reads argv; quits with EXIT_USAGE and one line on anything it cannot use. */
void options_read(struct options *options, int argc, char **argv);

/* Prints the help on a command, or the general one for NULL. */
void options_help(const char *command);

#endif /* SUPERVISE_OPTIONS_H */
