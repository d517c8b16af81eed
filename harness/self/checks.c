/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Controls, and checks that fail. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self.h"

static void
nothing(void)
{
}

static void
skip(void)
{
    self_outcome(CONFORM_OUTCOME_SKIPPED, "nothing of that here");
}

static void
skip_silently(void)
{
    self_outcome(CONFORM_OUTCOME_SKIPPED, "");
}

static void
reach(void)
{
    self_outcome(CONFORM_OUTCOME_OUT_OF_REACH,
                 "needs an engine that is not there");
}

static void
broken(void)
{
    self_outcome(CONFORM_OUTCOME_BROKEN, "no pipe to be had");
}

static void
must(bool condition, int line, const char *what)
{
    if (condition)
        self_checked();
    else
        self_fail(__FILE__, line, what, "true", "false");
}

static bool
setting_is(const char *name, const char *value)
{
    const char *found = getenv(name);
    return found != NULL && strcmp(found, value) == 0;
}

/* What spawn.h promises to every case. */
static void
environment(void)
{
    struct stat in, null;
    struct rlimit core;
    sigset_t mask;
    must(setting_is("LC_ALL", "C"), __LINE__, "LC_ALL is C");
    must(getenv("GLIBC_TUNABLES") != NULL, __LINE__, "tunables are set");
    must(getpgid(0) == getpid(), __LINE__, "leads a process group");
    must(fstat(0, &in) == 0 && stat("/dev/null", &null) == 0 &&
             in.st_rdev == null.st_rdev,
         __LINE__, "standard input is /dev/null");
    must(fcntl(0, F_GETFL) == O_RDONLY ||
             (fcntl(0, F_GETFL) & O_ACCMODE) == O_RDONLY,
         __LINE__, "standard input is for reading");
    must(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur <= 1, __LINE__,
         "no core file");
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0)
            continue;
        must(action.sa_handler == SIG_DFL, __LINE__, "default dispositions");
        must(sigismember(&mask, number) != 1, __LINE__, "an empty mask");
    }
    must(fcntl(3, F_GETFD) < 0, __LINE__, "no descriptor beyond the three");
}

static void
unmap_something(void)
{
    extern void *spare_mapping;
    self_checked();
    if (munmap(spare_mapping, 1 << 20) != 0)
        self_fail(__FILE__, __LINE__, "munmap", "0", "-1");
}

static void
reaped_grandchild(void)
{
    self_checked();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
}

static void
wrong_value(void)
{
    self_fail(__FILE__, __LINE__, "the sum of two and two", "4", "5");
}

static void *
fail_and_end(void *unused)
{
    (void)unused;
    self_fail(__FILE__, __LINE__, "seen by a second thread", "0", "1");
    _exit(1);
}

static void
other_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fail_and_end, NULL) == 0)
        pthread_join(thread, NULL);
}

/* The fields are claimed, and then the process is over. */
static void
claim_and_pass(void)
{
    self_checked();
    self_page->failing = 1;
}

static void
skip_with_claim(void)
{
    self_page->failing = 1;
    self_outcome(CONFORM_OUTCOME_SKIPPED, "nothing of that here");
}

static void
fail_then_crash(void)
{
    self_fail(__FILE__, __LINE__, "failed first", "0", "1");
    raise(SIGSEGV);
}

static void
flood(void)
{
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (size_t i = 63; i < sizeof block; i += 64)
        block[i] = '\n';
    for (int i = 0; i < 50; i++) {
        if (write(1, block, sizeof block) < 0)
            return;
    }
    if (write(2, "last words\n", 11) < 0)
        return;
    self_fail(__FILE__, __LINE__, "after the flood", "0", "1");
}

static void
wild_output(void)
{
    static const char words[] =
        "escape \033[2J byte \377 nul \0 csi \302\233 end\n";
    if (write(1, words, sizeof words - 1) < 0)
        return;
    self_fail(__FILE__, __LINE__, "wild output", "0", "1");
}

static void
flaky(void)
{
    if (self_seed % 2 == 0)
        self_checked();
    else
        self_fail(__FILE__, __LINE__, "an odd seed", "even", "odd");
}

static void
say(const char *words)
{
    self_checked();
    fputs(words, stderr);
}

static void
address(void)
{
    say("==1==ERROR: AddressSanitizer: heap-use-after-free (pretended)\n");
}

static void
undefined(void)
{
    say("x.c:1:2: runtime error: signed integer overflow (pretended)\n");
}

static void
leak(void)
{
    say("==1==ERROR: LeakSanitizer: detected memory leaks (pretended)\n");
}

const struct self_case check_cases[] = {
    {.id = "pass.plain", .run = self_checked},
    {.id = "pass.environment", .run = environment},
    {.id = "pass.no-census", .run = self_checked, .tags = "no-census"},
    {.id = "pass.less-mapped", .run = unmap_something},
    {.id = "pass.grandchild-reaped", .run = reaped_grandchild},
    {.id = "skip.with-reason", .run = skip},
    {.id = "skip.without-reason", .run = skip_silently},
    {.id = "reach.with-reason", .run = reach},
    {.id = "broken.by-case", .run = broken},
    {.id = "broken.no-outcome", .run = self_checked},
    {.id = "check.wrong-value", .run = wrong_value},
    {.id = "check.on-another-thread", .run = other_thread},
    {.id = "check.claimed-only", .run = claim_and_pass},
    {.id = "skip.with-claim", .run = skip_with_claim},
    {.id = "check.then-signal", .run = fail_then_crash},
    {.id = "check.none", .run = nothing},
    {.id = "check.flood", .run = flood},
    {.id = "check.wild-output", .run = wild_output},
    {.id = "flaky.by-seed", .run = flaky},
    {.id = "sanitizer.address", .run = address},
    {.id = "sanitizer.undefined", .run = undefined},
    {.id = "sanitizer.leak", .run = leak},
    {.id = "sanitizer.thread-silent", .run = self_checked},
    {0},
};
