/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "utf8.h"

struct conform_page *conform_page;

/* Set in a forked child, which shares the mapping but must not use it. */
static bool in_child;

static pthread_mutex_t evidence_lock = PTHREAD_MUTEX_INITIALIZER;

static void
entered_child(void)
{
    in_child = true;
}

bool
conform_in_child(void)
{
    return in_child;
}

static bool
refuse(const char *path, const char *what)
{
    fprintf(stderr, "conform: page %s: %s\n", path, what);
    return false;
}

static bool
page_is_sound(const char *path, const struct conform_page *page)
{
    if (page->magic != CONFORM_PAGE_MAGIC) {
        return refuse(path, "not a result page (magic)");
    }
    if (page->version != CONFORM_PAGE_VERSION) {
        return refuse(path, "made for another version of the protocol");
    }
    if (page->bytes != sizeof *page) {
        return refuse(path, "has another size than this program expects");
    }
    return true;
}

bool
conform_page_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return refuse(path, strerror(errno));
    }
    struct stat stat_buffer;
    if (fstat(fd, &stat_buffer) != 0 ||
        stat_buffer.st_size != (off_t)sizeof(struct conform_page)) {
        close(fd);
        return refuse(path, "has the wrong size for a result page");
    }
    void *memory = mmap(NULL, sizeof(struct conform_page),
                        PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        return refuse(path, "cannot be mapped");
    }
    if (!page_is_sound(path, memory)) {
        munmap(memory, sizeof(struct conform_page));
        return false;
    }
    conform_page = memory;
    pthread_atfork(NULL, NULL, entered_child);
    conform_page_phase(CONFORM_PHASE_MAPPED);
    return true;
}

bool
conform_page_private(void)
{
    /* Shared, so that a child made by fork sees what a file would show. */
    void *memory =
        mmap(NULL, sizeof(struct conform_page), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return refuse("(private)", strerror(errno));
    }
    conform_page = memory;
    pthread_atfork(NULL, NULL, entered_child);
    conform_page_phase(CONFORM_PHASE_MAPPED);
    return true;
}

void
conform_page_phase(enum conform_phase phase)
{
    __atomic_store_n(&conform_page->phase, (uint32_t)phase, __ATOMIC_SEQ_CST);
}

bool
conform_page_claim(void)
{
    return __atomic_exchange_n(&conform_page->failing, 1, __ATOMIC_ACQ_REL) ==
           0;
}

void
conform_page_outcome(enum conform_outcome outcome)
{
    __atomic_store_n(&conform_page->outcome, (uint32_t)outcome,
                     __ATOMIC_RELEASE);
}

enum conform_outcome
conform_page_outcome_now(void)
{
    return __atomic_load_n(&conform_page->outcome, __ATOMIC_ACQUIRE);
}

void
conform_page_count_check(void)
{
    if (!in_child) {
        __atomic_fetch_add(&conform_page->checks, 1, __ATOMIC_RELAXED);
    }
}

/*
 * The fields are UTF-8 whatever the subject's text was: the supervisor writes
 * XML and JSON from them. Also mends a character that the cut has halved.
 */
static void
mend(char *text)
{
    uint8_t *bytes = (uint8_t *)text;
    size_t left = strlen(text);
    while (left > 0) {
        size_t good = utf8_first_invalid(bytes, left);
        if (good == left) {
            return;
        }
        bytes[good] = '?';
        bytes += good + 1;
        left -= good + 1;
    }
}

void
conform_page_text(char *field, size_t cap, const char *text)
{
    size_t len = strnlen(text, cap - 1);
    memcpy(field, text, len);
    field[len] = '\0';
    mend(field);
}

void
conform_marker(const char *name)
{
    if (conform_in_child()) {
        return;
    }
    conform_page_text(conform_page->marker, sizeof conform_page->marker, name);
    if (conform_run.foreground) {
        fprintf(stderr, "conform: marker %s\n", name);
    }
}

void
conform_evidence(const char *key, const char *format, ...)
{
    char line[1024];
    int used = snprintf(line, sizeof line, "%s\t", key);
    if (used < 0 || (size_t)used >= sizeof line || conform_in_child()) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    census_clean(line + used);
    mend(line);
    size_t len = strlen(line);
    pthread_mutex_lock(&evidence_lock);
    size_t at = conform_page->evidence_bytes;
    if (at + len + 2 <= sizeof conform_page->evidence) {
        memcpy(conform_page->evidence + at, line, len);
        conform_page->evidence[at + len] = '\n';
        conform_page->evidence_bytes = (uint32_t)(at + len + 1);
    }
    pthread_mutex_unlock(&evidence_lock);
    if (conform_run.foreground) {
        fprintf(stderr, "conform: evidence %s\n", line);
    }
}
