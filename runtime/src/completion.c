/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Nothing is locked while a completion waits for room: each
 * waiting worker polls the pipe by itself, in slices, so that it sees the
 * close. A record is at most 64 bytes and goes whole or not at all.
 */
#include "completion.h"

#include <errno.h>
#include <string.h>

#include "handle.h"
#include "lifecycle.h"
#include "log.h"
#include "plat.h"

#define NS_PER_S UINT64_C(1000000000)

unsigned
gst__record_build(uint64_t *record, uint64_t ticket, const uint8_t *bytes,
                  size_t len)
{
    unsigned words = 2 + (unsigned)((len + 7) / 8);

    record[0] = ticket;
    if (bytes == NULL)
        return 1;
    record[0] |= GUSSET_INLINE_RECORD_FLAG;
    record[1] = len;
    /* Equivalent [compare]: of no bytes the padding is the length, 0. */
    /* Unseen [constant `record[words - 1] = 0`]: where the least byte comes
     * first, the bytes always cover it. */
    if (len > 0) {
        record[words - 1] = 0; /* the padding */
        memcpy(&record[2], bytes, len);
    }
    return words;
}

static void
reader_gone(struct GussetHandle *handle, uint64_t ticket)
{
    /* Equivalent [order-acq_rel, order-relaxed]: the bit says it all; nothing
     * else is published with it. */
    GST_OR_SEQ(&handle->gate, GST_GATE_READER_GONE);
    gst__log("gusset: completion write failed for ticket %llu",
             (unsigned long long)ticket);
}

/* Writes a record, or a wake token that the record of `ticket` owes. */
static enum gst__delivery
write_pipe(struct GussetHandle *handle, uint64_t ticket, const uint64_t *record,
           unsigned words)
{
    uint64_t since = 0;
    bool logged = false;

    for (;;) {
        /* Before the write: once closing, there is one more try. Partner:
         * the store in gst__handle_close. */
        /* Equivalent [order-acquire, order-relaxed]: who sees it late looks
         * again after one slice. */
        bool closing = GST_LOAD_SEQ(&handle->gate) & GST_GATE_CLOSING;
        int error =
            gst__plat_pipe_write(handle->fd, record, words * sizeof record[0]);

        if (error == 0)
            return GST_DELIVERED;
        if (error == EPIPE || error == EBADF) {
            reader_gone(handle, ticket);
            return GST_GIVEN_UP;
        }
        if (closing)
            return GST_GIVEN_UP;
        if (since == 0)
            since = gst__plat_now();
        /* Anything else passes, such as lack of memory for a page of the
         * pipe; a poll would see room and not wait. */
        /* Equivalent [compare `error == EAGAIN`]: both wait for one slice. */
        /* Unseen [call `gst__plat_sleep(GST_STALL_SLICE_NS)`]: a worker would
         * be busy, and only while the kernel lacks memory. */
        if (error == EAGAIN)
            gst__plat_pipe_wait(handle->fd, GST_STALL_SLICE_NS);
        else
            gst__plat_sleep(GST_STALL_SLICE_NS);
        /* Equivalent [compare]: nobody can make it the very nanosecond. */
        if (!logged && gst__plat_now() - since >= GST_STALL_LOG_NS) {
            gst__log("gusset: completion pipe full for %llu s, "
                     "ticket %llu waits",
                     (unsigned long long)(GST_STALL_LOG_NS / NS_PER_S),
                     (unsigned long long)ticket);
            logged = true;
        }
    }
}

/* False: the ring has no free slot, and nothing was written. */
static bool
through_ring(struct GussetHandle *handle, struct GussetRing *ring,
             uint64_t ticket, const uint64_t *record, unsigned words)
{
    const uint64_t wake = 0;
    bool token;

    if (!gst__ring_publish(ring, record, words, &token))
        return false;
    /* The record is out, whatever becomes of the token. */
    if (token)
        write_pipe(handle, ticket, &wake, 1);
    return true;
}

static enum gst__delivery
deliver(struct GussetHandle *handle, uint64_t ticket, const uint64_t *record,
        unsigned words)
{
    /* Partner: the store in gst__handle_ring. */
    struct GussetRing *ring = GST_LOAD_ACQUIRE(&handle->ring);
    enum gst__delivery way;

    /* A child that an engine forked: the parent delivers [i4.exactly-once].
     * Relaxed: the child's only thread counted its fork itself. */
    if (handle->fork_count != GST_LOAD_RELAXED(&gst__forks))
        return GST_GIVEN_UP;
    if (ring != NULL && through_ring(handle, ring, ticket, record, words))
        return GST_DELIVERED;
    if (words > 1 && !handle->pipe_inline)
        return GST_NEEDS_BARE;
    way = write_pipe(handle, ticket, record, words);
    if (ring != NULL && way == GST_DELIVERED)
        gst__ring_overflowed(ring);
    return way;
}

enum gst__delivery
gst__complete_bare(struct GussetHandle *handle, uint64_t ticket)
{
    uint64_t record[GST_RECORD_WORDS];
    /* Equivalent [constant]: without bytes nobody looks at the length. */
    unsigned words = gst__record_build(record, ticket, NULL, 0);

    return deliver(handle, ticket, record, words);
}

enum gst__delivery
gst__complete_inline(struct GussetHandle *handle, uint64_t ticket,
                     const uint8_t *bytes, size_t len)
{
    uint64_t record[GST_RECORD_WORDS];
    unsigned words = gst__record_build(record, ticket, bytes, len);

    return deliver(handle, ticket, record, words);
}
