/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Signals, exits and hangs. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "self.h"

/* Long enough for a slow machine to get there, short enough to wait for. */
enum { HANG_MS = 800 };

static void
segv(void)
{
    static volatile int *volatile nowhere;
    self_checked();
    *nowhere = 1;
}

static void
die_by(int number)
{
    self_checked();
    raise(number);
}

static void
abrt(void)
{
    self_checked();
    abort();
}

static void
bus(void)
{
    die_by(SIGBUS);
}

static void
fpe(void)
{
    die_by(SIGFPE);
}

static void
ill(void)
{
    die_by(SIGILL);
}

static void
killed(void)
{
    die_by(SIGKILL);
}

static void
term(void)
{
    die_by(SIGTERM);
}

static void
broken_pipe(void)
{
    int ends[2];
    self_checked();
    if (pipe(ends) != 0)
        return;
    close(ends[0]);
    if (write(ends[1], "x", 1) < 0)
        return;
}

static void
sys(void)
{
    die_by(SIGSYS);
}

static void
realtime(void)
{
    die_by(SIGRTMIN + 3);
}

/* The volatile array keeps every frame. */
static int
deeper(volatile char *above, unsigned levels)
{
    volatile char frame[4096];
    frame[0] = *above;
    return levels == 0 ? 0 : deeper(frame, levels - 1) + frame[0];
}

static void
overflow(void)
{
    char start = 0;
    self_checked();
    deeper(&start, 1u << 30);
}

static void
exit_at_once(void)
{
    self_checked();
    _exit(0);
}

static void
by_exit(void)
{
    self_checked();
    exit(0);
}

static void
exit_one(void)
{
    self_checked();
    exit(1);
}

__attribute__((noinline)) static void
spin_for_ever(void)
{
    for (volatile int i = 0;; i++)
        continue;
}

__attribute__((noinline)) static void
sleep_for_ever(void)
{
    for (;;)
        pause();
}

static void
busy(void)
{
    self_checked();
    spin_for_ever();
}

static void
sleeper(void)
{
    self_checked();
    sleep_for_ever();
}

static void
stopped(void)
{
    self_checked();
    raise(SIGSTOP);
}

static void
deaf(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    self_checked();
    sleep_for_ever();
}

__attribute__((noinline)) static void *
wait_for_nobody(void *unused)
{
    (void)unused;
    sleep_for_ever();
    return NULL;
}

static void
second_thread(void)
{
    pthread_t thread;
    self_checked();
    if (pthread_create(&thread, NULL, wait_for_nobody, NULL) != 0)
        return;
    self_marker("joining");
    pthread_join(thread, NULL);
}

/* The process that hangs has a child that keeps the output pipe open. */
static void
holding_output(void)
{
    self_checked();
    if (fork() == 0)
        setsid();
    sleep_for_ever();
}

static void
dies_as_declared(void)
{
    self_checked();
    self_marker("almost");
    segv();
}

static void
dies_by_abort(void)
{
    self_checked();
    self_marker("almost");
    abort();
}

static void
dies_elsewhere(void)
{
    self_checked();
    self_marker("elsewhere");
    segv();
}

static void
dies_failing(void)
{
    self_fail(__FILE__, __LINE__, "failed first", "0", "1");
    self_marker("almost");
    segv();
}

static void
survives(void)
{
    self_checked();
    self_marker("almost");
}

static void
dies_leaving(void)
{
    if (fork() == 0)
        sleep_for_ever();
    dies_as_declared();
}

#define DIES .dies_by = "SIGSEGV", .marker = "almost"
#define HANGS .timeout_ms = HANG_MS, .tags = "sleeps"

const struct self_case ending_cases[] = {
    {.id = "signal.segv", .run = segv},
    {.id = "signal.abrt", .run = abrt},
    {.id = "signal.bus", .run = bus},
    {.id = "signal.fpe", .run = fpe},
    {.id = "signal.ill", .run = ill},
    {.id = "signal.kill", .run = killed},
    {.id = "signal.term", .run = term},
    {.id = "signal.pipe", .run = broken_pipe},
    {.id = "signal.sys", .run = sys},
    {.id = "signal.realtime", .run = realtime},
    {.id = "signal.overflow", .run = overflow},
    {.id = "signal.while-loading", .run = self_checked},
    {.id = "signal.after-end", .run = self_checked},
    {.id = "signal.before-page", .run = self_checked},
    {.id = "exit.at-once", .run = exit_at_once},
    {.id = "exit.by-exit", .run = by_exit},
    {.id = "exit.one", .run = exit_one},
    {.id = "exit.after-body", .run = self_checked},
    {.id = "exit.after-end", .run = self_checked},
    {.id = "hang.busy", .run = busy, HANGS},
    {.id = "hang.sleep", .run = sleeper, HANGS},
    {.id = "hang.stopped", .run = stopped, HANGS},
    {.id = "hang.deaf", .run = deaf, HANGS},
    {.id = "hang.second-thread", .run = second_thread, HANGS},
    {.id = "hang.holding-output", .run = holding_output, HANGS},
    {.id = "dies.as-declared", .run = dies_as_declared, DIES},
    {.id = "dies.by-abort",
     .run = dies_by_abort,
     .dies_by = "SIGABRT",
     .marker = "almost"},
    {.id = "dies.by-another-signal", .run = dies_by_abort, DIES},
    {.id = "dies.before-the-marker", .run = segv, DIES},
    {.id = "dies.after-another-marker", .run = dies_elsewhere, DIES},
    {.id = "dies.after-a-failed-check", .run = dies_failing, DIES},
    {.id = "dies.not-at-all", .run = survives, DIES},
    {.id = "dies.leaving-a-grandchild", .run = dies_leaving, DIES},
    {0},
};
