/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A record of the ring that owes a token, where the token cannot be written:
 * the record is out all the same, and must not come by another way as well.
 */

#include "raw.h"

#include <stdio.h>

struct sample {
    const char *name;
    uint32_t flags;
    uint64_t timeout_ns;
    uint8_t input[6];
    size_t len;
};

static const struct sample samples[] = {
    {"an inline result", DIAGNOSTIC | INLINE, 0, {MODE_ECHO, 1, 2}, 3},
    {"an empty inline result", DIAGNOSTIC | INLINE, 0, {0}, 0},
    {"a bare ticket", DIAGNOSTIC, 0, {MODE_ECHO, 1, 2}, 3},
    {"a result over 4096 bytes", DIAGNOSTIC, 0, {16, 0x88, 0x13}, 6},
    {"an error", INLINE, 0, {MODE_ECHO, 1}, 2},
    {"an expired job", DIAGNOSTIC | INLINE, 1, {MODE_COOPERATIVE, 9}, 2},
    {"a panic", DIAGNOSTIC | INLINE, 0, {MODE_PANIC}, 1},
};

enum { SAMPLES = sizeof samples / sizeof samples[0] };

static bool
is_refusal(const struct outcome *outcome)
{
    return outcome->code == FFI_ERR &&
           strstr(outcome->msg, "not found or already taken") != NULL;
}

static bool
submit_is_refused(void *argument)
{
    struct host *host = argument;
    static const uint8_t echo[1] = {MODE_ECHO};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct outcome outcome = host_try_submit(host, &header, echo, 1, 0);
    return outcome.code != FFI_OK && strstr(outcome.msg, "full") == NULL;
}

static uint32_t
lines_about(uint64_t ticket, const char *log)
{
    char line[80];
    uint32_t lines = 0;
    int len = snprintf(line, sizeof line, "write failed for ticket %llu",
                       (unsigned long long)ticket);
    for (; (log = strstr(log, line)) != NULL; log += len)
        lines += log[len] < '0' || log[len] > '9';
    return lines;
}

static void
close_and_forget(struct host *host)
{
    struct conform_ring *ring = host_ring(host);
    FfiStatus status = conform_dirty_status();
    struct outcome closed =
        conform_settle(api.handle_close(host_handle(host), &status), &status);
    expect_code(FFI_OK, closed.code, "close");
    expect_u64(0, ring_overflow(ring), "`overflow` of a record in the ring");
    api.ring_release(ring->ring);
    host_forget(host);
}

static void
await_record(struct conform_ring *ring)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (ring_sequence(ring, ring->position) != ring->position + 1) {
        expect(conform_now_ns() < give_up, "the record is in the ring");
        sched_yield();
    }
}

/* Takes the result of a record in the ring; it must be there only once. */
static void
expect_one_result(struct host *host, const struct completion *done,
                  const char *what)
{
    if (!done->inlined) {
        struct outcome result = host_take(host, done->ticket);
        expect(!is_refusal(&result), "%s: the result is there", what);
    }
    struct outcome again = host_take(host, done->ticket);
    expect(is_refusal(&again),
           "%s: the record in the ring is the ticket's only completion, and "
           "its result is out; a take gives %s",
           what, conform_code_name(again.code));
}

static void
lose_the_token(const struct sample *sample)
{
    struct host *host = host_open_with(1, CONFORM_RING);
    struct conform_ring *ring = host_ring(host);
    CallHeader header = job_header(sample->flags, sample->timeout_ns);
    struct completion done;
    close(host_read_fd(host));
    (void)conform_drain_log();
    expect(ring_announce(ring), "the ring is empty: the reader may park");
    uint64_t ticket =
        host_submit_header(host, &header, sample->input, sample->len);
    await_record(ring);
    /* Comes back when the unit has left: nothing of it is to come. */
    expect_code(FFI_OK, api.shutdown(5000), "shutdown, the token given up");
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect(ring_read(ring, &done), "%s: the record", sample->name);
    expect_u64(ticket, done.ticket, "%s: the ticket in the ring", sample->name);
    expect_one_result(host, &done, sample->name);
    expect_u64_at_most(1, lines_about(ticket, conform_drain_log()),
                       "log lines about one write that failed, %s",
                       sample->name);
    expect(conform_eventually(submit_is_refused, host),
           "submit is refused once a token met the closed pipe");
    while (ring_read(ring, &done))
        expect(done.ticket != ticket, "%s: a second record", sample->name);
    close_and_forget(host);
}

static void
close_in_thread(void *argument)
{
    expect_code(FFI_OK, api.handle_close(argument, NULL), "close");
}

/* The token waits for room; the handle closes while room is being made. */
static void
close_over_the_token(const struct sample *sample)
{
    struct host *host = host_open_with(1, CONFORM_RING);
    struct conform_ring *ring = host_ring(host);
    CallHeader header = job_header(sample->flags, sample->timeout_ns);
    struct completion done;
    int event, fd = host_read_fd(host);
    size_t filled = pipe_fill(host_write_fd(host));
    expect(ring_announce(ring), "the ring is empty: the reader may park");
    uint64_t ticket =
        host_submit_header(host, &header, sample->input, sample->len);
    await_record(ring);
    struct conform_thread *thread =
        conform_thread_start(close_in_thread, host_handle(host), 0);
    job_pause_us(conform_random(2000));
    pipe_unfill(fd, filled);
    while ((event = pipe_read_record(fd, &done)) != 0)
        expect_i64(2, event, "%s: in the pipe, the record being in the ring",
                   sample->name);
    conform_thread_join(thread);
    expect(ring_read(ring, &done), "%s: the record", sample->name);
    expect_u64(ticket, done.ticket, "%s: the ticket in the ring", sample->name);
    expect(!ring_read(ring, &done), "%s: a second record", sample->name);
    expect_u64(0, ring_overflow(ring), "`overflow` of a record in the ring");
    api.ring_release(ring->ring);
    close(fd);
    host_forget(host);
}

CONFORM_CASE(broken_token, .id = "i4.exactly-once.token-cannot-be-written",
             .clauses = "i4.exactly-once i4.inline-is-final i4.ring-overflow "
                        "i4.reader-gone",
             .why = "a record taken back because its token failed: it is in "
                    "the ring already, and comes a second time by the pipe "
                    "or as a stored result",
             .steps = "`waiting` = 1, and the read end is closed, or the pipe "
                      "is full while the handle closes; then one job of each "
                      "way of ending.",
             .expected = "One record, in the ring; its result is out once; at "
                         "most one log line; `overflow` stays 0; with the "
                         "read end closed submit is refused.",
             .mutant = "token-failure-doubles-the-record")
{
    for (size_t i = 0; i < SAMPLES; i++)
        lose_the_token(&samples[i]);
    for (uint32_t round = 0; round < conform_rounds(2, 100); round++) {
        for (size_t i = 0; i < SAMPLES; i++)
            close_over_the_token(&samples[i]);
    }
}
