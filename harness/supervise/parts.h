/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * parts.h - where the other parts of the harness are: beside this program
 * (bin/) and in ../lib, both in the build folder and when installed.
 */
#ifndef SUPERVISE_PARTS_H
#define SUPERVISE_PARTS_H

#include "options.h"

/* "bin/NAME" or "lib/NAME" of the folder above this program's; caller frees. */
char *part_path(const char *name);

/* The case programs to ask: the default ones and those of --program. */
void part_programs(const struct options *options, struct strings *programs);

#endif /* SUPERVISE_PARTS_H */
