/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * No call depends on the thread that makes it, nor on how much stack it has.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "workers.h"

#define SMALL_STACK                                                   \
    (UNDER_ADDRESS_SANITIZER || UNDER_THREAD_SANITIZER ? 256u * 1024u \
                                                       : 64u * 1024u)

/* One call of the life of a handle; each on a fresh thread. */
struct life {
    int fds[2];
    GussetHandle *handle;
    const GussetRing *ring;
    uint64_t ticket;
    uint64_t id;
    uint8_t *ptr;
    size_t len;
    int32_t code;
    FfiStatus status;
    AllocStats stats;
    AbiLayout layout;
    uint32_t fields;
    size_t written;
    struct completion done;
};

static const CallHeader diagnostic = {.flags = DIAGNOSTIC};

#define STEP(name, call)             \
    static void name(void *argument) \
    {                                \
        struct life *l = argument;   \
        l->code = (call);            \
    }

static int32_t
look_at_everything(struct life *l)
{
    uint32_t offsets[17], sizes[17];
    api.abi_layout(&l->layout);
    l->fields = api.abi_fields(offsets, sizes, 17);
    api.alloc_stats(&l->stats);
    return FFI_OK;
}

static int32_t
drain(struct life *l)
{
    static uint8_t log[4096];
    api.drain_logs(log, sizeof log, &l->written);
    return FFI_OK;
}

static int32_t
attach(struct life *l)
{
    const uint8_t *shared, *slots;
    uint64_t capacity;
    return api.handle_ring(l->handle, &l->ring, &shared, &slots, &capacity,
                           &l->status);
}

static int32_t
read_one(struct life *l)
{
    return pipe_read_record(l->fds[0], &l->done) == 1 ? FFI_OK : FFI_ERR;
}

static int32_t
free_status(struct life *l)
{
    api.status_free(&l->status);
    return FFI_OK;
}

static int32_t
release(struct life *l)
{
    api.ring_release(l->ring);
    return FFI_OK;
}

STEP(init, api.init())
STEP(everything, look_at_everything(l))
STEP(open_it, api.handle_open(2, l->fds[1], &l->handle, &l->status))
STEP(submit_echo, api.submit(l->handle, &diagnostic, (const uint8_t *)"\0here",
                             5, 0, &l->ticket, &l->status))
STEP(submit_long, api.submit(l->handle, &diagnostic, (const uint8_t *)"\5\377",
                             2, 0, &l->ticket, &l->status))
STEP(submit_panic, api.submit(l->handle, &diagnostic, (const uint8_t *)"\14", 1,
                              0, &l->ticket, &l->status))
STEP(submit_buffer,
     api.submit(l->handle, &diagnostic, NULL, 0, l->id, &l->ticket, &l->status))
STEP(read_record, read_one(l))
STEP(take_it,
     api.take(l->handle, l->ticket, &l->id, &l->ptr, &l->len, &l->status))
STEP(buf_alloc, api.buf_alloc(l->handle, 100000, &l->id, &l->ptr, &l->status))
STEP(buf_free,
     api.buf_free(l->handle, l->id & ~GUSSET_TAKE_OWNED_FLAG, &l->status))
STEP(cancel, api.cancel(l->handle, l->ticket, &l->status))
STEP(cancel_all, api.cancel_all(l->handle, &l->status))
STEP(drain_log, drain(l))
STEP(attach_ring, attach(l))
STEP(status_free, free_status(l))
STEP(shut_down, api.shutdown(5000))
STEP(close_it, api.handle_close(l->handle, &l->status))
STEP(release_ring, release(l))

/*
 * glibc takes its static TLS out of a thread's stack and tells nobody but its
 * friends how much that is; elsewhere it is added.
 */
static size_t
static_tls(void)
{
    size_t (*minimum)(const pthread_attr_t *) = NULL;
    pthread_attr_t attributes;
    *(void **)(void *)&minimum = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    if (minimum == NULL)
        return 0;
    pthread_attr_init(&attributes);
    size_t bytes = minimum(&attributes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

static void
on_fresh_thread(struct life *life, conform_thread_body step, int32_t right,
                const char *what)
{
    size_t stack = SMALL_STACK;
    if (stack < (size_t)PTHREAD_STACK_MIN)
        stack = (size_t)PTHREAD_STACK_MIN;
    stack += static_tls();
    struct conform_thread *thread = conform_thread_start(step, life, stack);
    conform_thread_join(thread);
    expect_code(right, life->code, "%s on a fresh thread of %zu bytes", what,
                stack);
}

#define ON(step, right) on_fresh_thread(&l, step, right, #step)

CONFORM_CASE(
    fresh_threads, .id = "i5.no-thread-identity.each-call",
    .clauses = "i5.no-thread-identity",
    .why = "A goroutine changes its thread between two calls; a thread-local "
           "last error, lock owner or buffer is lost with it.",
    .steps = "Every export, through a whole life of a handle, each call on a "
             "fresh thread with the smallest stack that is promised.",
    .expected = "Each does what it does on one thread: the right bytes, "
                "codes, texts.")
{
    struct life l;
    memset(&l, 0, sizeof l);
    if (pipe2(l.fds, O_CLOEXEC) != 0)
        conform_broken("no pipe: %s", strerror(errno));
    ON(init, FFI_OK);
    ON(everything, FFI_OK);
    expect_u64(17, l.fields, "fields");
    expect_u64(2, l.layout.version, "version");
    ON(open_it, FFI_OK);
    ON(submit_echo, FFI_OK);
    ON(read_record, FFI_OK);
    expect_u64(l.ticket, l.done.ticket, "the ticket in the record");
    ON(take_it, FFI_OK);
    expect_bytes("\0here", 5, l.ptr, l.len, "the echo");
    ON(buf_free, FFI_OK);
    ON(take_it, FFI_ERR);
    expect_u64_at_least(1, l.status.msg_len, "text of a second take");
    ON(status_free, FFI_OK);
    expect_ptr(NULL, l.status.msg, "msg after status_free");

    ON(buf_alloc, FFI_OK);
    uint64_t input = l.id;
    l.ptr[99999] = 1;
    ON(submit_buffer, FFI_OK);
    ON(buf_free, FFI_OK);
    ON(read_record, FFI_OK);
    ON(take_it, FFI_OK);
    expect(l.id != input && l.len == 100000, "a large echo");
    ON(buf_free, FFI_OK);
    for (int all = 0; all < 2; all++) {
        ON(submit_long, FFI_OK);
        if (all)
            ON(cancel_all, FFI_OK);
        else
            ON(cancel, FFI_OK);
        ON(read_record, FFI_OK);
        ON(take_it, FFI_ERR);
        expect_text(TEXT_IS, "cancelled: Explicit", l.status.msg,
                    l.status.msg_len, "a cancelled job");
        ON(status_free, FFI_OK);
    }
    ON(submit_panic, FFI_OK);
    ON(read_record, FFI_OK);
    ON(take_it, FFI_PANIC);
    ON(status_free, FFI_OK);
    ON(submit_echo, FFI_POISONED);
    ON(status_free, FFI_OK);
    ON(attach_ring, FFI_OK);
    ON(shut_down, FFI_OK);
    ON(init, FFI_OK);
    ON(drain_log, FFI_OK);
    ON(close_it, FFI_OK);
    ON(release_ring, FFI_OK);
    close(l.fds[0]);
}

/* ---- One handle, many threads ------------------------------------------- */

struct share {
    struct host *host;
    struct conform_barrier *start;
    uint64_t tickets[50];
    uint32_t index;
};

static void
submit_share(void *argument)
{
    struct share *share = argument;
    conform_barrier_wait(share->start);
    for (uint32_t i = 0; i < 50; i++) {
        const uint8_t input[] = {0, (uint8_t)share->index, (uint8_t)i};
        share->tickets[i] = host_submit_patiently(share->host, &diagnostic,
                                                  input, sizeof input);
    }
}

CONFORM_CASE(
    migrating, .id = "i5.no-thread-identity.other-takes",
    .clauses = "i5.no-thread-identity i4.exactly-once",
    .why = "A result that is kept with the thread that submitted it is out "
           "of reach of the one that waits for it.",
    .steps = "Four threads submit 50 echoes each to one handle and end; "
             "another thread takes all of them.",
    .expected = "Each with its own bytes.", .transports = CONFORM_BOTH,
    .mutant = "owner-thread-checked")
{
    struct host *host = host_open(3);
    static struct share shares[4];
    struct conform_thread *threads[4];
    struct conform_barrier *start = conform_barrier_new(4);
    for (uint32_t i = 0; i < 4; i++) {
        shares[i].host = host;
        shares[i].start = start;
        shares[i].index = i;
        threads[i] = conform_thread_start(submit_share, &shares[i], 0);
    }
    for (uint32_t i = 0; i < 4; i++)
        conform_thread_join(threads[i]);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t n = 0; n < 50; n++) {
            const uint8_t right[] = {0, (uint8_t)i, (uint8_t)n};
            host_wait(host, shares[i].tickets[n]);
            struct outcome o = host_take(host, shares[i].tickets[n]);
            expect_bytes(right, 3, o.bytes, o.len, "echo %u of thread %u", n,
                         i);
        }
    }
    conform_barrier_free(start);
    host_close(host);
}
