/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "self.h"

struct conform_page *self_page;
const char *self_page_path;
uint64_t self_seed;
uint64_t self_live_bytes;

static const struct self_case *const groups[] = {check_cases, ending_cases,
                                                 leak_cases, page_cases};
enum { GROUPS = sizeof groups / sizeof groups[0] };

void
self_checked(void)
{
    __atomic_fetch_add(&self_page->checks, 1, __ATOMIC_RELAXED);
}

void
self_fail(const char *file, int line, const char *message, const char *expected,
          const char *actual)
{
    self_checked();
    self_page->failing = 1;
    self_page->line = (uint32_t)line;
    snprintf(self_page->file, sizeof self_page->file, "%s", file);
    snprintf(self_page->expression, sizeof self_page->expression, "sum");
    snprintf(self_page->message, sizeof self_page->message, "%s", message);
    snprintf(self_page->expected, sizeof self_page->expected, "%s", expected);
    snprintf(self_page->actual, sizeof self_page->actual, "%s", actual);
    self_page->outcome = CONFORM_OUTCOME_FAILED;
}

void
self_marker(const char *name)
{
    snprintf(self_page->marker, sizeof self_page->marker, "%s", name);
}

void
self_outcome(enum conform_outcome outcome, const char *reason)
{
    self_page->outcome = outcome;
    snprintf(self_page->reason, sizeof self_page->reason, "%s", reason);
}

static void
list(void)
{
    for (int i = 0; i < GROUPS; i++) {
        for (const struct self_case *c = groups[i]; c->id != NULL; c++) {
            printf("{\"id\":\"%s\",\"clauses\":[\"i2.contained\"],"
                   "\"timeout_ms\":%u,\"tags\":\"%s\"",
                   c->id, c->timeout_ms, c->tags ? c->tags : "");
            if (c->dies_by != NULL)
                printf(",\"dies_by\":\"%s\"", c->dies_by);
            if (c->marker != NULL)
                printf(",\"marker\":\"%s\"", c->marker);
            puts("}");
        }
    }
}

static const struct self_case *
find(const char *id)
{
    for (int i = 0; i < GROUPS; i++) {
        for (const struct self_case *c = groups[i]; c->id != NULL; c++) {
            if (strcmp(c->id, id) == 0)
                return c;
        }
    }
    fprintf(stderr, "conform-self: no case %s\n", id);
    exit(2);
}

static void
map_page(void)
{
    int fd = open(self_page_path, O_RDWR | O_CLOEXEC);
    void *page = fd < 0 ? MAP_FAILED
                        : mmap(NULL, sizeof *self_page, PROT_READ | PROT_WRITE,
                               MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        perror(self_page_path);
        exit(2);
    }
    close(fd);
    self_page = page;
    self_page->seed = self_seed;
    self_page->phase = CONFORM_PHASE_MAPPED;
}

/* These come before the page, the census or the body that the others have. */
static void
early(const char *id)
{
    if (strcmp(id, "page.not-mapped") == 0)
        exit(0);
    if (strcmp(id, "signal.before-page") == 0)
        abort();
    if (strcmp(id, "page.replaced") == 0) {
        char copy[sizeof(uint64_t)] = {0};
        unlink(self_page_path);
        int fd = open(self_page_path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || write(fd, copy, sizeof copy) < 0)
            exit(2);
        exit(0);
    }
}

static void
run(const struct self_case *c)
{
    early(c->id);
    map_page();
    if (strcmp(c->id, "signal.while-loading") == 0)
        abort();
    bool counted = strcmp(c->id, "leak.no-census") != 0;
    if (counted)
        self_page->census_before_bytes = self_census(self_page->census_before);
    self_page->phase = CONFORM_PHASE_BODY;
    c->run();
    if (counted)
        self_page->census_after_bytes = self_census(self_page->census_after);
    self_page->phase = CONFORM_PHASE_RETURNED;
    if (strcmp(c->id, "exit.after-body") == 0)
        _exit(0);
    if (strcmp(c->id, "leak.torn-census") == 0)
        *strchr(self_page->census_after, '\t') = ' ';
    if (self_page->outcome == CONFORM_OUTCOME_NONE &&
        strcmp(c->id, "broken.no-outcome") != 0)
        self_page->outcome = CONFORM_OUTCOME_PASSED;
    self_page->phase = CONFORM_PHASE_ENDED;
    if (strcmp(c->id, "exit.after-end") == 0)
        exit(3);
    if (strcmp(c->id, "signal.after-end") == 0)
        abort();
    if (strcmp(c->id, "sanitizer.address") == 0)
        exit(1);
    if (strcmp(c->id, "sanitizer.leak") == 0)
        exit(23);
    if (strcmp(c->id, "sanitizer.thread-silent") == 0)
        exit(66);
}

int
main(int argc, char **argv)
{
    const char *id = NULL;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return fflush(stdout) != 0;
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--run") == 0)
            id = argv[i + 1];
        if (strcmp(argv[i], "--page") == 0)
            self_page_path = argv[i + 1];
        if (strcmp(argv[i], "--seed") == 0)
            self_seed = strtoull(argv[i + 1], NULL, 10);
    }
    if (id == NULL || self_page_path == NULL) {
        fprintf(stderr, "usage: conform-self --list | --run ID --page FILE "
                        "--seed N\n");
        return 2;
    }
    run(find(id));
    return 0;
}
