/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * syscount PROGRAM ARGS... - counts the system calls that any thread of the
 * program makes inside its windows (windows.h), by ptrace.
 *
 * A polling worker goes to sleep when its partner loses the CPU for too long,
 * so a busy machine disturbs a window. One window is short, there are many,
 * and the verdict is about the quiet ones: enough windows must have no call
 * at all. A library that makes even one call in a thousand round trips has no
 * quiet window. The controls come first: a counter that misses a known number
 * of calls, or a call of the worker's, proves nothing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "windows.h"

#define NAMED_CALLS 600

struct tally {
    pid_t host;
    struct bench_windows *windows;
    uint64_t by_number[NAMED_CALLS]; /* in steady windows */
};

static void
count_entry(struct tally *tally, pid_t thread, uint64_t number)
{
    struct bench_windows *windows = tally->windows;
    uint32_t window = atomic_load(&windows->open);

    if (window == 0 || window >= BENCH_WINDOWS)
        return;
    if (thread == tally->host)
        atomic_fetch_add(&windows->host_calls[window], 1);
    else
        atomic_fetch_add(&windows->other_calls[window], 1);
    if (window >= BENCH_FIRST_STEADY && number < NAMED_CALLS)
        tally->by_number[number]++;
}

static void
on_syscall_stop(struct tally *tally, pid_t thread)
{
    struct ptrace_syscall_info info;

    memset(&info, 0, sizeof info);
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0)
        return;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        count_entry(tally, thread, info.entry.nr);
}

/* Returns the signal to hand on to the thread: never one of ptrace's own. */
static int
on_stop(struct tally *tally, pid_t thread, int status)
{
    int signal_number = WSTOPSIG(status);

    if (signal_number == (SIGTRAP | 0x80)) {
        on_syscall_stop(tally, thread);
        return 0;
    }
    if (signal_number == SIGTRAP || signal_number == SIGSTOP)
        return 0;
    return signal_number;
}

/* Runs the program to its end; returns its wait status. */
static int
trace(struct tally *tally)
{
    int status;
    int deliver;
    pid_t thread;

    for (;;) {
        thread = waitpid(-1, &status, __WALL);
        if (thread < 0 && errno == EINTR)
            continue;
        if (thread < 0)
            return -1;
        if (!WIFSTOPPED(status)) {
            if (thread == tally->host)
                return status;
            continue;
        }
        deliver = on_stop(tally, thread, status);
        ptrace(PTRACE_SYSCALL, thread, NULL, (void *)(intptr_t)deliver);
    }
}

static pid_t
start(char **command)
{
    long options =
        PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(127);
        raise(SIGSTOP);
        execv(command[0], command);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child ||
        !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options) != 0 ||
        ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0)
        return -1;
    return child;
}

static int
judge(int good, const char *what, uint64_t actual)
{
    printf("%s %s: got %llu\n", good ? "ok    " : "not ok", what,
           (unsigned long long)actual);
    return good ? 0 : 1;
}

static void
print_calls(const struct tally *tally)
{
    size_t i;

    for (i = 0; i < NAMED_CALLS; i++)
        if (tally->by_number[i] != 0)
            printf("       system call number %zu: %llu times in all steady "
                   "windows\n",
                   i, (unsigned long long)tally->by_number[i]);
}

static int
report(const struct tally *tally, int status)
{
    struct bench_windows *windows = tally->windows;
    uint32_t finished = atomic_load(&windows->finished);
    uint32_t host = atomic_load(&windows->host_calls[BENCH_HOST_CONTROL]);
    uint32_t worker = atomic_load(&windows->other_calls[BENCH_WORKER_CONTROL]);
    uint64_t calls = 0;
    uint32_t quiet = 0;
    uint32_t i;
    int failed = 0;

    for (i = BENCH_FIRST_STEADY; i < BENCH_FIRST_STEADY + finished; i++) {
        uint32_t here = atomic_load(&windows->host_calls[i]) +
                        atomic_load(&windows->other_calls[i]);

        calls += here;
        quiet += here == 0;
    }
    failed += judge(host == BENCH_HOST_CONTROL_CALLS,
                    "control: 7 calls of the host are counted as 7", host);
    failed += judge(worker >= 1,
                    "control: a sleeping job's calls are counted (1 or more)",
                    worker);
    failed +=
        judge(quiet >= BENCH_QUIET_WANTED,
              "steady state: at least 50 windows without a system call", quiet);
    printf("       %u windows of %d round trips, %u quiet, %llu calls in the "
           "others\n",
           (unsigned)finished, BENCH_STEADY_ROUND_TRIPS, (unsigned)quiet,
           (unsigned long long)calls);
    print_calls(tally);
    failed += judge(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                    "the traced program's own checks (wait status 0)",
                    (uint64_t)(unsigned int)status);
    printf("%d passed, %d failed, 0 skipped\n", 4 - failed, failed);
    return failed == 0 ? 0 : 1;
}

/* Makes the page and leaves its descriptor open for the program. */
static struct bench_windows *
make_windows(void)
{
    int fd = memfd_create("bench-windows", 0);
    char text[16];
    void *page;

    if (fd < 0 || ftruncate(fd, sizeof(struct bench_windows)) != 0)
        return NULL;
    page = mmap(NULL, sizeof(struct bench_windows), PROT_READ | PROT_WRITE,
                MAP_SHARED, fd, 0);
    snprintf(text, sizeof text, "%d", fd);
    if (page == MAP_FAILED || setenv(BENCH_WINDOWS_ENV, text, 1) != 0)
        return NULL;
    return page;
}

int
main(int argc, char **argv)
{
    static struct tally tally;
    int status;

    if (argc < 2) {
        fputs("usage: syscount PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    tally.windows = make_windows();
    if (tally.windows == NULL) {
        fprintf(stderr, "syscount: no shared page: %s\n", strerror(errno));
        return 1;
    }
    tally.host = start(argv + 1);
    if (tally.host < 0) {
        fprintf(stderr, "syscount: cannot trace %s: %s\n", argv[1],
                strerror(errno));
        return 1;
    }
    status = trace(&tally);
    fflush(stdout);
    return report(&tally, status);
}
