/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of a reader that is slow, or gone. A pipe of one page is filled before
 * a job ends, so its completion finds no room for as long as the case wants.
 */

#include "raw.h"

#include <signal.h>
#include <stdio.h>

static const uint8_t echo[3] = {MODE_ECHO, 6, 9};

CONFORM_CASE(stalled_none_lost, .id = "i4.stalled-reader.none-lost",
             .clauses = "i4.stalled-reader i4.exactly-once i4.pipe-record",
             .why = "a completion dropped, torn or written twice because the "
                    "pipe was full when it came",
             .steps = "25 times: fill a one-page pipe, let six jobs end (48 "
                      "inline bytes, and bare), empty the pipe in pieces of "
                      "random length without another call.",
             .expected = "Six completions each, whole, once, with their "
                         "bytes.",
             .mutant = "drop-on-full-pipe double-completion")
{
    struct host *host = host_open_with(2, CONFORM_PIPE);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (uint32_t round = 0; round < conform_rounds(25, 2000); round++) {
        uint8_t *inputs[6];
        uint64_t tickets[6];
        size_t filled = pipe_fill(host_write_fd(host));
        for (int i = 0; i < 6; i++) {
            size_t len = i % 2 ? 48 : 60;
            inputs[i] = conform_pattern(len, MODE_ECHO, round * 6 + i);
            tickets[i] = host_submit_patiently(host, &header, inputs[i], len);
        }
        while (filled > 0) {
            size_t piece = 8 * (1 + conform_random(256));
            piece = piece < filled ? piece : filled;
            pipe_unfill(host_read_fd(host), piece);
            filled -= piece;
            if (conform_random(4) == 0)
                job_pause_us(conform_random(500));
        }
        for (int i = 0; i < 6; i++) {
            struct outcome outcome = job_finish(host, tickets[i]);
            expect_success_is(&outcome, inputs[i], i % 2 ? 48 : 60,
                              "a result that waited for room");
        }
    }
    host_close(host);
}

/* The log so far contains a worker's line. */
static bool
worker_logged(void *text)
{
    return strstr(conform_drain_log(), text) != NULL;
}

CONFORM_CASE(stalled_others, .id = "i4.stalled-reader.others-compute",
             .clauses = "i4.stalled-reader",
             .why = "a back-off that sleeps with a lock held: one slow reader "
                    "then freezes every worker of the process",
             .steps = "Pool 2, pipe full: a job ends and cannot report; a "
                      "second job must still run, and a whole call on "
                      "another handle.",
             .expected = "The second job's log lines appear, the other handle "
                         "answers; after the pipe is emptied both completions "
                         "arrive.",
             .mutant = "drop-on-full-pipe")
{
    static const uint8_t first[2] = {MODE_LOG, 1}, second[2] = {MODE_LOG, 4};
    struct host *host = host_open_with(2, CONFORM_PIPE);
    size_t filled = pipe_fill(host_write_fd(host));
    (void)conform_drain_log();
    uint64_t one = host_submit(host, DIAGNOSTIC, first, sizeof first);
    expect(conform_eventually(worker_logged, "worker log event 0"),
           "the first job runs while the pipe is full");
    uint64_t two = host_submit(host, DIAGNOSTIC, second, sizeof second);
    expect(conform_eventually(worker_logged, "worker log event 3"),
           "the second job runs while the first waits for room");
    conform_fresh_handle_works();
    pipe_unfill(host_read_fd(host), filled);
    (void)host_wait(host, one);
    (void)host_wait(host, two);
    host_close(host);
}

/* CPU time of all library threads, in ns; 0 when the system hides it. */
static uint64_t
library_cpu_ns(void)
{
    int32_t ids[16];
    uint32_t count = conform_library_threads(ids, 16);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count && i < 16; i++) {
        char path[64];
        unsigned long long ran = 0;
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/schedstat",
                       ids[i]);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            continue;
        if (fscanf(file, "%llu", &ran) == 1)
            sum += ran;
        fclose(file);
    }
    return sum;
}

CONFORM_CASE(stalled_cpu, .id = "i4.stalled-reader.in-flight-and-quiet",
             .clauses = "i4.stalled-reader l.shutdown-drains",
             .why = "a stalled worker that spins, or a completion that is "
                    "forgotten for shutdown because its job is over",
             .steps = "Pipe full, two jobs end on two workers; their CPU time "
                      "over one second; shutdown(20); then the pipe is "
                      "emptied.",
             .expected = "Under 20 ms of CPU for each stalled worker; "
                         "shutdown is FFI_ERR; both completions arrive "
                         "without another call; then shutdown is FFI_OK.",
             .mutant = "drop-on-full-pipe shutdown-forgets-in-flight",
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t logging[2] = {MODE_LOG, 1};
    struct host *host = host_open_with(2, CONFORM_PIPE);
    size_t filled = pipe_fill(host_write_fd(host));
    uint64_t tickets[2];
    for (int i = 0; i < 2; i++) {
        (void)conform_drain_log();
        tickets[i] = host_submit(host, DIAGNOSTIC, logging, sizeof logging);
        expect(conform_eventually(worker_logged, "worker log event 0"),
               "job %d runs while the pipe is full", i);
    }
    uint64_t cpu = library_cpu_ns(), from = conform_now_ns();
    while (conform_now_ns() < from + 1000 * MS)
        job_pause_us(100000);
    uint64_t window = conform_now_ns() - from;
    uint64_t used = library_cpu_ns() - cpu;
    conform_evidence("cpu-us-of-two-stalled-workers", "%llu in %llu us",
                     (unsigned long long)used / 1000,
                     (unsigned long long)window / 1000);
    expect_u64_at_most(window / 1000 * 20 * 2, used,
                       "ns of CPU of two stalled workers");
    expect_code(FFI_ERR, api.shutdown(20),
                "shutdown over completions that are not delivered");
    pipe_unfill(host_read_fd(host), filled);
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        expect_success_is(&outcome, "\016\001", 2, "the result");
    }
    expect_code(FFI_OK, api.shutdown(5000), "shutdown after the delivery");
    expect_code(FFI_OK, api.init(), "gusset_init");
    host_close(host);
}

/* How often a text occurs that is not followed by a digit. */
static uint32_t
occurrences(const char *text, const char *what)
{
    uint32_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count += at[strlen(what)] < '0' || at[strlen(what)] > '9';
    return count;
}

/* The lines about a full pipe that are in the log now; they are drained. */
static uint32_t
lines_about_a_full_pipe(void)
{
    return occurrences(conform_drain_log(), "completion pipe full for");
}

/* Lines that came within `ms`. */
static uint32_t
lines_within(uint64_t ms)
{
    uint32_t lines = 0;
    uint64_t until = conform_now_ns() + ms * MS;
    while (conform_now_ns() < until) {
        lines += lines_about_a_full_pipe();
        job_pause_us(20000);
    }
    return lines;
}

CONFORM_CASE(stalled_log, .id = "i4.stalled-reader.logged-after-ten-seconds",
             .clauses = "i4.stalled-reader l.log-lines",
             .why = "a stall that nobody can see, or one that fills the log",
             .steps = "Pipe full, two jobs end on two workers; the log is "
                      "drained until both have been told of, and for one "
                      "second more (nightly: eleven); then the pipe is "
                      "emptied.",
             .expected = "No line before 10 s, one for each completion with "
                         "completion pipe full for, not repeated; both "
                         "completions arrive.",
             .mutant = "stall-log-repeated stall-not-logged stall-logged-early",
             .tags = CONFORM_SLEEPS, .timeout_ms = 60000)
{
    static const uint8_t logging[2] = {MODE_LOG, 1};
    struct host *host = host_open_with(2, CONFORM_PIPE);
    size_t filled = pipe_fill(host_write_fd(host));
    (void)conform_drain_log();
    uint64_t tickets[2], from = conform_now_ns();
    for (int i = 0; i < 2; i++) {
        tickets[i] = host_submit(host, DIAGNOSTIC, logging, sizeof logging);
        expect(conform_eventually(worker_logged, "worker log event 0"),
               "job %d runs", i);
    }
    uint32_t lines = 0;
    uint64_t first = 0, bound = 10000 * MS + conform_patience_ns();
    while (lines < 2 && conform_now_ns() < from + bound) {
        lines += lines_within(20);
        if (lines > 0 && first == 0)
            first = conform_now_ns() - from;
    }
    expect_u64(2, lines,
               "lines about a full pipe, for two completions that "
               "waited 10 s");
    expect_u64_at_least(10000 * MS, first, "ns until the first of them");
    expect_u64(0, lines_within(conform_rounds(1000, 11000)),
               "more lines about the same two completions");
    pipe_unfill(host_read_fd(host), filled);
    for (int i = 0; i < 2; i++) {
        struct outcome outcome = job_finish(host, tickets[i]);
        expect_success_is(&outcome, "\016\001", 2, "the result after 10 s");
    }
    host_close(host);
}

struct gone {
    GussetHandle *handle;
    uint64_t ticket;
    struct outcome outcome;
};

static bool
submit_is_refused(void *argument)
{
    struct gone *gone = argument;
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t ticket;
    FfiStatus status = conform_dirty_status();
    gone->outcome = conform_settle(api.submit(gone->handle, &header, echo,
                                              sizeof echo, 0, &ticket, &status),
                                   &status);
    return gone->outcome.code != FFI_OK &&
           strstr(gone->outcome.msg, "full") == NULL;
}

static bool
result_is_taken(void *argument)
{
    struct gone *gone = argument;
    uint64_t id;
    uint8_t *bytes;
    size_t len;
    FfiStatus status = conform_dirty_status();
    int32_t code =
        api.take(gone->handle, gone->ticket, &id, &bytes, &len, &status);
    (void)conform_settle(code, &status);
    if (code != FFI_OK)
        return false;
    expect_bytes(echo, sizeof echo, bytes, len, "the stored result");
    expect_code(FFI_OK,
                api.buf_free(gone->handle, id & ~GUSSET_TAKE_OWNED_FLAG, NULL),
                "buf_free");
    return true;
}

static GussetHandle *
open_with_default_sigpipe(int *read_fd)
{
    GussetHandle *handle = NULL;
    int fds[2];
    if (signal(SIGPIPE, SIG_DFL) == SIG_ERR || pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("a pipe: %s", strerror(errno));
    expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
    *read_fd = fds[0];
    return handle;
}

static void
expect_sigpipe_default(void)
{
    struct sigaction action;
    if (sigaction(SIGPIPE, NULL, &action) != 0)
        conform_broken("sigaction: %s", strerror(errno));
    expect(action.sa_handler == SIG_DFL, "the disposition of SIGPIPE is "
                                         "unchanged");
}

CONFORM_CASE(reader_gone, .id = "i4.reader-gone.closed-read-end",
             .clauses = "i4.reader-gone",
             .why = "a process killed by SIGPIPE, a result lost with its "
                    "completion, or a handle that accepts work which can "
                    "never be reported",
             .steps = "SIGPIPE at its default; close the read end; submit an "
                      "echo without the inline flag; take its result; submit "
                      "until refused.",
             .expected = "The process lives; one log line completion write "
                         "failed for ticket N; the result is there; submit "
                         "is refused with FFI_ERR or FFI_POISONED within 5 "
                         "s; close is FFI_OK.",
             .mutant = "reader-gone-not-logged reader-gone-unnoticed")
{
    int read_fd;
    struct gone gone = {.handle = open_with_default_sigpipe(&read_fd)};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    (void)conform_drain_log();
    close(read_fd);
    gone.ticket = raw_submit(gone.handle, &header, echo, sizeof echo);
    expect(conform_eventually(result_is_taken, &gone),
           "the result of a completion that cannot be written is taken");
    expect(conform_eventually(submit_is_refused, &gone),
           "submit is refused once the reader is known to be gone");
    expect(gone.outcome.code == FFI_ERR || gone.outcome.code == FFI_POISONED,
           "the refusal is FFI_ERR or FFI_POISONED, got %s",
           conform_code_name(gone.outcome.code));
    FfiStatus status = conform_dirty_status();
    struct outcome closed =
        conform_settle(api.handle_close(gone.handle, &status), &status);
    expect_code(FFI_OK, closed.code, "close");
    char line[80];
    (void)snprintf(line, sizeof line, "completion write failed for ticket %llu",
                   (unsigned long long)gone.ticket);
    const char *log = conform_drain_log();
    expect_u64(1, occurrences(log, line), "log lines with %s, in %s", line,
               log);
    expect_sigpipe_default();
    conform_fresh_handle_works();
}

CONFORM_CASE(reader_gone_ring, .id = "i4.reader-gone.ring-overflow",
             .clauses = "i4.reader-gone i4.ring-overflow",
             .why = "a record that the ring had no room for and the pipe "
                    "cannot take: counted all the same, or a crash",
             .steps = "Ring attached, read end closed: fill the ring (nothing "
                      "is noticed), then jobs that overflow.",
             .expected = "Submit is refused within 5 s, overflow stays 0, the "
                         "ring keeps its records, close is FFI_OK.",
             .mutant = "overflow-counts-given-up")
{
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL, *slots = NULL;
    uint64_t capacity = 0;
    int read_fd;
    struct gone gone = {.handle = open_with_default_sigpipe(&read_fd)};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    expect_code(
        FFI_OK,
        api.handle_ring(gone.handle, &ring, &shared, &slots, &capacity, NULL),
        "attach");
    struct conform_ring reader = {ring,
                                  (uint8_t *)(uintptr_t)shared,
                                  (uint8_t *)(uintptr_t)slots,
                                  capacity,
                                  0,
                                  0,
                                  0};
    close(read_fd);
    for (uint64_t i = 0; i < capacity; i++)
        (void)raw_submit(gone.handle, &header, echo, sizeof echo);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint64_t i = 0; i < capacity; i++)
        while (ring_sequence(&reader, i) != i + 1)
            expect(conform_now_ns() < give_up, "record %llu in the ring",
                   (unsigned long long)i);
    expect(conform_eventually(submit_is_refused, &gone),
           "submit is refused once an overflow met the closed pipe");
    expect_code(FFI_OK, api.handle_close(gone.handle, NULL), "close");
    expect_u64(0, ring_overflow(&reader), "overflow of records given up");
    struct completion done;
    for (uint64_t i = 0; i < capacity; i++)
        expect(ring_read(&reader, &done), "record %llu after close",
               (unsigned long long)i);
    api.ring_release(ring);
    expect_sigpipe_default();
}
