/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A close over a full pipe, once for each thing that may wait for room. */

#include "../completions/raw.h"

enum waits { WAITS_BARE, WAITS_INLINE, WAITS_OVERFLOW, WAITS_TOKEN };

struct full {
    GussetHandle *handle;
    int read_fd;
    struct conform_ring ring;
    size_t filled;
};

/* A pool of one on a full pipe, with a ring from WAITS_OVERFLOW on. */
static void
open_full(struct full *full, enum waits waits)
{
    const uint8_t *shared = NULL, *slots = NULL;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    *full = (struct full){.read_fd = fds[0]};
    expect_code(FFI_OK, api.handle_open(1, fds[1], &full->handle, NULL),
                "open");
    if (waits >= WAITS_OVERFLOW) {
        expect_code(FFI_OK,
                    api.handle_ring(full->handle, &full->ring.ring, &shared,
                                    &slots, &full->ring.capacity, NULL),
                    "attach");
        full->ring.shared = (uint8_t *)(uintptr_t)shared;
        full->ring.slots = (uint8_t *)(uintptr_t)slots;
    }
    full->filled = pipe_fill(fds[1]);
}

/* Gives the worker what it then waits to write, and sees that it has run. */
static void
make_it_wait(struct full *full, enum waits waits)
{
    static const uint8_t echo[] = {MODE_ECHO, 1}, logging[] = {MODE_LOG, 1};
    CallHeader bare = job_header(DIAGNOSTIC, 0);
    CallHeader inlined = job_header(DIAGNOSTIC | INLINE, 0);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    if (waits == WAITS_TOKEN)
        expect(ring_announce(&full->ring), "the ring is empty");
    for (uint64_t i = 0; waits == WAITS_OVERFLOW && i < full->ring.capacity;
         i++)
        (void)raw_submit(full->handle, &bare, echo, sizeof echo);
    (void)conform_drain_log();
    (void)raw_submit(full->handle, waits == WAITS_INLINE ? &inlined : &bare,
                     logging, sizeof logging);
    while (strstr(conform_drain_log(), "worker log event 0") == NULL)
        expect(conform_now_ns() < give_up, "the job runs");
    while (waits == WAITS_TOKEN && ring_sequence(&full->ring, 0) != 1)
        expect(conform_now_ns() < give_up, "its record is in the ring");
}

CONFORM_CASE(close_waits_for_nothing, .id = "l.close-full-pipe.each-kind",
             .clauses = "l.close-full-pipe l.close-cancels "
                        "i1.close-releases-all",
             .why = "a wait for room that has a loop of its own and does not "
                    "look whether the handle is being closed",
             .steps = "Pipe full; a worker waits to write a bare ticket, an "
                      "inline record, one that the full ring refused, or a "
                      "token; close without a reader. Five times each.",
             .expected = "FFI_OK within patience, no byte behind the filling "
                         "but at most one record, then EOF.",
             .mutant = "token-waits-through-close", .timeout_ms = 60000)
{
    static const char *const names[] = {"a bare ticket", "an inline record",
                                        "an overflow", "a token"};
    for (int round = 0; round < 20; round++) {
        enum waits waits = (enum waits)(round % 4);
        struct full full;
        struct completion done;
        open_full(&full, waits);
        make_it_wait(&full, waits);
        uint64_t from = conform_now_ns();
        expect_code(FFI_OK, api.handle_close(full.handle, NULL),
                    "close while %s waits for room", names[waits]);
        expect_u64_at_most(conform_patience_ns(), conform_now_ns() - from,
                           "ns of a close while %s waits for room",
                           names[waits]);
        pipe_unfill(full.read_fd, full.filled);
        int records = 0;
        while (pipe_read_record(full.read_fd, &done) != 0)
            records++;
        expect_u64_at_most(1, (uint64_t)records,
                           "records behind the filling, %s", names[waits]);
        api.ring_release(full.ring.ring);
        close(full.read_fd);
    }
}
