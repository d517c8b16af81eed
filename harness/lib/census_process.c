/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The part of the census about what belongs to the whole process. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "internal.h"

#define SIGNALS 64

extern char **environ;

static uint64_t
mask_bits(const sigset_t *set)
{
    uint64_t bits = 0;
    for (int number = 1; number <= SIGNALS; number++) {
        if (sigismember(set, number) == 1) {
            bits |= UINT64_C(1) << (number - 1);
        }
    }
    return bits;
}

static uint64_t
status_mask(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 16);
}

/* The C library keeps a few signals to itself; the kernel knows them too. */
static void
reserved_signal_line(struct census_text *text, int number, const char *status)
{
    uint64_t bit = UINT64_C(1) << (number - 1);
    bool ignored = (status_mask(status, "SigIgn:") & bit) != 0;
    bool caught = (status_mask(status, "SigCgt:") & bit) != 0;
    census_line(text, "signal %d\thandler=%s", number,
                caught    ? "caught"
                : ignored ? "ignore"
                          : "default");
}

/*
 * Without a handler the mask and most flags mean nothing, and a host that puts
 * SIG_DFL back leaves other ones there than it found.
 */
static void
action_line(struct census_text *text, int number,
            const struct sigaction *action)
{
    unsigned flags = (unsigned)action->sa_flags;
    unsigned child_flags = flags & (SA_NOCLDSTOP | SA_NOCLDWAIT);
    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
        census_line(text, "signal %d\thandler=%s flags=0x%x", number,
                    action->sa_handler == SIG_DFL ? "default" : "ignore",
                    child_flags);
        return;
    }
    census_line(text,
                "signal %d\thandler=0x%" PRIxPTR " flags=0x%x mask=%016" PRIx64,
                number, (uintptr_t)action->sa_handler, flags,
                mask_bits(&action->sa_mask));
}

static void
signal_lines(struct census_text *text, const char *status)
{
    for (int number = 1; number <= SIGNALS; number++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        if (sigaction(number, NULL, &action) != 0) {
            reserved_signal_line(text, number, status);
            continue;
        }
        action_line(text, number, &action);
    }
}

static void
main_thread_lines(struct census_text *text)
{
    sigset_t mask;
    stack_t stack;
    sigemptyset(&mask);
    memset(&stack, 0, sizeof stack);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigaltstack(NULL, &stack);
    census_line(text, "mask main\t%016" PRIx64, mask_bits(&mask));
    census_line(text, "altstack main\tat=0x%" PRIxPTR " size=%zu flags=%d",
                (uintptr_t)stack.ss_sp, stack.ss_size, stack.ss_flags);
}

static uint64_t
environment_hash(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        for (const char *at = *entry;; at++) {
            hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
            if (*at == '\0') {
                break;
            }
        }
    }
    return hash;
}

static void
place_lines(struct census_text *text, const char *status)
{
    char cwd[512];
    ssize_t len = readlink("/proc/self/cwd", cwd, sizeof cwd - 1);
    cwd[len < 0 ? 0 : len] = '\0';
    census_clean(cwd);
    census_line(text, "cwd process\t%s", cwd);
    const char *umask_at = strstr(status, "Umask:");
    census_line(text, "umask process\t%.4s",
                umask_at == NULL ? "?" : umask_at + strlen("Umask:\t"));
    const char *locale = setlocale(LC_ALL, NULL);
    census_line(text, "locale process\t%s", locale == NULL ? "?" : locale);
    census_line(text, "environment hash\t%016" PRIx64, environment_hash());
}

static uint32_t
posix_timers(void)
{
    static char buffer[4096];
    uint32_t count = 0;
    if (census_read("/proc/self/timers", buffer, sizeof buffer)) {
        for (const char *at = buffer; *at != '\0';
             at += strcspn(at, "\n"), at += *at == '\n') {
            count += strncmp(at, "ID: ", 4) == 0;
        }
    }
    return count;
}

static void
timer_lines(struct census_text *text)
{
    static const struct {
        int which;
        const char *name;
    } timers[] = {{ITIMER_REAL, "real"},
                  {ITIMER_VIRTUAL, "virtual"},
                  {ITIMER_PROF, "prof"}};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        struct itimerval value;
        memset(&value, 0, sizeof value);
        getitimer(timers[i].which, &value);
        bool armed = value.it_value.tv_sec != 0 || value.it_value.tv_usec != 0;
        census_line(text, "itimer %s\tarmed=%d interval=%jd.%06jd",
                    timers[i].name, armed, (intmax_t)value.it_interval.tv_sec,
                    (intmax_t)value.it_interval.tv_usec);
    }
    census_line(text, "timers posix\t%u", posix_timers());
}

static void
limit_lines(struct census_text *text)
{
    static const struct {
        int which;
        const char *name;
    } limits[] = {
        {RLIMIT_AS, "as"},         {RLIMIT_CORE, "core"},
        {RLIMIT_CPU, "cpu"},       {RLIMIT_DATA, "data"},
        {RLIMIT_FSIZE, "fsize"},   {RLIMIT_MEMLOCK, "memlock"},
        {RLIMIT_NOFILE, "nofile"}, {RLIMIT_NPROC, "nproc"},
        {RLIMIT_STACK, "stack"},   {RLIMIT_MSGQUEUE, "msgqueue"},
        {RLIMIT_NICE, "nice"},     {RLIMIT_RTPRIO, "rtprio"},
        {RLIMIT_RTTIME, "rttime"}, {RLIMIT_SIGPENDING, "sigpending"},
        {RLIMIT_LOCKS, "locks"},   {RLIMIT_RSS, "rss"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct rlimit limit = {0, 0};
        getrlimit(limits[i].which, &limit);
        census_line(text, "rlimit %s\tsoft=%jx hard=%jx", limits[i].name,
                    (uintmax_t)limit.rlim_cur, (uintmax_t)limit.rlim_max);
    }
}

void
census_process(struct census_text *text)
{
    static char status[8192];
    if (!census_read("/proc/self/status", status, sizeof status)) {
        conform_broken("/proc/self/status cannot be read");
    }
    signal_lines(text, status);
    main_thread_lines(text);
    place_lines(text, status);
    timer_lines(text);
    limit_lines(text);
    census_more(text);
}
