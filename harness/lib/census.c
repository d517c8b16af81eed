/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the process holds, as sorted lines (kinds: harness/README.md). It reads
 * /proc through static buffers: a census must not change what it counts.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define MOST_LINES 8192

static char raw[CONFORM_CENSUS_BYTES];
static char file_buffer[65536];

void
census_clean(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            *text = '?';
        }
    }
}

void
census_line(struct census_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = text->cap - text->len;
    int len = vsnprintf(text->bytes + text->len, room, format, args);
    va_end(args);
    if (len < 0 || (size_t)len + 1 >= room) {
        text->cut = true;
        text->bytes[text->len] = '\0';
        return;
    }
    text->len += (size_t)len;
    text->bytes[text->len++] = '\n';
    text->bytes[text->len] = '\0';
}

bool
census_read(const char *path, char *buffer, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    size_t len = 0;
    ssize_t got = 0;
    while (len + 1 < cap &&
           ((got = read(fd, buffer + len, cap - len - 1)) > 0 ||
            (got < 0 && errno == EINTR))) {
        len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    buffer[len] = '\0';
    return true;
}

/* ---- Descriptors ------------------------------------------------------- */

static const char *
file_type(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFIFO:
        return "pipe";
    case S_IFREG:
        return "file";
    case S_IFCHR:
        return "device";
    case S_IFDIR:
        return "directory";
    case S_IFSOCK:
        return "socket";
    default:
        return "other";
    }
}

static void
fd_line(struct census_text *text, int fd)
{
    char path[64];
    char target[256];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len < 0 ? 0 : len] = '\0';
    census_clean(target);
    struct stat status = {0};
    fstat(fd, &status);
    census_line(text,
                "fd %d\ttype=%s flags=0%o cloexec=%d id=%" PRIxMAX ":%" PRIuMAX
                " of=%s",
                fd, file_type(status.st_mode), (unsigned)fcntl(fd, F_GETFL),
                (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0,
                (uintmax_t)status.st_dev, (uintmax_t)status.st_ino, target);
}

/* Writes lines unless text is NULL; returns the number of descriptors. */
static uint32_t
each_fd(struct census_text *text)
{
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) {
        conform_broken("/proc/self/fd: %s", strerror(errno));
    }
    uint32_t count = 0;
    for (struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        if (entry->d_name[0] == '.' ||
            atoi(entry->d_name) == dirfd(directory)) {
            continue;
        }
        count++;
        if (text != NULL) {
            fd_line(text, atoi(entry->d_name));
        }
    }
    closedir(directory);
    return count;
}

/* ---- Threads ----------------------------------------------------------- */

/* The value of a "Name:\tvalue" line of a status file, into value. */
static void
status_field(const char *status, const char *name, char *value, size_t cap)
{
    const char *at = strstr(status, name);
    value[0] = '\0';
    if (at == NULL) {
        return;
    }
    at += strlen(name);
    at += strspn(at, "\t ");
    snprintf(value, cap, "%.*s", (int)strcspn(at, "\n"), at);
    census_clean(value);
}

static void
thread_lines(struct census_text *text)
{
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) {
        conform_broken("/proc/self/task: %s", strerror(errno));
    }
    uint32_t count = 0;
    for (struct dirent *entry = readdir(tasks); entry != NULL;
         entry = readdir(tasks)) {
        char path[64];
        char name[64];
        char blocked[32];
        int tid = atoi(entry->d_name);
        snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
        if (tid <= 0 || conform_thread_is_ending(tid) ||
            !census_read(path, file_buffer, sizeof file_buffer)) {
            continue;
        }
        count++;
        status_field(file_buffer, "Name:", name, sizeof name);
        status_field(file_buffer, "SigBlk:", blocked, sizeof blocked);
        census_line(text, "thread %d\tname=%s host=%d sigblk=%s", tid, name,
                    conform_thread_is_host(tid), blocked);
    }
    closedir(tasks);
    census_line(text, "threads count\t%u", count);
}

/* ---- Mappings ---------------------------------------------------------- */

/*
 * Not counted: the brk heap, which only shrinks when its top is free; the
 * main stack, which grows with what the host calls; the page; case memory.
 */
static uint64_t
line_bytes(const char *line)
{
    uint64_t start = 0;
    uint64_t end = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2 ||
        strstr(line, "[heap]") != NULL || strstr(line, "[stack]") != NULL ||
        start == (uint64_t)(uintptr_t)conform_page) {
        return 0;
    }
    return end - start;
}

static uint64_t
mapped_bytes(void)
{
    static char line[512];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        conform_broken("/proc/self/maps: %s", strerror(errno));
    }
    uint64_t total = 0;
    size_t len = 0;
    ssize_t got;
    while ((got = read(fd, file_buffer, sizeof file_buffer)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (file_buffer[i] == '\n') {
                line[len] = '\0';
                total += line_bytes(line);
                len = 0;
            } else if (len + 1 < sizeof line) {
                line[len++] = file_buffer[i];
            }
        }
    }
    close(fd);
    return total - conform_memory_reserved();
}

static void
mapping_lines(struct census_text *text)
{
    if (UNDER_SANITIZER) {
        census_line(text,
                    "note mapped_bytes\tnot comparable under a sanitizer");
        return;
    }
    census_line(text, "mapped_bytes total\t%" PRIu64, mapped_bytes());
}

/* ---- The whole --------------------------------------------------------- */

static uint64_t
live_bytes(void)
{
    AllocStats stats = {0};
    if (api_raw.alloc_stats != NULL) {
        api_raw.alloc_stats(&stats);
    }
    return stats.live_bytes;
}

static int
by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static uint32_t
write_sorted(char *field, size_t cap, struct census_text *text)
{
    static char *lines[MOST_LINES];
    size_t count = 0;
    char *at = text->bytes;
    while (*at != '\0' && count < MOST_LINES) {
        char *end = strchr(at, '\n');
        lines[count++] = at;
        *end = '\0';
        at = end + 1;
    }
    qsort(lines, count, sizeof lines[0], by_text);
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(lines[i]);
        if (used + len + 1 >= cap) {
            break;
        }
        memcpy(field + used, lines[i], len);
        field[used + len] = '\n';
        used += len + 1;
    }
    field[used] = '\0';
    return (uint32_t)used;
}

uint32_t
conform_state_write(char *field, size_t cap)
{
    struct census_text text = {raw, sizeof raw, 0, false};
    raw[0] = '\0';
    census_process(&text);
    return write_sorted(field, cap, &text);
}

uint32_t
conform_census_write(char *field, size_t cap)
{
    /* The note about a cut must find room, whatever came before. */
    struct census_text text = {raw, sizeof raw - 64, 0, false};
    raw[0] = '\0';
    mapping_lines(&text);
    census_process(&text);
    if (api_raw.alloc_stats != NULL) {
        census_line(&text, "live_bytes stats\t%" PRIu64, live_bytes());
    }
    each_fd(&text);
    thread_lines(&text);
    if (text.cut) {
        text.cap = sizeof raw;
        census_line(&text, "note census\tcut, too many lines");
    }
    return write_sorted(field, cap, &text);
}

struct conform_census
conform_census_now(uint32_t settle_at_threads)
{
    if (settle_at_threads != 0) {
        conform_settle_threads(settle_at_threads);
    }
    struct conform_census census = {0};
    census.threads = conform_thread_count();
    census.fds = each_fd(NULL);
    if (!UNDER_SANITIZER) {
        census.mapped_bytes = mapped_bytes();
    }
    census.live_bytes = live_bytes();
    return census;
}
