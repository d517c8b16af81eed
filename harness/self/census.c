/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A census of this process, made of system calls and /proc alone and without
 * allocating, so that it does not change what it counts.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "self.h"

enum { DESCRIPTORS = 256 };

struct writer {
    char *text;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void
fact(struct writer *writer, const char *format, ...)
{
    size_t room = CONFORM_CENSUS_BYTES - writer->len;
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(writer->text + writer->len, room, format, arguments);
    va_end(arguments);
    if (len > 0 && (size_t)len < room)
        writer->len += (size_t)len;
}

static void
descriptors(struct writer *writer)
{
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        char path[64], target[256];
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(path, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        fact(writer, "fd %d\t%s flags %#x\n", fd, target, (unsigned)flags);
    }
}

static size_t
slurp(const char *path, char *text, size_t bytes)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; fd >= 0 && got > 0; len += (size_t)got) {
        got = read(fd, text + len, bytes - 1 - len);
        if (got < 0)
            got = 0;
    }
    if (fd >= 0)
        close(fd);
    text[len] = '\0';
    return len;
}

static void
threads(struct writer *writer)
{
    static char text[8192];
    slurp("/proc/self/status", text, sizeof text);
    const char *line = strstr(text, "\nThreads:");
    int count = line ? atoi(line + 9) : 0;
    fact(writer, "threads -\t%d\n", count);
    for (int i = 1; i < count; i++)
        fact(writer, "thread number-%d\tsomewhere\n", i);
}

static void
signals(struct writer *writer)
{
    struct sigaction action;
    sigset_t mask;
    sigaction(SIGPIPE, NULL, &action);
    fact(writer, "signal SIGPIPE\t%s\n",
         action.sa_handler == SIG_DFL   ? "default"
         : action.sa_handler == SIG_IGN ? "ignored"
                                        : "handled");
    sigprocmask(SIG_SETMASK, NULL, &mask);
    fact(writer, "mask -\t");
    for (int number = 1; number <= SIGRTMAX; number++) {
        if (sigismember(&mask, number) == 1)
            fact(writer, "%d ", number);
    }
    fact(writer, "blocked\n");
}

/* The heap and the stack grow and shrink by themselves. */
static void
mappings(struct writer *writer)
{
    static char text[262144];
    uint64_t bytes = 0;
    slurp("/proc/self/maps", text, sizeof text);
    for (char *line = text; *line != '\0';) {
        char *end = strchrnul(line, '\n');
        unsigned long from = 0, to = 0;
        bool more = *end != '\0';
        *end = '\0';
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 &&
            strstr(line, "[heap]") == NULL && strstr(line, "[stack]") == NULL)
            bytes += to - from;
        line = end + more;
    }
    fact(writer, "mapped_bytes -\t%llu\n", (unsigned long long)bytes);
}

uint32_t
self_census(char *text)
{
    struct writer writer = {.text = text};
    char folder[4096];
    mode_t mode = umask(0);
    umask(mode);
    descriptors(&writer);
    threads(&writer);
    signals(&writer);
    mappings(&writer);
    fact(&writer, "umask -\t%03o\n", (unsigned)mode);
    fact(&writer, "cwd -\t%s\n",
         getcwd(folder, sizeof folder) ? folder : "unknown");
    fact(&writer, "live_bytes -\t%llu\n", (unsigned long long)self_live_bytes);
    return (uint32_t)writer.len;
}
