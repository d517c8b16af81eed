/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * spawn.h - starts a process the way every child of the supervisor starts:
 * by exec from this single-threaded process, in a process group of its own,
 * standard input empty, signals as the system has them, a known environment,
 * no core file, and killed if the supervisor dies.
 */
#ifndef SUPERVISE_SPAWN_H
#define SUPERVISE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "text.h"

/*
 * The environment of a case: ours with LC_ALL=C, GLIBC_TUNABLES that make
 * memory come back at once, no debuginfod, and TOKEN_NAME=token. A case that
 * is declared to die gets sanitizer options that leave the signals alone.
 * Freed with strings_free; items is NULL-terminated.
 */
#define SPAWN_TOKEN "GUSSET_CONFORM_TOKEN"
struct strings spawn_environment(const char *token, bool signals_untouched);

/*
 * Starts argv (NULL-terminated, argv[0] a path or found in PATH). Standard
 * output and error go to *output, a pipe whose read end does not block; when
 * errors is not NULL standard error goes there instead. Returns the pid, or
 * -1 with errno when the program could not be executed.
 */
pid_t spawn_start(char *const argv[], char *const environment[], int *output,
                  int *errors);

/*
 * Runs argv to its end, at most timeout_ms, after which its group is killed
 * and *timed_out is true. Returns the wait status, or -1 with errno.
 */
int spawn_capture(char *const argv[], unsigned timeout_ms, struct text *output,
                  struct text *errors, bool *timed_out);

/* Reads what waits in the pipe; false at its end. */
bool spawn_read(int fd, struct text *text);

#endif /* SUPERVISE_SPAWN_H */
