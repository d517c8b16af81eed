/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * command.h - runs another program (nm, a compiler) and keeps what it said.
 */
#ifndef ABI_CHECK_COMMAND_H
#define ABI_CHECK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct command_result {
    int wait_status; /* as from waitpid */
    char *out;       /* standard output, zero-terminated */
    size_t out_len;
    char *err; /* standard error, zero-terminated */
    size_t err_len;
};

/*
 * Runs argv (argv[0] is searched in PATH) with LC_ALL=C and standard input
 * from /dev/null, and waits for it. Returns 0, or an errno value when it could
 * not be started (then nothing is to be freed). Blocks until the program ends.
 */
int command_run(const char *const *argv, struct command_result *result);
void command_free(struct command_result *result);

/* True when the program exited with 0 by itself. */
bool command_succeeded(const struct command_result *result);

/* "exit 1", "signal 9": into text. */
void command_describe(const struct command_result *result, char *text,
                      size_t size);

/*
 * The absolute path of a program as PATH has it, into found; false when there
 * is none. A name with a slash is taken as it is if it is executable.
 */
bool command_find(const char *name, char *found, size_t size);

#endif /* ABI_CHECK_COMMAND_H */
