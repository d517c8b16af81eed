/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

struct conform_thread {
    pthread_t id;
    conform_thread_body body;
    void *argument;
    int32_t tid;
    struct conform_barrier *started;
};

#define HOST_THREADS 8192

/* Threads that are not the library's; 0 marks a free place. */
static int32_t host_tids[HOST_THREADS];
static pthread_mutex_t host_tids_lock = PTHREAD_MUTEX_INITIALIZER;

int32_t
conform_tid(void)
{
    return (int32_t)syscall(SYS_gettid);
}

static void
replace_tid(int32_t old, int32_t new)
{
    bool found = false;
    pthread_mutex_lock(&host_tids_lock);
    for (size_t i = 0; i < HOST_THREADS && !found; i++) {
        if (host_tids[i] == old) {
            host_tids[i] = new;
            found = true;
        }
    }
    pthread_mutex_unlock(&host_tids_lock);
    if (!found) {
        conform_broken("more than %d threads of the host", HOST_THREADS);
    }
}

bool
conform_thread_is_host(int32_t tid)
{
    bool found = false;
    pthread_mutex_lock(&host_tids_lock);
    for (size_t i = 0; i < HOST_THREADS && !found; i++) {
        found = host_tids[i] == tid;
    }
    pthread_mutex_unlock(&host_tids_lock);
    return found;
}

/* The kernel's flag for a task on its way out, in field 9 of its stat line. */
#define TASK_EXITING 0x4ul

bool
conform_thread_is_ending(int32_t tid)
{
    char path[64];
    char line[512];
    char state = 'X';
    unsigned long flags = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    if (!census_read(path, line, sizeof line)) {
        return true;
    }
    /* The name, in parentheses, may contain anything. */
    const char *after = strrchr(line, ')');
    if (after == NULL ||
        sscanf(after + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) != 2) {
        return true;
    }
    return state == 'Z' || state == 'X' || (flags & TASK_EXITING) != 0;
}

/* Calls visit for each thread of the process; returns their number. */
static uint32_t
each_thread(void (*visit)(int32_t tid, void *argument), void *argument)
{
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) {
        conform_broken("/proc/self/task: %s", strerror(errno));
    }
    uint32_t count = 0;
    for (struct dirent *entry = readdir(tasks); entry != NULL;
         entry = readdir(tasks)) {
        int32_t tid = (int32_t)atoi(entry->d_name);
        if (tid > 0 && !conform_thread_is_ending(tid)) {
            count++;
            visit(tid, argument);
        }
    }
    closedir(tasks);
    return count;
}

static void
visit_nothing(int32_t tid, void *argument)
{
    (void)tid;
    (void)argument;
}

uint32_t
conform_thread_count(void)
{
    return each_thread(visit_nothing, NULL);
}

static void
remember(int32_t tid, void *argument)
{
    (void)argument;
    replace_tid(0, tid);
}

void
conform_threads_baseline(void)
{
    each_thread(remember, NULL);
}

struct tid_list {
    int32_t *ids;
    uint32_t cap;
    uint32_t count;
};

static void
collect_library(int32_t tid, void *argument)
{
    struct tid_list *list = argument;
    if (!conform_thread_is_host(tid)) {
        if (list->count < list->cap) {
            list->ids[list->count] = tid;
        }
        list->count++;
    }
}

uint32_t
conform_library_threads(int32_t *ids, uint32_t cap)
{
    struct tid_list list = {ids, cap, 0};
    each_thread(collect_library, &list);
    return list.count;
}

void
conform_settle_threads(uint32_t threads)
{
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    uint32_t turn = 0;
    while (conform_thread_count() != threads && conform_now_ns() < deadline) {
        conform_pause(turn++);
    }
}

/* ---- Starting and joining ---------------------------------------------- */

/* What of a host's thread the library must leave alone [i5.no-handlers]. */
struct thread_state {
    sigset_t mask;
    stack_t altstack;
    int rounding;
    int traps;
};

static struct thread_state
thread_state(void)
{
    struct thread_state state;
    memset(&state, 0, sizeof state);
    pthread_sigmask(SIG_SETMASK, NULL, &state.mask);
    sigaltstack(NULL, &state.altstack);
    state.rounding = fegetround();
    state.traps = fegetexcept();
    return state;
}

static bool
same_mask(const sigset_t *left, const sigset_t *right)
{
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(left, number) != sigismember(right, number)) {
            return false;
        }
    }
    return true;
}

static void *
trampoline(void *argument)
{
    struct conform_thread *thread = argument;
    thread->tid = conform_tid();
    replace_tid(0, thread->tid);
    conform_barrier_wait(thread->started);
    const struct thread_state before = thread_state();
    thread->body(thread->argument);
    const struct thread_state after = thread_state();
    if (!same_mask(&before.mask, &after.mask)) {
        expect_unreachable("the signal mask of a host thread was changed "
                           "[i5.no-handlers]");
    }
    if (before.rounding != after.rounding || before.traps != after.traps) {
        expect_unreachable("the arithmetic of a host thread was changed");
    }
    if (before.altstack.ss_sp != after.altstack.ss_sp ||
        before.altstack.ss_size != after.altstack.ss_size ||
        before.altstack.ss_flags != after.altstack.ss_flags) {
        expect_unreachable("the alternate stack of a host thread was changed "
                           "[i5.no-handlers]");
    }
    return NULL;
}

static size_t
stack_size(size_t wanted)
{
    size_t least = (size_t)PTHREAD_STACK_MIN;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = wanted < least ? least : wanted;
    return (size + page - 1) / page * page;
}

struct conform_thread *
conform_thread_start(conform_thread_body body, void *argument,
                     size_t stack_bytes)
{
    struct conform_thread *thread = conform_allocate(sizeof *thread);
    thread->body = body;
    thread->argument = argument;
    thread->started = conform_barrier_new(2);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes != 0) {
        int refused =
            pthread_attr_setstacksize(&attributes, stack_size(stack_bytes));
        if (refused != 0) {
            conform_broken("a stack of %zu bytes: %s", stack_bytes,
                           strerror(refused));
        }
    }
    int error = pthread_create(&thread->id, &attributes, trampoline, thread);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        conform_broken("a thread with a stack of %zu bytes: %s", stack_bytes,
                       strerror(error));
    }
    /* From here on the thread is known as the host's own. */
    conform_barrier_wait(thread->started);
    return thread;
}

/*
 * pthread_join returns a moment before /proc forgets the thread; a census
 * right after it must not find it.
 */
static void
await_gone(int32_t tid)
{
    uint64_t deadline = conform_now_ns() + conform_patience_ns();
    while (syscall(SYS_tgkill, getpid(), tid, 0) == 0 &&
           conform_now_ns() < deadline) {
        sched_yield();
    }
}

void
conform_thread_join(struct conform_thread *thread)
{
    int error = pthread_join(thread->id, NULL);
    if (error != 0) {
        conform_broken("joining a thread of the host: %s", strerror(error));
    }
    await_gone(thread->tid);
    replace_tid(thread->tid, 0);
}
