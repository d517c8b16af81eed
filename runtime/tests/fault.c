/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const fault_names[FAULT_KINDS] = {
    "heap",        "mmap",  "mprotect", "pthread_create",
    "sigaltstack", "fcntl", "sigmask",  "write"};

/* FAULT_KINDS: nothing is armed. */
static _Atomic int armed = FAULT_KINDS;
static _Atomic uint64_t fail_at;
static _Atomic bool fail_onwards;
static _Atomic uint64_t calls;
static _Atomic uint64_t hits;

void
fault_arm(enum fault_kind kind, uint64_t nth, bool onwards)
{
    atomic_store(&fail_at, nth);
    atomic_store(&fail_onwards, onwards);
    atomic_store(&calls, 0);
    atomic_store(&hits, 0);
    atomic_store(&armed, (int)kind);
}

void
fault_disarm(void)
{
    atomic_store(&armed, FAULT_KINDS);
}

uint64_t
fault_calls(void)
{
    return atomic_load(&calls);
}

uint64_t
fault_hits(void)
{
    return atomic_load(&hits);
}

static bool
fails(enum fault_kind kind)
{
    uint64_t nth;
    uint64_t target;

    if (atomic_load(&armed) != (int)kind)
        return false;
    nth = atomic_fetch_add(&calls, 1) + 1;
    target = atomic_load(&fail_at);
    if (target == 0 || nth < target ||
        (nth > target && !atomic_load(&fail_onwards)))
        return false;
    atomic_fetch_add(&hits, 1);
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_mmap(void *address, size_t len, int protection, int flags, int fd,
                  off_t offset);
int __real_mprotect(void *address, size_t len, int protection);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *), void *argument);
int __real_sigaltstack(const stack_t *stack, stack_t *old);
int __real_fcntl(int fd, int command, ...);
int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
ssize_t __real_write(int fd, const void *bytes, size_t len);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_mmap(void *address, size_t len, int protection, int flags, int fd,
                  off_t offset);
int __wrap_mprotect(void *address, size_t len, int protection);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *), void *argument);
int __wrap_sigaltstack(const stack_t *stack, stack_t *old);
int __wrap_fcntl(int fd, int command, ...);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
ssize_t __wrap_write(int fd, const void *bytes, size_t len);

void *
__wrap_malloc(size_t size)
{
    if (!fails(FAULT_HEAP))
        return __real_malloc(size);
    errno = ENOMEM;
    return NULL;
}

void *
__wrap_calloc(size_t count, size_t size)
{
    if (!fails(FAULT_HEAP))
        return __real_calloc(count, size);
    errno = ENOMEM;
    return NULL;
}

void *
__wrap_realloc(void *memory, size_t size)
{
    if (!fails(FAULT_HEAP))
        return __real_realloc(memory, size);
    errno = ENOMEM;
    return NULL;
}

void *
__wrap_mmap(void *address, size_t len, int protection, int flags, int fd,
            off_t offset)
{
    if (!fails(FAULT_MMAP))
        return __real_mmap(address, len, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int
__wrap_mprotect(void *address, size_t len, int protection)
{
    if (!fails(FAULT_MPROTECT))
        return __real_mprotect(address, len, protection);
    errno = ENOMEM;
    return -1;
}

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*main)(void *), void *argument)
{
    if (!fails(FAULT_THREAD))
        return __real_pthread_create(thread, attributes, main, argument);
    return EAGAIN;
}

int
__wrap_sigaltstack(const stack_t *stack, stack_t *old)
{
    if (!fails(FAULT_SIGALTSTACK))
        return __real_sigaltstack(stack, old);
    errno = ENOMEM;
    return -1;
}

/* Every command that the runtime uses takes an int, or ignores one. */
int
__wrap_fcntl(int fd, int command, ...)
{
    va_list args;
    int argument;

    va_start(args, command);
    argument = va_arg(args, int);
    va_end(args);
    if (!fails(FAULT_FCNTL))
        return __real_fcntl(fd, command, argument);
    errno = EPERM;
    return -1;
}

int
__wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    if (!fails(FAULT_SIGMASK))
        return __real_pthread_sigmask(how, set, old);
    return EINVAL;
}

ssize_t
__wrap_write(int fd, const void *bytes, size_t len)
{
    if (!fails(FAULT_WRITE))
        return __real_write(fd, bytes, len);
    errno = ENOMEM;
    return -1;
}
