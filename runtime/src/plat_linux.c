/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "plat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/* Absent from older headers; the number is the kernel's. */
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#endif

/* The kernel's numbers: not every C library brings the kernel's headers. */
#define FUTEX_WAIT_PRIVATE (0 | 128)
#define FUTEX_WAKE_PRIVATE (1 | 128)

#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("isb" ::: "memory")
#else
#define PAUSE() atomic_signal_fence(memory_order_seq_cst)
#endif

/* What POSIX promises a pipe holds, where its capacity cannot be read. */
#define PIPE_LEAST 4096

static struct timespec
to_timespec(uint64_t ns)
{
    struct timespec ts;

    ts.tv_sec = (time_t)(ns / NS_PER_S);
    ts.tv_nsec = (long)(ns % NS_PER_S);
    return ts;
}

uint64_t
gst__plat_now(void)
{
    struct timespec ts = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

void
gst__plat_sleep(uint64_t ns)
{
    struct timespec left = to_timespec(ns);

    /* Relative with the rest carried over: no second clock is needed. */
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

unsigned
gst__plat_cpus(void)
{
    cpu_set_t set;

    /* A machine with more CPUs than the set has is not a small one. */
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 2;
    return CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void
gst__plat_pause(void)
{
    PAUSE();
}

void
gst__plat_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns)
{
    struct timespec ts = to_timespec(ns);

    /* Every way of returning means the same to the caller: look again. */
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
            ns == GST_FOREVER ? NULL : &ts, NULL, 0);
}

void
gst__plat_wake(_Atomic uint32_t *word, uint32_t count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

int
gst__plat_thread_start(pthread_t *thread, void *(*main)(void *), void *argument,
                       bool *default_stack)
{
    pthread_attr_t attr;
    int error = pthread_attr_init(&attr);

    *default_stack = true;
    if (error != 0)
        return pthread_create(thread, NULL, main, argument);
    if (pthread_attr_setstacksize(&attr,
                                  GST_STACK_BYTES + GST_STACK_TLS_BYTES) == 0 &&
        pthread_attr_setguardsize(&attr, GST_STACK_GUARD_BYTES) == 0)
        *default_stack = false;
    error = pthread_create(thread, &attr, main, argument);
    pthread_attr_destroy(&attr);
    return error;
}

void
gst__plat_thread_name(unsigned number)
{
    char name[16];

    snprintf(name, sizeof name, "gusset-w%u", number);
    pthread_setname_np(pthread_self(), name);
}

int
gst__plat_block_sigpipe(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void
gst__plat_sigpipe_hold(struct gst__sigpipe *held)
{
    sigset_t pending;
    sigset_t set;

    sigemptyset(&pending);
    sigpending(&pending);
    held->was_pending = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &held->mask);
}

void
gst__plat_sigpipe_release(const struct gst__sigpipe *held)
{
    const struct timespec at_once = {0, 0};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (!held->was_pending)
        while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
}

uint64_t
gst__plat_stack_size(void)
{
    pthread_attr_t attr;
    void *address = NULL;
    size_t bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return 0;
    if (pthread_attr_getstack(&attr, &address, &bytes) != 0)
        bytes = 0;
    pthread_attr_destroy(&attr);
    return bytes;
}

/* [i5.altstack] */
static size_t
altstack_bytes(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t least = (size_t)getauxval(AT_MINSIGSTKSZ);
    size_t bytes = 64 * 1024;

    if (least == 0)
        least = (size_t)MINSIGSTKSZ;
    if (bytes < 4 * least)
        bytes = 4 * least;
    if (bytes < least + 32 * 1024)
        bytes = least + 32 * 1024;
    return (bytes + page - 1) / page * page;
}

int
gst__plat_altstack_install(struct gst__altstack *stack)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = altstack_bytes();
    stack_t mine = {.ss_size = bytes};
    stack_t old;
    int error;

    stack->map = NULL;
    char *map = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return errno;
    mine.ss_sp = map + page;
    if (mprotect(map, page, PROT_NONE) != 0 || sigaltstack(&mine, &old) != 0) {
        error = errno;
        munmap(map, page + bytes);
        return error;
    }
    stack->map = map;
    stack->map_bytes = page + bytes;
    stack->old_sp = (old.ss_flags & SS_DISABLE) ? NULL : old.ss_sp;
    stack->old_bytes = old.ss_size;
    return 0;
}

void
gst__plat_altstack_remove(struct gst__altstack *stack)
{
    stack_t old = {.ss_flags = SS_DISABLE};

    if (stack->map == NULL)
        return;
    /* A sanitizer gives threads a stack of its own and expects it back. */
    if (stack->old_sp != NULL) {
        old.ss_sp = stack->old_sp;
        old.ss_size = stack->old_bytes;
        old.ss_flags = 0;
    }
    /* Still the thread's: it must stay mapped as long as the thread lives. */
    if (sigaltstack(&old, NULL) == 0)
        gst__plat_altstack_unmap(stack);
}

void
gst__plat_altstack_unmap(struct gst__altstack *stack)
{
    if (stack->map == NULL)
        return;
    munmap(stack->map, stack->map_bytes);
    stack->map = NULL;
}

/* None of these calls blocks, so a bounded number of tries is plenty. */
static int
retry_fcntl(int fd, int command, int argument)
{
    int tries = 1000;
    int result;

    do
        result = fcntl(fd, command, argument);
    while (result < 0 && (errno == EINTR || errno == EAGAIN) && --tries > 0);
    return result;
}

enum gst__pipe_kind
gst__plat_pipe_kind(int fd)
{
    struct stat st;
    int flags;

    if (fd < 0 || fstat(fd, &st) != 0)
        return GST_PIPE_NOT_OPEN;
    if (!S_ISFIFO(st.st_mode))
        return GST_PIPE_NOT_A_PIPE;
    flags = retry_fcntl(fd, F_GETFL, 0);
    if (flags < 0)
        return GST_PIPE_NOT_OPEN;
    if ((flags & O_ACCMODE) == O_RDONLY)
        return GST_PIPE_READ_END;
    return GST_PIPE_WRITE_END;
}

size_t
gst__plat_pipe_grow(int fd, size_t wanted)
{
    int bytes = retry_fcntl(fd, F_GETPIPE_SZ, 0);

    if (bytes >= 0 && (size_t)bytes >= wanted)
        return (size_t)bytes;
    retry_fcntl(fd, F_SETPIPE_SZ, (int)wanted);
    bytes = retry_fcntl(fd, F_GETPIPE_SZ, 0);
    return bytes < 0 ? PIPE_LEAST : (size_t)bytes;
}

int
gst__plat_pipe_nonblocking(int fd)
{
    int flags = retry_fcntl(fd, F_GETFL, 0);

    if (flags < 0)
        return errno;
    if (flags & O_NONBLOCK)
        return 0;
    return retry_fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}

int
gst__plat_pipe_write(int fd, const void *record, size_t bytes)
{
    ssize_t written;

    do
        written = write(fd, record, bytes);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return errno;
    /* At most PIPE_BUF bytes go whole or not at all; were they torn all the
     * same, the rest must not follow as if it were a record. */
    return written == (ssize_t)bytes ? 0 : EPIPE;
}

void
gst__plat_pipe_wait(int fd, uint64_t ns)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    int result = poll(&room, 1, (int)(ns / 1000000));

    /* No memory for a poll: wait as long without one. */
    if (result < 0 && errno != EINTR)
        gst__plat_sleep(ns);
}

void
gst__plat_pipe_close(int fd)
{
    /* On Linux the number is free even after EINTR: never twice. */
    close(fd);
}

void
gst__plat_last_words(const char *text)
{
    size_t len = 0;

    while (text[len] != '\0')
        len++;
    while (write(STDERR_FILENO, text, len) < 0 && errno == EINTR)
        continue;
}
