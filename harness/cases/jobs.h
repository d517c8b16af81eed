/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * jobs.h - the jobs that the cases of I3, I4 and L are made of, and what they
 * expect of them. The diagnostic engine has no way to say "I run now", so a
 * case that needs a running job fills the queue: it holds 2 x pool units, and
 * once 3 x pool are accepted, pool of them have left it [i4.full-refuses].
 *
 * What a case shares with threads of its own is static: a failed check unwinds
 * the main thread's stack under them.
 */
#ifndef CONFORM_CASES_JOBS_H
#define CONFORM_CASES_JOBS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* F_SETPIPE_SZ, pipe2 */
#endif

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "conform.h"

#define MS UINT64_C(1000000)

#define DEADLINE_TEXT "cancelled: DeadlineExceeded"
#define EXPLICIT_TEXT "cancelled: Explicit"
#define SHUTDOWN_TEXT "cancelled: Shutdown"

/* Modes of the diagnostic engine, docs/contract.md section 2. */
enum {
    MODE_ECHO = 0,
    MODE_PANIC = 1,
    MODE_COOPERATIVE = 5,
    MODE_IDS = 7,
    MODE_SLEEP = 9,
    MODE_SQUARES = 10,
    MODE_SPIN = 11,
    MODE_LOG = 14
};

static inline CallHeader
job_header(uint32_t flags, uint64_t timeout_ns)
{
    CallHeader header;
    memset(&header, 0, sizeof header);
    header.flags = flags;
    header.timeout_ns = timeout_ns;
    return header;
}

/* The outcome of a ticket whose completion has not been read yet. */
static inline struct outcome
job_finish(struct host *host, uint64_t ticket)
{
    struct completion done = host_wait(host, ticket);
    return host_outcome(host, &done);
}

/*
 * Submits the same two-byte job 3 x pool times. When it returns, at least
 * `pool` of them are running or over.
 */
static inline void
job_occupy(struct host *host, uint32_t pool, uint8_t mode, uint8_t steps,
           uint64_t *tickets)
{
    uint8_t input[2] = {mode, steps};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (uint32_t i = 0; i < 3 * pool; i++)
        tickets[i] = host_submit_patiently(host, &header, input, sizeof input);
}

/* An error of the library's own, with this text and without a place. */
static inline void
expect_failure_is(const struct outcome *outcome, const char *text,
                  const char *what)
{
    expect_code(FFI_ERR, outcome->code, "%s: the code", what);
    expect_text(TEXT_IS, text, outcome->msg, outcome->msg_len,
                "%s: the text, byte for byte", what);
    expect(!outcome->inlined, "%s: a failure is never inline", what);
    expect(!outcome->has_file, "%s: no place", what);
    expect_u64(0, outcome->file_len, "%s: no length of a place", what);
    expect_u64(0, outcome->line, "%s: no line", what);
}

static inline void
expect_success_is(const struct outcome *outcome, const void *bytes, size_t len,
                  const char *what)
{
    expect_code(FFI_OK, outcome->code, "%s: the code (text %s)", what,
                outcome->msg != NULL ? outcome->msg : "none");
    expect_bytes(bytes, len, outcome->bytes, outcome->len, "%s: the result",
                 what);
}

/* An echo goes through: the handle is neither poisoned nor stuck. */
static inline void
expect_handle_healthy(struct host *host, const char *what)
{
    static const uint8_t input[3] = {MODE_ECHO, 0x5a, 0xa5};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t ticket = host_submit_patiently(host, &header, input, sizeof input);
    struct outcome outcome = job_finish(host, ticket);
    expect_success_is(&outcome, input, sizeof input, what);
}

/*
 * Makes the pipe one page and fills it with zeros until not even a bare record
 * has room; returns their number. They lie before every record that comes
 * later, and pipe_unfill takes them out again. The descriptor is the library's
 * by number, but no copy is made: EOF stays its.
 */
static inline size_t
pipe_fill(int write_fd)
{
    static const uint8_t zeros[4096];
    size_t filled = 0;
    ssize_t written;
    (void)fcntl(write_fd, F_SETPIPE_SZ, 4096);
    while ((written = write(write_fd, zeros, sizeof zeros)) > 0)
        filled += (size_t)written;
    while ((written = write(write_fd, zeros, 8)) > 0)
        filled += (size_t)written;
    if (written != -1 || errno != EAGAIN)
        conform_broken("the pipe cannot be filled: %s", strerror(errno));
    return filled;
}

/* Reads `bytes` of the filling, which must be zeros. */
static inline void
pipe_unfill(int read_fd, size_t bytes)
{
    uint8_t filling[4096];
    while (bytes > 0) {
        size_t want = bytes < sizeof filling ? bytes : sizeof filling;
        ssize_t got = read(read_fd, filling, want);
        if (got <= 0)
            conform_broken("the filling cannot be read: %s", strerror(errno));
        for (ssize_t i = 0; i < got; i++)
            expect_u64(0, filling[i], "a byte written before the pipe filled");
        bytes -= (size_t)got;
    }
}

/* Lets others run between two looks, or moves one thread against another. */
static inline void
job_pause_us(uint64_t us)
{
    usleep((useconds_t)us); /* pause: nothing is concluded from its length */
}

#endif /* CONFORM_CASES_JOBS_H */
