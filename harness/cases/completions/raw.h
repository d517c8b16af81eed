/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * raw.h - the completion pipe without the harness's reader: for cases that
 * judge the bytes themselves. Jobs submitted here are not in the host's
 * ledger, and what is read here must have been submitted here.
 */
#ifndef CONFORM_CASES_RAW_H
#define CONFORM_CASES_RAW_H

#include "../jobs.h"

#include <poll.h>
#include <sched.h>

/* Submits past the ledger; must be accepted, retried while the queue is full.
 */
static inline uint64_t
raw_submit(GussetHandle *handle, const CallHeader *header, const void *input,
           size_t len)
{
    uint64_t ticket = 0;
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (;;) {
        FfiStatus status = conform_dirty_status();
        struct outcome outcome = conform_settle(
            api.submit(handle, header, input, len, 0, &ticket, &status),
            &status);
        if (outcome.code == FFI_OK)
            return ticket;
        if (strstr(outcome.msg, "full") == NULL || conform_now_ns() > give_up)
            expect_code(FFI_OK, outcome.code, "submit: %s", outcome.msg);
        job_pause_us(200);
    }
}

/* Waits until the descriptor is readable (or at its end). */
static inline void
raw_await(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int patience_ms = (int)(conform_patience_ns() / MS);
    int ready;
    do
        ready = poll(&poll_fd, 1, patience_ms);
    while (ready == -1 && errno == EINTR);
    expect_i64(1, ready, "the pipe becomes readable within %d ms", patience_ms);
}

/* Reads exactly len bytes in reads of at most `chunk`. */
static inline void
raw_read(int fd, void *to, size_t len, size_t chunk)
{
    uint8_t *at = to;
    while (len > 0) {
        raw_await(fd);
        ssize_t got = read(fd, at, len < chunk ? len : chunk);
        if (got == -1 && (errno == EINTR || errno == EAGAIN))
            continue;
        expect(got > 0, "read of the pipe gave %zd", got);
        at += got;
        len -= (size_t)got;
    }
}

/* Bytes of the record of a result, header included, padded. */
static inline size_t
raw_record_bytes(size_t len)
{
    return 16 + (len + 7) / 8 * 8;
}

/* The n-th CPU that `allowed` holds; false: it holds fewer. */
static inline bool
raw_nth_cpu(const cpu_set_t *allowed, uint32_t n, cpu_set_t *one)
{
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, allowed) || n-- > 0)
            continue;
        CPU_ZERO(one);
        CPU_SET(cpu, one);
        return true;
    }
    return false;
}

/* Keeps this thread on the first CPU; returns what it may run on otherwise. */
static inline cpu_set_t
raw_stay_on_first_cpu(void)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        conform_broken("sched_getaffinity: %s", strerror(errno));
    if (CPU_COUNT(&allowed) > 1 && raw_nth_cpu(&allowed, 0, &one))
        (void)sched_setaffinity(0, sizeof one, &one);
    return allowed;
}

/*
 * The reader on one CPU, the workers on another, where there are two: a worker
 * that is woken on the reader's CPU would always be done first. Gives back
 * what the reader may run on.
 */
static inline cpu_set_t
raw_spread_over_cpus(void)
{
    int32_t workers[4];
    cpu_set_t allowed = raw_stay_on_first_cpu(), second;
    uint32_t count = conform_library_threads(workers, 4);
    if (!raw_nth_cpu(&allowed, 1, &second))
        return allowed;
    for (uint32_t i = 0; i < count && i < 4; i++)
        (void)sched_setaffinity(workers[i], sizeof second, &second);
    return allowed;
}

#endif /* CONFORM_CASES_RAW_H */
