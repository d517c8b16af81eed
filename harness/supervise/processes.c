/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_NAMED = 8 };

static void
read_file(const char *path, struct text *text)
{
    char block[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        text_add_bytes(text, block, (size_t)got);
    }
    close(fd);
}

void
process_file(pid_t pid, const char *file, struct text *text)
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    read_file(path, text);
}

/* The name may hold blanks and brackets: it ends at the last bracket. */
static bool
parse_stat(const char *stat, struct process *process)
{
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    int pid = 0, parent = 0, group = 0, session = 0;
    if (open == NULL || close == NULL || close < open ||
        sscanf(stat, "%d", &pid) != 1 ||
        sscanf(close + 1, " %c %d %d %d", &process->state, &parent, &group,
               &session) != 4)
        return false;
    process->pid = pid;
    process->parent = parent;
    process->group = group;
    process->session = session;
    snprintf(process->name, sizeof process->name, "%.*s",
             (int)(close - open - 1), open + 1);
    return true;
}

bool
process_read(pid_t pid, struct process *process)
{
    struct text stat = {0};
    process_file(pid, "stat", &stat);
    bool read = parse_stat(text_get(&stat), process);
    text_free(&stat);
    return read;
}

const char *
process_state_word(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "in the kernel";
    case 'T':
        return "stopped";
    case 't':
        return "traced";
    case 'Z':
        return "ended";
    default:
        return "in an unknown state";
    }
}

static void
add_pid(pid_t **children, size_t *count, pid_t pid)
{
    *children = need_more(*children, *count + 1, sizeof **children);
    (*children)[(*count)++] = pid;
}

static size_t
scan_all(pid_t **children)
{
    size_t count = 0;
    const struct dirent *entry = NULL;
    struct process process;
    DIR *folder = opendir("/proc");
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && process_read(pid, &process) &&
            process.parent == getpid())
            add_pid(children, &count, pid);
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

size_t
process_children(pid_t **children, bool thorough)
{
    char path[128];
    struct text list = {0};
    size_t count = 0;
    *children = NULL;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (thorough || access(path, R_OK) != 0)
        return scan_all(children);
    read_file(path, &list);
    char *end = NULL;
    for (const char *at = text_get(&list);; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        add_pid(children, &count, (pid_t)pid);
    }
    text_free(&list);
    return count;
}

void
process_threads(pid_t pid, struct text *text)
{
    char path[64];
    struct text list = {0};
    size_t count = 0;
    const struct dirent *entry = NULL;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        struct process thread;
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (count > THREADS_NAMED ||
            !process_read((pid_t)atoi(entry->d_name), &thread))
            continue;
        text_add(&list, "%s", count > 1 ? ", " : "");
        text_add_clean(&list, thread.name, strlen(thread.name));
        text_add(&list, " %s", process_state_word(thread.state));
    }
    if (folder != NULL)
        closedir(folder);
    if (count == 0)
        return;
    text_add(text, "%zu thread%s: %s%s", count, count == 1 ? "" : "s",
             text_get(&list), count > THREADS_NAMED ? ", ..." : "");
    text_free(&list);
}
