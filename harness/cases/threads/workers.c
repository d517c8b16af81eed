/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "workers.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_SIGNAL SIGUSR2

static struct sight seen[WORKERS_MAX];
static atomic_uint seen_count;
static atomic_uint seen_finished;

/* Only system calls and memory of its own: async-signal-safe. */
static void
look(int signal_number)
{
    (void)signal_number;
    uint32_t index = atomic_fetch_add(&seen_count, 1);
    if (index >= WORKERS_MAX)
        return;
    struct sight *sight = &seen[index];
    stack_t alternate;
    sight->tid = (int32_t)syscall(SYS_gettid);
    sight->frame = (uintptr_t)&alternate;
    if (sigaltstack(NULL, &alternate) == 0 &&
        !(alternate.ss_flags & SS_DISABLE)) {
        sight->alt_low = (uintptr_t)alternate.ss_sp;
        sight->alt_bytes = alternate.ss_size;
        sight->on_alt = (alternate.ss_flags & SS_ONSTACK) != 0;
    }
    sight->finished = true;
    atomic_fetch_add(&seen_finished, 1);
}

static bool
all_finished(void *argument)
{
    return atomic_load(&seen_finished) == *(uint32_t *)argument;
}

uint32_t
workers_look(struct sight *sights, bool on_alternate)
{
    int32_t tids[WORKERS_MAX];
    struct sigaction action, before;
    if (UNDER_THREAD_SANITIZER)
        conform_skip("ThreadSanitizer runs a handler at the thread's next "
                     "intercepted call, and not where the kernel would");
    memset(&action, 0, sizeof action);
    action.sa_handler = look;
    action.sa_flags = SA_RESTART | (on_alternate ? SA_ONSTACK : 0);
    sigemptyset(&action.sa_mask);
    memset(seen, 0, sizeof seen);
    atomic_store(&seen_count, 0);
    atomic_store(&seen_finished, 0);
    if (sigaction(LOOK_SIGNAL, &action, &before) != 0)
        conform_broken("no handler for signal %d", LOOK_SIGNAL);
    uint32_t count = conform_library_threads(tids, WORKERS_MAX);
    expect_u64_at_most(WORKERS_MAX, count, "library threads to look at");
    for (uint32_t i = 0; i < count; i++)
        expect_i64(0, syscall(SYS_tgkill, getpid(), tids[i], LOOK_SIGNAL),
                   "a signal to thread %d", tids[i]);
    expect(conform_eventually(all_finished, &count),
           "each of %u library threads runs the host's handler", count);
    sigaction(LOOK_SIGNAL, &before, NULL);
    memcpy(sights, seen, count * sizeof seen[0]);
    return count;
}

struct surroundings
workers_surroundings(uintptr_t address)
{
    struct surroundings found;
    memset(&found, 0, sizeof found);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        conform_broken("cannot read the mappings");
    char line[1024];
    uintptr_t last_low = 0;
    uintptr_t last_high = 0;
    bool last_accessible = false;
    while (!found.mapped && fgets(line, sizeof line, maps) != NULL) {
        unsigned long low, high;
        char access[8];
        if (sscanf(line, "%lx-%lx %7s", &low, &high, access) != 3)
            continue;
        bool accessible = strncmp(access, "---", 3) != 0;
        if (address >= low && address < high) {
            found.mapped = true;
            found.low = low;
            found.high = high;
            found.writable = access[1] == 'w';
            found.below_mapped = last_high == low;
            found.below_low = last_low;
            found.below_accessible = found.below_mapped && last_accessible;
        }
        last_low = low;
        last_high = high;
        last_accessible = accessible;
    }
    fclose(maps);
    return found;
}

uint64_t
workers_mask(int32_t tid, const char *field)
{
    char path[64];
    char line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
    FILE *status = fopen(path, "re");
    if (status == NULL)
        conform_broken("cannot read %s", path);
    uint64_t mask = 0;
    bool found = false;
    size_t len = strlen(field);
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, field, len) == 0 && line[len] == ':') {
            mask = strtoull(line + len + 1, NULL, 16);
            found = true;
        }
    }
    fclose(status);
    if (!found)
        conform_broken("%s has no %s", path, field);
    return mask;
}

static bool
has_threads(void *argument)
{
    int32_t tids[WORKERS_MAX];
    return conform_library_threads(tids, WORKERS_MAX) == *(uint32_t *)argument;
}

void
workers_await(uint32_t count)
{
    expect(conform_eventually(has_threads, &count), "%u library threads",
           count);
}
