/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_handle_close with work in flight and nobody reading. */

#include "../completions/raw.h"

static void
make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
}

static void
expect_close_ok(GussetHandle *handle)
{
    FfiStatus status = conform_dirty_status();
    struct outcome closed =
        conform_settle(api.handle_close(handle, &status), &status);
    expect_code(FFI_OK, closed.code, "close");
}

/*
 * A sleeper of 150 ms runs, a log job and a panic wait behind it; close. False
 * when this thread was too slow for the two to be queued still.
 */
static bool
close_over_queue(void)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 15};
    static const uint8_t logging[2] = {MODE_LOG, 3};
    static const uint8_t panic[1] = {MODE_PANIC};
    GussetHandle *handle = NULL;
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    int fds[2];
    uint64_t tickets[3];
    make_pipe(fds);
    expect_code(FFI_OK, api.handle_open(1, fds[1], &handle, NULL), "open");
    (void)conform_drain_log();
    uint64_t earliest_end = conform_now_ns() + 150 * MS;
    tickets[0] = raw_submit(handle, &header, sleeper, sizeof sleeper);
    tickets[1] = raw_submit(handle, &header, logging, sizeof logging);
    tickets[2] = raw_submit(handle, &header, panic, sizeof panic);
    bool in_time = conform_now_ns() + 20 * MS < earliest_end;
    expect_close_ok(handle);
    const char *log = conform_drain_log();
    uint32_t seen[3] = {0}, bare[3] = {0};
    struct completion done;
    while (pipe_read_record(fds[0], &done) != 0) {
        for (int i = 0; i < 3; i++) {
            seen[i] += tickets[i] == done.ticket;
            bare[i] += tickets[i] == done.ticket && !done.inlined;
        }
    }
    close(fds[0]);
    if (!in_time)
        return false;
    for (int i = 0; i < 3; i++)
        expect_u64(1, seen[i], "completions of job %d of a closed handle", i);
    expect_u64(1, bare[1], "bare records of the queued log job");
    expect_u64(1, bare[2], "bare records of the queued panic");
    expect_text(TEXT_LACKS, "worker log event", log, strlen(log),
                "the log: the queued job never ran");
    return true;
}

CONFORM_CASE(close_queued, .id = "l.close-cancels.queued-never-run",
             .clauses = "l.close-cancels i4.exactly-once",
             .why = "a close that runs the whole queue first, or throws it "
                    "away without a word",
             .steps = "One worker sleeps 150 ms; a log job and a panic wait; "
                      "close; read the pipe to its end.",
             .expected = "Three completions, each once; the queued ones bare "
                         "and never run.",
             .mutant = "close-does-not-cancel-queued", .tags = CONFORM_SLEEPS)
{
    for (int attempt = 0; attempt < 20; attempt++)
        if (close_over_queue())
            return;
    conform_broken("three submits took over 130 ms, 20 times");
}

static bool
no_library_thread(void *unused)
{
    int32_t ids[4];
    (void)unused;
    return conform_library_threads(ids, 4) == 0;
}

CONFORM_CASE(close_running, .id = "l.close-cancels.running-and-joined",
             .clauses = "l.close-cancels i3.cancel",
             .why = "a close that waits for work it could have stopped, or "
                    "leaves a worker behind",
             .steps = "Two workers full with six cooperative jobs of 2.55 s; "
                      "close; read to the end; best of three.",
             .expected = "Close ends well before one job would; six "
                         "completions; no library thread is left.",
             .mutant = "thread-leak-on-close", .transports = CONFORM_BOTH)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t best = UINT64_MAX;
    for (int round = 0; round < 3 && best > 1000 * MS; round++) {
        GussetHandle *handle = NULL;
        struct conform_ring ring = {.ring = NULL};
        const uint8_t *shared, *slots;
        int fds[2];
        make_pipe(fds);
        expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
        if (conform_transport() == CONFORM_RING) {
            expect_code(FFI_OK,
                        api.handle_ring(handle, &ring.ring, &shared, &slots,
                                        &ring.capacity, NULL),
                        "attach");
            ring.shared = (uint8_t *)(uintptr_t)shared;
            ring.slots = (uint8_t *)(uintptr_t)slots;
        }
        for (int i = 0; i < 6; i++)
            (void)raw_submit(handle, &header, endless, sizeof endless);
        uint64_t from = conform_now_ns();
        expect_close_ok(handle);
        uint64_t took = conform_now_ns() - from;
        best = took < best ? took : best;
        expect(conform_eventually(no_library_thread, NULL),
               "no library thread is left after close");
        uint32_t completions = 0;
        struct completion done;
        int kind;
        while ((kind = pipe_read_record(fds[0], &done)) != 0)
            completions += kind == 1;
        while (ring.ring != NULL && ring_read(&ring, &done))
            completions++;
        expect_u64(6, completions, "completions of the six jobs");
        api.ring_release(ring.ring);
        close(fds[0]);
    }
    conform_evidence("close-ms", "%llu", (unsigned long long)(best / MS));
    expect_u64_at_most(1000 * MS, best,
                       "ns of close over cooperative jobs of 2.55 s");
}

CONFORM_CASE(close_full_pipe, .id = "l.close-full-pipe.nobody-reads",
             .clauses = "l.close-full-pipe i4.eof-at-close",
             .why = "a close that waits for a worker that waits for room that "
                    "nobody will make",
             .steps = "Pipe (and ring) full; six jobs, of which two wait to "
                      "be reported; close without a reader; then read.",
             .expected = "Close is FFI_OK within patience; the filling, "
                         "perhaps some completions, each once, then EOF.",
             .mutant = "close-waits-for-room blocking-pipe-end",
             .transports = CONFORM_BOTH)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int round = 0; round < 5; round++) {
        GussetHandle *handle = NULL;
        const GussetRing *ring = NULL;
        const uint8_t *shared, *slots;
        uint64_t capacity = 0, tickets[6];
        int fds[2];
        make_pipe(fds);
        expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
        if (conform_transport() == CONFORM_RING)
            expect_code(FFI_OK,
                        api.handle_ring(handle, &ring, &shared, &slots,
                                        &capacity, NULL),
                        "attach");
        for (uint64_t i = 0; i < capacity; i++)
            (void)raw_submit(handle, &header, echo, sizeof echo);
        size_t filled = pipe_fill(fds[1]);
        for (int i = 0; i < 6; i++)
            tickets[i] = raw_submit(handle, &header, echo, sizeof echo);
        uint64_t from = conform_now_ns();
        expect_close_ok(handle);
        expect_u64_at_most(conform_patience_ns(), conform_now_ns() - from,
                           "ns of close with a full pipe");
        pipe_unfill(fds[0], filled);
        uint32_t seen[6] = {0};
        struct completion done;
        while (pipe_read_record(fds[0], &done) != 0)
            for (int i = 0; i < 6; i++)
                seen[i] += tickets[i] == done.ticket;
        for (int i = 0; i < 6; i++)
            expect_u64_at_most(1, seen[i], "completions of job %d", i);
        api.ring_release(ring);
        close(fds[0]);
    }
}
