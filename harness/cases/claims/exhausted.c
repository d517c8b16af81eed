/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * No memory at all, and little by little [l.alloc-failure]: the claim
 * oom = error.
 */
#include "lack.h"

#define READY 2u /* results that wait when memory ends */

static void
need_claim_error(void)
{
    if (conform_claims("oom", "abort"))
        conform_out_of_reach("the claims file says oom = abort: a process "
                             "without any memory may end");
}

/* One round: everything that it needs is made before memory ends. */
struct round {
    struct lack_host on;  /* with jobs */
    struct host *plain;   /* gets a ring */
    struct host *patient; /* gets panics */
    GussetHandle *doomed; /* is closed */
    int doomed_fd;
    int pipe_fds[2];          /* for an open */
    struct conform_ring ring; /* of `plain`; ring.ring is NULL without one */
    uint64_t ready[READY];
    size_t ready_bytes[READY];
    GussetHandle *opened;
    bool poisoned;
};

static void
run_jobs(struct round *round)
{
    static uint8_t echo[4096];
    static const uint8_t generate[] = {16, 0, 0, 0, 3, 7}; /* 48 MiB */
    static const uint8_t small[] = {16, 0, 32, 0, 0, 7};   /* 8 KiB */
    static const uint8_t logs[] = {MODE_LOG, 200};
    static const uint8_t squares[] = {MODE_SQUARES, 1, 2, 3};
    const struct lack_job jobs[] = {
        {"an inline echo", DIAGNOSTIC | INLINE, echo, 48, false, true, 0},
        {"an echo of 300 bytes", DIAGNOSTIC, echo, 300, false, true, 0},
        {"an echo of 4096 bytes", DIAGNOSTIC, echo, 4096, false, true, 0},
        {"an echo of a buffer", DIAGNOSTIC, NULL, 0, true, true, 0},
        {"mode 16 of 8 KiB", DIAGNOSTIC, small, 6, false, false, 8192},
        {"mode 16 of 48 MiB", DIAGNOSTIC, generate, 6, false, false, 3u << 24},
        {"mode 14", DIAGNOSTIC, logs, 2, false, false, 2},
        {"mode 10", DIAGNOSTIC | INLINE, squares, 4, false, false, 8},
        {"no engine", 0, echo, 10, false, false, 0},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        lack_run(&round->on, &jobs[i]);
}

/* A panic: its own code, or FFI_ERR for lack of memory. */
static void
panic(struct round *round)
{
    static const uint8_t long_panic[] = {12};
    GussetHandle *handle = host_handle(round->patient);
    const CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t ticket = 0;
    FfiStatus status = lack_status();
    if (!lack_succeeded(
            api_raw.submit(handle, &header, long_panic, 1, 0, &ticket, &status),
            &status, "submit of a panic"))
        return;
    host_adopt(round->patient, ticket);
    host_wait(round->patient, ticket);
    int32_t code =
        lack_take(handle, ticket, NULL, 0, "a panic of 1 MiB of text");
    expect_squeezed(code == FFI_PANIC || code == FFI_ERR,
                    "a panic without memory ends as FFI_PANIC or FFI_ERR, not "
                    "%s",
                    conform_code_name(code));
    round->poisoned = code == FFI_PANIC;
}

/* ---- The other calls ---------------------------------------------------- */

static void
alloc_buffer(GussetHandle *handle, size_t bytes)
{
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    FfiStatus status = lack_status();
    if (!lack_succeeded(api_raw.buf_alloc(handle, bytes, &id, &ptr, &status),
                        &status, "buf_alloc"))
        return;
    expect_squeezed(ptr != NULL && ptr[0] == 0 && ptr[bytes - 1] == 0,
                    "buf_alloc of %zu bytes gave all of it", bytes);
    status = lack_status();
    lack_succeeded(api_raw.buf_free(handle, id, &status), &status, "buf_free");
}

static void
alloc_buffers(struct round *round)
{
    static const size_t sizes[] = {1, 4096, 65536, 1 << 20, 1 << 26};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        alloc_buffer(host_handle(round->on.host), sizes[i]);
}

static void
open_and_attach(struct round *round)
{
    const uint8_t *shared = NULL;
    const uint8_t *slots = NULL;
    struct conform_ring *ring = &round->ring;
    FfiStatus status = lack_status();
    if (!lack_succeeded(
            api_raw.handle_open(3, round->pipe_fds[1], &round->opened, &status),
            &status, "handle_open"))
        expect_squeezed(fcntl(round->pipe_fds[1], F_GETFD) != -1,
                        "a refused open leaves the descriptor open");
    status = lack_status();
    if (!lack_succeeded(api_raw.handle_ring(host_handle(round->plain),
                                            &ring->ring, &shared, &slots,
                                            &ring->capacity, &status),
                        &status, "handle_ring"))
        return;
    /* The memory is the reader's to write; only the ABI's pointers are const.
     */
    ring->shared = (uint8_t *)(uintptr_t)shared;
    ring->slots = (uint8_t *)(uintptr_t)slots;
}

static void
ask(void)
{
    static uint8_t log[4096];
    AbiLayout layout;
    AllocStats stats;
    size_t written = 0;
    api_raw.abi_layout(&layout);
    expect_squeezed(layout.version == GUSSET_ABI_VERSION, "abi_layout");
    expect_squeezed(api_raw.abi_fields(NULL, NULL, 0) == 17, "abi_fields");
    api_raw.alloc_stats(&stats);
    expect_squeezed(stats.live_bytes <= stats.peak_bytes, "alloc_stats");
    do {
        api_raw.drain_logs(log, sizeof log, &written);
        expect_squeezed(written <= sizeof log, "drain_logs");
    } while (written > 0);
}

static void
end_things(struct round *round)
{
    GussetHandle *handle = host_handle(round->on.host);
    FfiStatus status = lack_status();
    lack_succeeded(api_raw.cancel(handle, round->ready[0], &status), &status,
                   "cancel");
    status = lack_status();
    lack_succeeded(api_raw.cancel_all(handle, &status), &status, "cancel_all");
    status = lack_status();
    lack_succeeded(api_raw.handle_close(round->doomed, &status), &status,
                   "handle_close");
    int32_t code = api_raw.shutdown(1000);
    expect_squeezed(code == FFI_OK || code == FFI_ERR,
                    "shutdown without memory: %s", conform_code_name(code));
    code = api_raw.init();
    expect_squeezed(code == FFI_OK || code == FFI_ERR,
                    "init without memory: %s", conform_code_name(code));
}

/* ---- A round ------------------------------------------------------------ */

static void
prepare(struct round *round)
{
    int ends[2];
    round->on = lack_open(2);
    round->plain = host_open_with(1, CONFORM_PIPE);
    round->patient = host_open_with(1, CONFORM_PIPE);
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(round->pipe_fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    round->doomed_fd = ends[0];
    expect_code(FFI_OK, api.handle_open(2, ends[1], &round->doomed, NULL),
                "the handle that is closed without memory");
    CallHeader header = job_header(DIAGNOSTIC, 0);
    round->ready[0] =
        host_submit(round->on.host, DIAGNOSTIC, round->on.content, 900);
    round->ready_bytes[0] = 900;
    round->ready[1] =
        host_submit_buffer(round->on.host, &header, round->on.buffer);
    round->ready_bytes[1] = LACK_BUFFER_BYTES;
    for (uint32_t i = 0; i < READY; i++)
        host_wait(round->on.host, round->ready[i]);
}

static struct completion from_ring;

static bool
ring_has_one(void *argument)
{
    return ring_read(argument, &from_ring);
}

/* The ring is the case's own: the host of the handle knows nothing of it. */
static void
echo_by_ring(struct round *round)
{
    static const uint8_t input[] = {MODE_ECHO, 7};
    uint64_t ticket =
        host_submit(round->plain, DIAGNOSTIC, input, sizeof input);
    expect(conform_eventually(ring_has_one, &round->ring),
           "the ring that was had without memory carries a completion");
    expect_u64(ticket, from_ring.ticket, "the ticket of it");
    host_book(round->plain, &from_ring);
    struct outcome outcome = host_take(round->plain, ticket);
    expect_success_is(&outcome, input, sizeof input, "an echo by that ring");
}

/* The next call works, for every handle, and a shutdown finds nothing left. */
static void
look_after(struct round *round)
{
    expect_code(FFI_OK, api.init(), "init, with memory again");
    expect_code(FFI_OK, api.shutdown(1000),
                "a shutdown with memory again finds nothing in flight");
    expect_code(FFI_OK, api.init(), "init after it");
    expect_handle_healthy(round->on.host, "an echo, with memory again");
    if (round->ring.ring != NULL)
        echo_by_ring(round);
    else
        expect_handle_healthy(round->plain, "an echo where no ring was had");
    if (!round->poisoned)
        expect_handle_healthy(round->patient, "an echo where a panic was "
                                              "refused");
    host_buffer_free(round->on.host,
                     host_buffer(round->on.host, NULL, (size_t)1 << 20, NULL));
    conform_fresh_handle_works();
}

/* Reads the pipe of a closed handle to its end. */
static void
expect_eof(int fd, const char *what)
{
    struct completion done;
    int kind;
    while ((kind = pipe_read_record(fd, &done)) != 0)
        expect(kind != 1, "%s has no completion in its pipe", what);
    close(fd);
}

static void
clean_up(struct round *round)
{
    expect_eof(round->doomed_fd, "the handle closed without memory");
    if (round->opened != NULL)
        expect_code(FFI_OK, api.handle_close(round->opened, NULL), "its close");
    else
        close(round->pipe_fds[1]);
    expect_eof(round->pipe_fds[0], "the handle opened without memory");
    lack_close(&round->on);
    host_close(round->plain);
    if (round->ring.ring != NULL)
        api.ring_release(round->ring.ring);
    host_close(round->patient);
}

static void
live_through(size_t spare)
{
    static struct round round;
    AllocStats before, after;
    memset(&round, 0, sizeof round);
    api.alloc_stats(&before);
    prepare(&round);
    squeeze_limit(0);
    lack_begin(spare);
    for (uint32_t i = 0; i < READY; i++) {
        int32_t code = lack_take(host_handle(round.on.host), round.ready[i],
                                 round.on.content, round.ready_bytes[i],
                                 "a take without memory");
        expect_squeezed(code == FFI_OK || code == FFI_ERR,
                        "a take without memory: %s", conform_code_name(code));
    }
    open_and_attach(&round);
    run_jobs(&round);
    panic(&round);
    alloc_buffers(&round);
    ask();
    end_things(&round);
    lack_end();
    look_after(&round);
    clean_up(&round);
    conform_drain_log();
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after a round without memory, %zu bytes spare",
               spare);
}

CONFORM_CASE(
    exhausted, .id = "l.alloc-failure.exhausted",
    .clauses = "l.alloc-failure i4.exactly-once",
    .why = "A library that is tried with memory only crashes, leaks or hangs "
           "on the day the machine is full, with the host's other work.",
    .steps = "No growth of the address space, every free block of the heap "
             "eaten but a spare one of 0 to 300 KB: takes, an open, a ring, "
             "jobs that copy, generate, log and panic, buffers, cancels, a "
             "close, a shutdown, an init. Then memory is back.",
    .expected = "Claim error: each call and each job is FFI_OK with the right "
                "bytes, or FFI_ERR, perhaps without a message; afterwards "
                "every handle works, nothing is in flight, live_bytes is "
                "back.",
    .transports = CONFORM_BOTH, .needs = "claim:oom", .timeout_ms = 60000,
    .mutant = "oom-job-unchecked oom-input-in-flight")
{
    static const size_t spares[] = {0,    48,    200,   600,   1500,   4000,
                                    9000, 20000, 40000, 80000, 120000, 300000};
    need_claim_error();
    for (size_t i = 0; i < sizeof spares / sizeof spares[0]; i++)
        live_through(spares[i]);
    lack_conclude();
}

/* ---- Little by little --------------------------------------------------- */

static bool
live_bytes_are(void *argument)
{
    AllocStats now;
    api_raw.alloc_stats(&now);
    return now.live_bytes == *(const uint64_t *)argument;
}

/* An open and its close, on a pipe that a refusal leaves as it is. */
static void
try_open(size_t spare)
{
    int fds[2];
    AllocStats before;
    GussetHandle *handle = NULL;
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    FfiStatus status = lack_status();
    api_raw.alloc_stats(&before);
    if (lack_succeeded(api_raw.handle_open(3, fds[1], &handle, &status),
                       &status, "handle_open"))
        (void)api_raw.handle_close(handle, NULL);
    else
        close(fds[1]);
    expect_squeezed(conform_eventually(live_bytes_are, &before.live_bytes),
                    "live_bytes after an open with %zu bytes spare are what "
                    "they were, %llu",
                    spare, (unsigned long long)before.live_bytes);
    close(fds[0]);
}

CONFORM_CASE(
    little_by_little, .id = "l.alloc-failure.little-by-little",
    .clauses = "l.alloc-failure i4.open-refusal-clean",
    .why = "The second allocation of a call fails when the first one took the "
           "last memory: what the first one took is lost.",
    .steps = "No growth of the address space; with a heap of 0 to 16 KiB in "
             "steps of 64 bytes: an open, an echo of 4096 bytes, mode 16 of 5 "
             "KiB, a buffer. Then memory is back.",
    .expected = "Each is served, or FFI_ERR and live_bytes as before; "
                "afterwards everything works, nothing is in flight.",
    .transports = CONFORM_BOTH, .needs = "claim:oom", .timeout_ms = 60000,
    .mutant = "oom-open-leaks")
{
    static uint8_t echo[4096];
    static const uint8_t generate[] = {16, 0, 20, 0, 0, 7};
    static const struct lack_job jobs[] = {
        {"an echo of 4096 bytes", DIAGNOSTIC, echo, 4096, false, true, 0},
        {"mode 16 of 5 KiB", DIAGNOSTIC, generate, 6, false, false, 5120}};
    need_claim_error();
    struct lack_host on = lack_open(1);
    size_t step = conform_rounds(64, 16);
    squeeze_limit(0);
    for (size_t spare = 0; spare <= 16384; spare += step) {
        lack_begin(spare);
        try_open(spare);
        lack_run(&on, &jobs[0]);
        lack_run(&on, &jobs[1]);
        alloc_buffer(host_handle(on.host), 3000);
    }
    lack_end();
    expect_code(FFI_OK, api.shutdown(1000),
                "a shutdown with memory again finds nothing in flight");
    expect_code(FFI_OK, api.init(), "init");
    expect_handle_healthy(on.host, "an echo, with memory again");
    lack_close(&on);
    conform_fresh_handle_works();
    lack_conclude();
}
