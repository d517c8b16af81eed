/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Options under which a sanitizer lets a deadly signal through. */
#define SIGNALS_THROUGH                                             \
    "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:" \
    "handle_sigfpe=0:allow_user_segv_handler=1"

static const char *const replaced[] = {
    "LC_ALL",          "LANG",        "LANGUAGE", "GLIBC_TUNABLES",
    "DEBUGINFOD_URLS", "GOTRACEBACK", SPAWN_TOKEN};
static const char *const sanitizers[] = {"ASAN_OPTIONS", "TSAN_OPTIONS",
                                         "UBSAN_OPTIONS", "LSAN_OPTIONS",
                                         "MSAN_OPTIONS"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool
named(const char *setting, const char *const *names, size_t count)
{
    size_t len = strcspn(setting, "=");
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == len && strncmp(setting, names[i], len) == 0)
            return true;
    }
    return false;
}

struct strings
spawn_environment(const char *token, bool signals_untouched)
{
    struct strings list = {0};
    struct text line = {0};
    for (char **at = environ; *at != NULL; at++) {
        if (named(*at, replaced, COUNT(replaced)))
            continue;
        if (signals_untouched && named(*at, sanitizers, COUNT(sanitizers)))
            continue;
        strings_add(&list, *at);
    }
    strings_add(&list, "LC_ALL=C");
    /* Stacks and arenas kept for later would look like leaks. */
    strings_add(&list, "GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0:"
                       "glibc.malloc.arena_max=1");
    /* A Go program that panics then ends by a signal, with all stacks. */
    strings_add(&list, "GOTRACEBACK=crash");
    text_add(&line, "%s=%s", SPAWN_TOKEN, token);
    strings_add(&list, text_get(&line));
    for (size_t i = 0; signals_untouched && i < COUNT(sanitizers); i++) {
        const char *value = getenv(sanitizers[i]);
        text_free(&line);
        text_add(&line, "%s=%s%s" SIGNALS_THROUGH, sanitizers[i],
                 value ? value : "", value ? ":" : "");
        strings_add(&list, text_get(&line));
    }
    text_free(&line);
    strings_add(&list, "");
    free(list.items[--list.count]);
    list.items[list.count] = NULL;
    return list;
}

static void
reset_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Between fork and exec; reports errno to the parent when exec failed. */
__attribute__((noreturn)) static void
become(char *const argv[], char *const environment[], int output, int errors,
       int report)
{
    /* One byte: too little for a file, and the value at which the kernel does
     * not start a core handler either, which it does for 0. */
    struct rlimit none = {1, 1};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
        dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0) {
        reset_signals();
        execvpe(argv[0], argv, environment);
    }
    int error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR)
        continue;
    _exit(127);
}

static void
close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0)
            close(pair[i]);
    }
}

/* Waits until exec has happened; errno of the failure, or 0. */
static int
exec_error(int report)
{
    int error = 0;
    ssize_t got = 0;
    while ((got = read(report, &error, sizeof error)) < 0 && errno == EINTR)
        continue;
    return got == (ssize_t)sizeof error ? error : 0;
}

pid_t
spawn_start(char *const argv[], char *const environment[], int *output,
            int *errors)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1};
    pid_t pid = -1;
    int error = 0;
    if (pipe2(out, O_CLOEXEC) == 0 && pipe2(report, O_CLOEXEC) == 0 &&
        (errors == NULL || pipe2(err, O_CLOEXEC) == 0))
        pid = fork();
    if (pid == 0)
        become(argv, environment, out[1], errors ? err[1] : out[1], report[1]);
    if (pid < 0) {
        error = errno;
        close_pair(out);
        close_pair(err);
        close_pair(report);
        errno = error;
        return -1;
    }
    setpgid(pid, pid);
    close(report[1]);
    close(out[1]);
    if (errors != NULL)
        close(err[1]);
    error = exec_error(report[0]);
    close(report[0]);
    if (error != 0) {
        waitpid(pid, NULL, 0);
        close(out[0]);
        if (errors != NULL)
            close(err[0]);
        errno = error;
        return -1;
    }
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    *output = out[0];
    if (errors != NULL) {
        fcntl(err[0], F_SETFL, O_NONBLOCK);
        *errors = err[0];
    }
    return pid;
}

bool
spawn_read(int fd, struct text *text)
{
    char block[65536];
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got > 0)
            text_add_bytes(text, block, (size_t)got);
        else if (got < 0 && errno == EINTR)
            continue;
        else
            return got < 0;
    }
}

/* A program may close its outputs and still go on. */
static int
wait_until(pid_t pid, uint64_t end, bool *timed_out)
{
    int status = 0;
    const struct timespec pause = {0, 1000000};
    while (!*timed_out && waitpid(pid, &status, WNOHANG) == 0) {
        if (now_ns() < end) {
            nanosleep(&pause, NULL);
            continue;
        }
        *timed_out = true;
        kill(-pid, SIGKILL);
    }
    if (*timed_out)
        waitpid(pid, &status, 0);
    return status;
}

int
spawn_capture(char *const argv[], unsigned timeout_ms, struct text *output,
              struct text *errors, bool *timed_out)
{
    struct strings environment = spawn_environment("none", false);
    int fds[2] = {-1, -1};
    struct text *texts[2] = {output, errors};
    *timed_out = false;
    pid_t pid = spawn_start(argv, environment.items, &fds[0], &fds[1]);
    int error = errno;
    strings_free(&environment);
    errno = error;
    if (pid < 0)
        return -1;
    uint64_t end = now_ns() + timeout_ms * UINT64_C(1000000);
    while (fds[0] >= 0 || fds[1] >= 0) {
        struct pollfd polled[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
        uint64_t now = now_ns();
        int wait = now < end ? (int)((end - now) / 1000000 + 1) : 0;
        if (poll(polled, 2, wait) == 0 && now_ns() >= end) {
            *timed_out = true;
            kill(-pid, SIGKILL);
            break;
        }
        for (int i = 0; i < 2; i++) {
            if (polled[i].revents != 0 && !spawn_read(fds[i], texts[i])) {
                close(fds[i]);
                fds[i] = -1;
            }
        }
    }
    close_pair(fds);
    int status = wait_until(pid, end, timed_out);
    kill(-pid, SIGKILL);
    return status;
}
