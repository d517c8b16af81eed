/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases on the glue of harness/lib: that its checks fail with their values,
 * and that its census sees each thing a subject could leave or change.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "conform.h"
#include "subject.h"

/* Cold: the subject cannot do a warm-up. */
#define GLUE_TAGGED(name, id_, tags_)                                \
    CONFORM_CASE(name, .id = "glue." id_, .clauses = "glue",         \
                 .why = "a failure that the glue misses",            \
                 .steps = "Does it on purpose.",                     \
                 .expected = "The verdict in harness/self/table.c.", \
                 .tags = CONFORM_COLD | (tags_))
#define GLUE(name, id_) GLUE_TAGGED(name, id_, 0)

static void
one_check(void)
{
    expect(true, "one check");
}

GLUE(passes, "passes")
{
    one_check();
}

GLUE(no_check, "no-check")
{
}

GLUE(wrong_i64, "wrong-i64")
{
    expect_i64(-4, -5, "the difference of %d and %d", 2, 6);
}

GLUE(wrong_u64, "wrong-u64")
{
    expect_u64(UINT64_MAX, 1, "the most");
}

GLUE(wrong_code, "wrong-code")
{
    expect_code(FFI_OK, FFI_POISONED, "a submit");
}

GLUE(wrong_text, "wrong-text")
{
    expect_text(TEXT_BEGINS, "PANIC: ", "panic", 5, "the message");
}

GLUE(wrong_bytes, "wrong-bytes")
{
    expect_bytes("abcd", 4, "abXd", 4, "the result");
}

GLUE(too_much, "too-much")
{
    expect_u64_at_most(20, 21, "threads");
}

static void
fail_aside(void *unused)
{
    (void)unused;
    expect(false, "seen aside");
}

GLUE(on_thread, "on-a-thread")
{
    conform_thread_join(conform_thread_start(fail_aside, NULL, 0));
}

GLUE(skips, "skips")
{
    conform_skip("nothing of that %s", "here");
}

GLUE(out_of_reach, "out-of-reach")
{
    conform_out_of_reach("no engine");
}

GLUE(broken, "broken")
{
    conform_broken("no pipe");
}

GLUE(exits, "exits")
{
    one_check();
    exit(0);
}

GLUE(descriptor, "descriptor")
{
    one_check();
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
        conform_broken("/dev/null");
}

GLUE(descriptor_flags, "descriptor-flags")
{
    one_check();
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
}

GLUE(descriptor_closed, "descriptor-closed")
{
    one_check();
    close(STDIN_FILENO);
}

GLUE(descriptor_swapped, "descriptor-swapped")
{
    one_check();
    close(STDIN_FILENO);
    if (open("/dev/zero", O_RDONLY) != STDIN_FILENO)
        conform_broken("/dev/zero");
}

static void *
stay(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* The second census waits seconds for threads to end. */
GLUE_TAGGED(thread, "thread", CONFORM_SLEEPS)
{
    pthread_t left;
    one_check();
    pthread_create(&left, NULL, stay, NULL);
}

GLUE(mapping, "mapping")
{
    one_check();
    if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        conform_broken("mmap");
}

GLUE(live_bytes, "live-bytes")
{
    one_check();
    glue_live_bytes += 24;
}

GLUE(fewer_live_bytes, "fewer-live-bytes")
{
    one_check();
    glue_live_bytes -= 1;
}

static void
handle(int number)
{
    (void)number;
}

GLUE(disposition, "disposition")
{
    one_check();
    signal(SIGPIPE, SIG_IGN);
}

GLUE(handler, "handler")
{
    struct sigaction action = {.sa_handler = handle};
    one_check();
    sigaction(SIGSEGV, &action, NULL);
}

GLUE(mask, "mask")
{
    sigset_t set;
    one_check();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

GLUE(altstack, "altstack")
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    one_check();
    sigaltstack(&stack, NULL);
}

GLUE(mode_mask, "umask")
{
    one_check();
    umask(umask(0) ^ 0077);
}

GLUE(folder, "cwd")
{
    one_check();
    if (chdir("/proc") != 0)
        conform_broken("/proc");
}

GLUE(language, "locale")
{
    one_check();
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL &&
        setlocale(LC_CTYPE, "C.utf8") == NULL)
        conform_broken("no second locale");
}

GLUE(environment, "environment")
{
    one_check();
    setenv("GLUE", "1", 1);
}

GLUE(interval, "interval-timer")
{
    struct itimerval timer = {.it_value = {.tv_sec = 1000}};
    one_check();
    setitimer(ITIMER_REAL, &timer, NULL);
}

GLUE(posix_timer, "posix-timer")
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    one_check();
    timer_create(CLOCK_MONOTONIC, &event, &timer);
}

GLUE(limit, "limit")
{
    struct rlimit files;
    one_check();
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur -= 1;
    setrlimit(RLIMIT_NOFILE, &files);
}

GLUE(handler_flags, "handler-flags")
{
    struct sigaction action = {.sa_handler = handle};
    one_check();
    sigaction(SIGUSR1, NULL, &action);
    action.sa_flags |= SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
}

GLUE(handler_mask, "handler-mask")
{
    struct sigaction action;
    one_check();
    sigaction(SIGUSR1, NULL, &action);
    sigaddset(&action.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &action, NULL);
}

/* There before the census, so that the two above change no more than they
 * say. */
__attribute__((constructor)) static void
handle_one_signal(void)
{
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
}

GLUE(close_on_exec, "close-on-exec")
{
    one_check();
    fcntl(STDIN_FILENO, F_SETFD, FD_CLOEXEC);
}

GLUE(timer_descriptor, "timer-descriptor")
{
    one_check();
    if (timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) < 0)
        conform_broken("timerfd_create: %s", strerror(errno));
}

GLUE(rounding, "rounding")
{
    one_check();
    fesetround(FE_UPWARD);
}

GLUE(traps, "traps")
{
    one_check();
    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_DIVBYZERO);
}

GLUE(niceness, "nice")
{
    one_check();
    if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1) != 0)
        conform_broken("setpriority: %s", strerror(errno));
}

GLUE(policy, "scheduling-policy")
{
    struct sched_param parameters = {0};
    one_check();
    if (sched_setscheduler(0, SCHED_BATCH, &parameters) != 0)
        conform_broken("sched_setscheduler: %s", strerror(errno));
}

GLUE(timer_slack, "timer-slack")
{
    one_check();
    prctl(PR_SET_TIMERSLACK, 4711);
}

GLUE(pending, "pending-signal")
{
    sigset_t set, before;
    one_check();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    raise(SIGUSR2);
}

GLUE(name, "process-name")
{
    one_check();
    prctl(PR_SET_NAME, "renamed");
}

GLUE(dumpable, "dumpable")
{
    one_check();
    prctl(PR_SET_DUMPABLE, 0);
}

GLUE(privileges, "no-new-privileges")
{
    one_check();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

GLUE(subreaper, "subreaper")
{
    one_check();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

GLUE(core_filter, "coredump-filter")
{
    one_check();
    int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0x7f", 4) != 4)
        conform_broken("coredump_filter: %s", strerror(errno));
    close(fd);
}

/* What a call leaves on a thread of the host, which the census cannot see. */
static void
change_mask(void *unused)
{
    sigset_t set;
    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void
change_stack(void *unused)
{
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    (void)unused;
    sigaltstack(&stack, NULL);
}

static void
change_rounding(void *unused)
{
    (void)unused;
    fesetround(FE_DOWNWARD);
}

GLUE(thread_mask, "mask-of-a-thread")
{
    conform_thread_join(conform_thread_start(change_mask, NULL, 0));
}

GLUE(thread_stack, "altstack-of-a-thread")
{
    conform_thread_join(conform_thread_start(change_stack, NULL, 0));
}

GLUE(thread_rounding, "rounding-of-a-thread")
{
    conform_thread_join(conform_thread_start(change_rounding, NULL, 0));
}
