/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "squeeze.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "conform.h"
#include "sanitizer.h"

#define LARGEST ((size_t)64 << 20)
#define SMALLEST ((size_t)16)
#define STACK_BYTES (256 * 1024)
#define RESERVES 8
#define RESERVE_BYTES ((size_t)100 << 10) /* not one mapping each */

/* A block that was eaten holds the next one. */
struct block {
    struct block *next;
};

static struct block *eaten;
static struct rlimit before;
static bool limited;

/* The main stack is to be grown before its growth is forbidden. */
__attribute__((noinline)) static void
touch_stack(void)
{
    volatile char deep[STACK_BYTES];
    for (size_t i = 0; i < sizeof deep; i += 1024)
        deep[i] = 1;
}

/* Bytes of address space that the process has. */
static size_t
address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%zu", &pages) != 1)
        conform_broken("/proc/self/statm cannot be read");
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void
eat_one(size_t bytes)
{
    struct block *block = malloc(bytes);
    if (block != NULL) {
        block->next = eaten;
        eaten = block;
    }
}

static void
give_back(void)
{
    while (eaten != NULL) {
        struct block *next = eaten->next;
        free(eaten);
        eaten = next;
    }
}

void
squeeze_limit(size_t slack)
{
    if (UNDER_ADDRESS_SANITIZER || UNDER_THREAD_SANITIZER ||
        UNDER_MEMORY_SANITIZER)
        conform_skip("a sanitizer ends the process for lack of memory");
    touch_stack();
    /* The heap is to hold every spare block in one piece. */
    for (int i = 0; i < RESERVES; i++)
        eat_one(RESERVE_BYTES);
    if (getrlimit(RLIMIT_AS, &before) != 0)
        conform_broken("getrlimit: %s", strerror(errno));
    struct rlimit limit = {address_space() + slack, before.rlim_max};
    if (limit.rlim_cur > before.rlim_max)
        conform_skip("the address space is limited to less already");
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        conform_broken("setrlimit: %s", strerror(errno));
    limited = true;
}

static void
eat(size_t bytes)
{
    struct block *before;
    do {
        before = eaten;
        eat_one(bytes);
    } while (eaten != before);
}

void
squeeze_heap(size_t spare)
{
    give_back();
    void *spare_block = spare > 0 ? malloc(spare) : NULL;
    for (size_t bytes = LARGEST; bytes >= SMALLEST; bytes /= 2)
        eat(bytes);
    free(spare_block);
}

void
squeeze_end(void)
{
    if (!limited)
        return;
    give_back();
    if (setrlimit(RLIMIT_AS, &before) != 0)
        conform_broken("setrlimit: %s", strerror(errno));
    limited = false;
}
