/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "pipe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"
#include "record.h"
#include "tickets.h"

bool
pipe_wait(int fd, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        int ready = poll(&entry, 1, conform_poll_ms(deadline_ns));
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            conform_broken("poll on the completion pipe: %s", strerror(errno));
        }
        if (ready == 0 && conform_now_ns() >= deadline_ns) {
            return false;
        }
    }
}

size_t
pipe_pending(int fd)
{
    int bytes = 0;
    if (ioctl(fd, FIONREAD, &bytes) != 0) {
        conform_broken("FIONREAD on the completion pipe: %s", strerror(errno));
    }
    return (size_t)bytes;
}

/* The pipe is known to hold something or to have ended. */
static ssize_t
read_some(int fd, void *bytes, size_t len)
{
    ssize_t got;
    do {
        got = read(fd, bytes, len);
    } while (got < 0 && errno == EINTR);
    /* Only somebody who closed or replaced the descriptor can cause it. */
    if (got < 0) {
        expect_unreachable("read from the completion pipe: %s [i4.fd-hygiene]",
                           strerror(errno));
    }
    return got;
}

/*
 * What follows a record's first word came with the same write, so it is there
 * already or the record is torn.
 */
static void
read_rest(int fd, void *bytes, size_t len, uint64_t head)
{
    expect_u64_at_least(len, pipe_pending(fd),
                        "bytes behind the first word 0x%llx of an inline "
                        "record, written with it [i4.pipe-record]",
                        (unsigned long long)head);
    expect_u64(len, read_some(fd, bytes, len),
               "bytes read of the inline record 0x%llx [i4.pipe-record]",
               (unsigned long long)head);
}

enum pipe_event
pipe_read_until(int fd, struct completion *completion, uint64_t deadline_ns)
{
    uint64_t words[GUSSET_INLINE_RECORD_MAX / 8] = {0};
    if (!pipe_wait(fd, deadline_ns)) {
        return PIPE_NOTHING;
    }
    ssize_t got = read_some(fd, words, 8);
    if (got == 0) {
        return PIPE_EOF;
    }
    expect_i64(8, got, "bytes of a record's first word [i4.pipe-record]");
    if (words[0] == 0) {
        return PIPE_TOKEN;
    }
    if ((words[0] & GUSSET_INLINE_RECORD_FLAG) != 0) {
        read_rest(fd, words + 1, 8, words[0]);
        expect_u64_at_most(GUSSET_INLINE_RESULT_MAX, words[1],
                           "length in the inline record 0x%llx "
                           "[i4.pipe-record]",
                           (unsigned long long)words[0]);
        size_t padded = (size_t)record_padded(words[1]);
        if (padded > 0) {
            read_rest(fd, words + 2, padded, words[0]);
        }
    }
    record_decode(words, completion);
    conform_ticket_completed(completion);
    return PIPE_COMPLETION;
}

int
pipe_read_record(int fd, struct completion *completion)
{
    enum pipe_event event = pipe_read_until(
        fd, completion, conform_now_ns() + conform_patience_ns());
    if (event == PIPE_NOTHING) {
        expect_unreachable("nothing to read in the completion pipe for %llu ms",
                           (unsigned long long)conform_patience_ns() / 1000000);
    }
    return (int)event;
}
