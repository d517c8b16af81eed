/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORM_PIPE_FILE_H
#define CONFORM_PIPE_FILE_H

#include "conform.h"

enum pipe_event {
    PIPE_NOTHING = -1, /* nothing came before the deadline */
    PIPE_EOF = 0,
    PIPE_COMPLETION = 1,
    PIPE_TOKEN = 2
};

/* Waits until fd can be read or has ended; false at the deadline. */
bool pipe_wait(int fd, uint64_t deadline_ns);

/*
 * One record, waiting for its beginning until deadline_ns (0: not at all).
 * Fails the case for a torn record: it was to be written atomically.
 */
enum pipe_event pipe_read_until(int fd, struct completion *completion,
                                uint64_t deadline_ns);

#endif /* CONFORM_PIPE_FILE_H */
