/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The process around the library: how it exits, and what a fork does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

static void
expect_exit(int right, int status, const char *what, uint32_t round)
{
    expect(!WIFSIGNALED(status), "%s, round %u: ended by signal %d", what,
           round, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    expect_i64(right, WEXITSTATUS(status), "%s, round %u: exit status", what,
               round);
}

/* ---- i5.exit-safe ------------------------------------------------------- */

static void
exit_aside(void *argument)
{
    (void)argument;
    exit(41);
}

/* In a child: a busy pool, then exit. Never returns. */
static void
be_busy_and_exit(uint32_t round)
{
    static const struct {
        const char *input;
        size_t len;
    } jobs[] = {{"\5\62", 2},          {"\11\62", 2}, {"\0echo", 5},
                {"\13\100\102\17", 4}, {"\16\24", 2}, {"\14", 1},
                {"\20\0\0\100\0\1", 6}};
    int fds[2];
    GussetHandle *handles[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        if (pipe2(fds, O_CLOEXEC) != 0 ||
            api.handle_open(3, fds[1], &handles[i], NULL) != FFI_OK)
            _exit(50);
        for (uint32_t n = 0; n < 8; n++) {
            uint32_t kind = (round + n) % 7;
            uint64_t ticket = 0;
            (void)api.submit(handles[i], &diagnostic,
                             (const uint8_t *)jobs[kind].input, jobs[kind].len,
                             0, &ticket, NULL);
        }
    }
    const struct timespec pause = {.tv_nsec =
                                       (long)(round % 5) * 300000 + 1000};
    nanosleep(&pause, NULL);
    if (round % 4 == 3) {
        struct conform_thread *thread =
            conform_thread_start(exit_aside, NULL, 0);
        conform_thread_join(thread);
        _exit(51);
    }
    exit(41);
}

CONFORM_CASE(
    exit_safe, .id = "i5.exit-safe.busy-pool", .clauses = "i5.exit-safe",
    .why = "A destructor that joins busy workers, or frees what they still "
           "use, turns an exit into a hang or a crash.",
    .steps = "Children open two pools, fill them with sleeping, spinning, "
             "logging, panicking and generating jobs, and exit(41) after 0 "
             "to 1.2 ms, one in four from another thread.",
    .expected = "Each child ends by itself with status 41.",
    .tags = CONFORM_COLD)
{
    uint32_t rounds = conform_rounds(24, 2000);
    for (uint32_t round = 0; round < rounds; round++) {
        pid_t child = fork();
        if (child < 0)
            conform_broken("fork: %s", strerror(errno));
        if (child == 0)
            be_busy_and_exit(round);
        expect_exit(41, conform_reap(child, "exit with a busy pool"),
                    "exit with a busy pool", round);
    }
}

/* ---- i5.fork-parent-safe ------------------------------------------------ */

CONFORM_CASE(
    fork_parent, .id = "i5.fork-parent-safe.jobs-running",
    .clauses = "i5.fork-parent-safe i4.exactly-once i4.eof-at-close",
    .why = "A host that starts a program while jobs run loses a completion, "
           "or gets it twice.",
    .steps = "240 echoes and sleeps in flight; 24 forks in between, half of "
             "them exec another program, half leave at once; all results.",
    .expected = "Every ticket once with its bytes; after close end of file.",
    .transports = CONFORM_BOTH)
{
    struct host *host = host_open(3);
    uint64_t tickets[10];
    for (uint32_t round = 0; round < 24; round++) {
        pid_t child = -1;
        for (uint32_t i = 0; i < 10; i++) {
            const uint8_t echo[] = {0, (uint8_t)round, (uint8_t)i};
            const uint8_t slow[] = {9, 0, 0, (uint8_t)round, (uint8_t)i};
            bool sleeps = i % 3 == 0;
            tickets[i] = host_submit_patiently(
                host, &diagnostic, sleeps ? slow : echo, sleeps ? 5 : 3);
            if (i != 4)
                continue;
            child = fork();
            if (child == 0 && round % 2)
                execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
            if (child == 0)
                _exit(7);
            if (child < 0)
                conform_broken("fork: %s", strerror(errno));
        }
        for (uint32_t i = 0; i < 10; i++) {
            const uint8_t right[] = {0, (uint8_t)round, (uint8_t)i};
            host_wait(host, tickets[i]);
            struct outcome o = host_take(host, tickets[i]);
            expect_code(FFI_OK, o.code, "job %u of round %u", i, round);
            expect_bytes(right, 3, o.bytes, o.len, "job %u of round %u", i,
                         round);
        }
        expect_exit(7, conform_reap(child, "a forked child"), "a forked child",
                    round);
    }
    host_close(host);
}

/* ---- i5.fork-child-stateless -------------------------------------------- */

enum inherited {
    STATISTICS,
    SUBMIT,
    TAKE,
    CANCEL,
    CANCEL_ALL,
    BUF_ALLOC,
    BUF_FREE,
    DRAIN_LOGS,
    INHERITED_COUNT
};

static const char *const inherited_names[] = {
    "abi_layout, abi_fields, alloc_stats",
    "submit",
    "take",
    "cancel",
    "cancel_all",
    "buf_alloc",
    "buf_free",
    "drain_logs"};

/* In a child of a process with workers. Never returns. */
static void
use_inherited(GussetHandle *handle, enum inherited call, uint64_t ticket)
{
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t len = 0;
    AbiLayout layout;
    AllocStats stats;
    uint8_t log[256];
    switch (call) {
    case STATISTICS:
        api.abi_layout(&layout);
        api.alloc_stats(&stats);
        _exit(api.abi_fields(NULL, NULL, 0) == 17 && layout.version == 2 &&
                      stats.live_bytes <= stats.peak_bytes
                  ? 7
                  : 8);
    case SUBMIT:
        (void)api.submit(handle, &diagnostic, NULL, 0, 0, &id, NULL);
        _exit(7);
    case TAKE:
        (void)api.take(handle, ticket, &id, &ptr, &len, NULL);
        _exit(7);
    case CANCEL:
        (void)api.cancel(handle, ticket, NULL);
        _exit(7);
    case CANCEL_ALL:
        (void)api.cancel_all(handle, NULL);
        _exit(7);
    case BUF_ALLOC:
        (void)api.buf_alloc(handle, 100, &id, &ptr, NULL);
        _exit(7);
    case BUF_FREE:
        (void)api.buf_free(handle, ticket, NULL);
        _exit(7);
    default:
        api.drain_logs(log, sizeof log, &len);
        _exit(7);
    }
}

CONFORM_CASE(
    fork_child, .id = "i5.fork-child-stateless.inherited-handle",
    .clauses = "i5.fork-child-stateless i5.fork-parent-safe",
    .why = "A child that asks for statistics, or cleans up what it "
           "inherited, waits for threads that it does not have.",
    .steps = "An idle handle with a result that waits; one child for each "
             "call on it, and for the statistics; then the parent goes on.",
    .expected = "Each child ends within patience; the statistics are right; "
                "the parent's result is untouched.",
    .transports = CONFORM_BOTH, .mutant = "fork-child-log-locked")
{
    struct host *host = host_open(2);
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\0mine", 5);
    host_wait(host, ticket);
    for (int call = 0; call < INHERITED_COUNT; call++) {
        pid_t child = fork();
        if (child < 0)
            conform_broken("fork: %s", strerror(errno));
        if (child == 0)
            use_inherited(host_handle(host), (enum inherited)call, ticket);
        expect_exit(7, conform_reap(child, inherited_names[call]),
                    inherited_names[call], 0);
    }
    struct outcome o = host_take(host, ticket);
    expect_bytes("\0mine", 5, o.bytes, o.len, "the parent's result");
    o = host_call(host, DIAGNOSTIC, "\0on", 3);
    expect_code(FFI_OK, o.code, "the parent goes on");
    host_close(host);
}
