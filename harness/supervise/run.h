/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * run.h - the commands `run` and `self`, from the options to the exit code.
 */
#ifndef SUPERVISE_RUN_H
#define SUPERVISE_RUN_H

#include "options.h"

int run_command(const struct options *options);
int self_command(const struct options *options);

#endif /* SUPERVISE_RUN_H */
