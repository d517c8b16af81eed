/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

struct fence {
    struct fence *next;
    uint8_t *block;
    uint8_t *base; /* an inaccessible page, the data pages, another one */
    size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fence *fences;

void *
conform_fence(size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t data = (len + page - 1) / page * page;
    struct fence *fence = conform_allocate(sizeof *fence);
    fence->bytes = data + 2 * page;
    void *memory =
        mmap(NULL, fence->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        conform_broken("a fence of %zu bytes: %s", len, strerror(errno));
    }
    fence->base = memory;
    if (data > 0 &&
        mprotect(fence->base + page, data, PROT_READ | PROT_WRITE) != 0) {
        conform_broken("a fence of %zu bytes: %s", len, strerror(errno));
    }
    fence->block = fence->base + page + data - len;
    pthread_mutex_lock(&lock);
    fence->next = fences;
    /* conform_fence_holds looks without the lock first. */
    __atomic_store_n(&fences, fence, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return fence->block;
}

/* Unlinks it when `remove`. */
static struct fence *
find(const void *block, bool remove)
{
    pthread_mutex_lock(&lock);
    struct fence **link = &fences;
    while (*link != NULL && (*link)->block != block) {
        link = &(*link)->next;
    }
    struct fence *found = *link;
    if (found != NULL && remove) {
        __atomic_store_n(link, found->next, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        conform_broken("%p is no fenced block", block);
    }
    return found;
}

bool
conform_fence_holds(const void *at)
{
    bool found = false;
    if (__atomic_load_n(&fences, __ATOMIC_RELAXED) == NULL) {
        return false;
    }
    pthread_mutex_lock(&lock);
    for (const struct fence *fence = fences; fence != NULL && !found;
         fence = fence->next) {
        found = (uintptr_t)at - (uintptr_t)fence->base < fence->bytes;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void
conform_fence_revoke(void *block)
{
    struct fence *fence = find(block, false);
    if (mprotect(fence->base, fence->bytes, PROT_NONE) != 0) {
        conform_broken("revoking a fence: %s", strerror(errno));
    }
}

void
conform_fence_free(void *block)
{
    struct fence *fence = find(block, true);
    munmap(fence->base, fence->bytes);
}

void
conform_fences_end(void)
{
    while (fences != NULL) {
        conform_fence_free(fences->block);
    }
}
