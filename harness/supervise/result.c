/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "result.h"

#include <stdlib.h>

void
result_free(struct result *result)
{
    char **owned[] = {
        &result->reason,      &result->expression, &result->expected,
        &result->actual,      &result->message,    &result->file,
        &result->marker,      &result->evidence,   &result->ending,
        &result->differences, &result->output,     &result->stacks};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(*owned[i]);
        *owned[i] = NULL;
    }
}
