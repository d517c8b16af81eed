/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * plat.h - what a platform must supply. One plat_SYSTEM.c implements it; errno
 * is read there and nowhere else. Functions that can fail return 0 or an
 * errno value, unless they say otherwise. EINTR is retried inside.
 */
#ifndef GST_PLAT_H
#define GST_PLAT_H

#include "supported.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sync.h"

/* Nanoseconds of the monotonic clock. Never blocks, no system call. */
uint64_t gst__plat_now(void);

/* Sleeps ns nanoseconds, whatever signals arrive. */
void gst__plat_sleep(uint64_t ns);

/* CPUs that this process may run on; at least 1. */
unsigned gst__plat_cpus(void);

/* One step of a polling loop: gives the sibling thread its turn. */
void gst__plat_pause(void);

/* No time limit, for gst__plat_wait and others that take nanoseconds. */
#define GST_FOREVER UINT64_MAX

/*
 * Blocks while *word == expected, at most ns nanoseconds. May return early
 * for no reason: callers test their condition again.
 */
void gst__plat_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t ns);

/* Wakes at most count threads that wait on word. The address may be stale. */
void gst__plat_wake(_Atomic uint32_t *word, uint32_t count);

/*
 * The stack that a worker gets, with room for the host's static TLS, which
 * glibc takes out of it; and the inaccessible memory below it.
 */
#define GST_STACK_BYTES ((size_t)8 << 20)
#define GST_STACK_TLS_BYTES ((size_t)5 << 18)
#define GST_STACK_GUARD_BYTES ((size_t)1 << 20)

/*
 * Starts a thread with the stack above. If the size cannot be asked for,
 * starts it with the default one and sets *default_stack.
 */
int gst__plat_thread_start(pthread_t *thread, void *(*main)(void *),
                           void *argument, bool *default_stack);

/* Names the calling thread; failure does not matter. */
void gst__plat_thread_name(unsigned number);

/* Blocks SIGPIPE in the calling thread. */
int gst__plat_block_sigpipe(void);

/*
 * For a write on a host's thread: holds SIGPIPE back in the calling thread,
 * and later takes one that the write raised away and restores the mask. A
 * SIGPIPE that was pending or blocked before stays as it was.
 */
struct gst__sigpipe {
    sigset_t mask;
    bool was_pending;
};
void gst__plat_sigpipe_hold(struct gst__sigpipe *held);
void gst__plat_sigpipe_release(const struct gst__sigpipe *held);

/* Size in bytes of the calling thread's stack; 0: unreadable. */
uint64_t gst__plat_stack_size(void);

/* The calling thread's alternate signal stack; map NULL: none. */
struct gst__altstack {
    void *map; /* guard page first, then the stack */
    size_t map_bytes;
    void *old_sp; /* what the thread had before, NULL: nothing */
    size_t old_bytes;
};

/* Maps and installs one. On failure nothing stays and stack->map is NULL. */
int gst__plat_altstack_install(struct gst__altstack *stack);

/*
 * Undoes it on the same thread. If the kernel refuses to let go of the stack,
 * map stays set, for gst__plat_altstack_unmap after the thread has been
 * joined. A stack with map NULL is a no-op for both.
 */
void gst__plat_altstack_remove(struct gst__altstack *stack);
void gst__plat_altstack_unmap(struct gst__altstack *stack);

/* What the descriptor is, for gst__plat_pipe_kind. */
enum gst__pipe_kind {
    GST_PIPE_WRITE_END,
    GST_PIPE_READ_END,
    GST_PIPE_NOT_A_PIPE,
    GST_PIPE_NOT_OPEN
};
enum gst__pipe_kind gst__plat_pipe_kind(int fd);

/*
 * Grows the pipe to hold wanted bytes if it is smaller and the system lets
 * it. Returns its capacity; where that cannot be read, what every pipe holds.
 */
size_t gst__plat_pipe_grow(int fd, size_t wanted);

/* Makes writes to the descriptor non-blocking. */
int gst__plat_pipe_nonblocking(int fd);

/*
 * Writes one record atomically. 0: written. EAGAIN: no room. EPIPE, EBADF: the
 * read end is closed or the descriptor unusable. Anything else passes.
 */
int gst__plat_pipe_write(int fd, const void *record, size_t bytes);

/* Waits for room, at most ns nanoseconds; may return early. */
void gst__plat_pipe_wait(int fd, uint64_t ns);

/* Closes the descriptor, once whatever happens. */
void gst__plat_pipe_close(int fd);

/* Writes a last message to descriptor 2. */
void gst__plat_last_words(const char *text);

#endif
