/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * describe.h - the commands `list` and `explain`: what there is to judge by.
 */
#ifndef SUPERVISE_DESCRIBE_H
#define SUPERVISE_DESCRIBE_H

#include "options.h"

int list_command(const struct options *options);
int explain_command(const struct options *options);

#endif /* SUPERVISE_DESCRIBE_H */
