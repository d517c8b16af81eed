/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Case memory: one address range, reserved before the first census and used
 * from its low end. So what a case keeps (outcomes, patterns, ledgers) neither
 * moves the mapping totals nor mixes with the heap of the subject, and is gone
 * with the process without anybody freeing it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define RESERVE_MOST ((size_t)4 << 30)
#define RESERVE_LEAST ((size_t)64 << 20)
#define GROW_STEP ((size_t)1 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *base;
static size_t reserved;
static size_t usable; /* readable and writable, from base */
static size_t used;

/* Present in leak-checking builds: what the range points at is in use. */
__attribute__((weak)) extern void __lsan_register_root_region(const void *,
                                                              size_t);

void
conform_memory_reserve(void)
{
    for (size_t size = RESERVE_MOST; size >= RESERVE_LEAST; size /= 2) {
        void *memory = mmap(NULL, size, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED) {
            base = memory;
            reserved = size;
            break;
        }
    }
    if (base == NULL) {
        conform_broken("no address range for the memory of the case");
    }
    if (__lsan_register_root_region != NULL) {
        __lsan_register_root_region(base, reserved);
    }
}

size_t
conform_memory_reserved(void)
{
    return reserved;
}

/* With the lock held. */
static bool
grow_to(size_t end)
{
    if (end <= usable) {
        return true;
    }
    if (end > reserved) {
        return false;
    }
    size_t step = (end - usable + GROW_STEP - 1) / GROW_STEP * GROW_STEP;
    if (step > reserved - usable) {
        step = reserved - usable;
    }
    if (mprotect(base + usable, step, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    usable += step;
    return true;
}

void *
conform_allocate(size_t bytes)
{
    void *block = NULL;
    pthread_mutex_lock(&lock);
    size_t size = (bytes + 15) / 16 * 16;
    if (size >= bytes && size <= reserved - used && grow_to(used + size)) {
        block = base + used;
        used += size;
    }
    pthread_mutex_unlock(&lock);
    if (block == NULL) {
        conform_broken("no memory for %zu bytes of the case", bytes);
    }
    return block;
}

void *
conform_copy(const void *bytes, size_t len)
{
    char *copy = conform_allocate(len + 1);
    if (len > 0) {
        memcpy(copy, bytes, len);
    }
    return copy;
}
