/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "abi_check/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct stream {
    int fd;
    char *text;
    size_t len;
};

static bool
stream_read(struct stream *stream)
{
    char *grown = realloc(stream->text, stream->len + 65536 + 1);
    if (grown == NULL)
        return false;
    stream->text = grown;
    ssize_t n = read(stream->fd, stream->text + stream->len, 65536);
    if (n < 0 && errno == EINTR)
        n = 0;
    else if (n <= 0) {
        close(stream->fd);
        stream->fd = -1;
        n = 0;
    }
    stream->len += (size_t)n;
    stream->text[stream->len] = '\0';
    return true;
}

/* Both at once: a program that fills one pipe must not wait for the other. */
static int
read_both(struct stream *streams)
{
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        struct pollfd wait[2] = {{streams[0].fd, POLLIN, 0},
                                 {streams[1].fd, POLLIN, 0}};
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            return errno;
        for (int i = 0; i < 2; i++)
            if (wait[i].revents != 0 && !stream_read(&streams[i]))
                return ENOMEM;
    }
    return 0;
}

/* The environment with LC_ALL=C, since messages are compared and shown. */
static char **
plain_environment(void)
{
    size_t n = 0;
    while (environ[n] != NULL)
        n++;
    char **copy = calloc(n + 2, sizeof *copy);
    if (copy == NULL)
        return NULL;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            copy[kept++] = environ[i];
    copy[kept] = (char *)"LC_ALL=C";
    return copy;
}

static int
start(const char *const *argv, const int out[2], const int err[2], pid_t *pid)
{
    char **environment = plain_environment();
    if (environment == NULL)
        return ENOMEM;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    int failed = posix_spawnp(pid, argv[0], &actions, NULL,
                              (char *const *)(uintptr_t)argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return failed;
}

static void
close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

int
command_run(const char *const *argv, struct command_result *result)
{
    memset(result, 0, sizeof *result);
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(err, O_CLOEXEC) != 0) {
        int failed = errno;
        close_pair(out);
        return failed;
    }
    pid_t pid = 0;
    int failed = start(argv, out, err, &pid);
    if (failed != 0) {
        close_pair(out);
        close_pair(err);
        return failed;
    }
    close(out[1]);
    close(err[1]);
    struct stream streams[2] = {{out[0], NULL, 0}, {err[0], NULL, 0}};
    failed = read_both(streams);
    for (int i = 0; i < 2; i++)
        if (streams[i].fd >= 0)
            close(streams[i].fd);
    while (waitpid(pid, &result->wait_status, 0) < 0 && errno == EINTR)
        continue;
    result->out = streams[0].text;
    result->out_len = streams[0].len;
    result->err = streams[1].text;
    result->err_len = streams[1].len;
    if (failed != 0)
        command_free(result);
    return failed;
}

void
command_free(struct command_result *result)
{
    free(result->out);
    free(result->err);
    memset(result, 0, sizeof *result);
}

bool
command_succeeded(const struct command_result *result)
{
    return WIFEXITED(result->wait_status) &&
           WEXITSTATUS(result->wait_status) == 0;
}

void
command_describe(const struct command_result *result, char *text, size_t size)
{
    if (WIFSIGNALED(result->wait_status))
        snprintf(text, size, "signal %d", WTERMSIG(result->wait_status));
    else
        snprintf(text, size, "exit %d", WEXITSTATUS(result->wait_status));
}

static bool
is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

bool
command_find(const char *name, char *found, size_t size)
{
    if (strchr(name, '/') != NULL) {
        snprintf(found, size, "%s", name);
        return is_program(name);
    }
    const char *at = getenv("PATH");
    if (at == NULL)
        at = "/usr/bin:/bin";
    while (*at != '\0') {
        size_t n = strcspn(at, ":");
        int length = snprintf(found, size, "%.*s/%s", (int)n, at, name);
        if (n > 0 && length > 0 && (size_t)length < size && is_program(found))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}
