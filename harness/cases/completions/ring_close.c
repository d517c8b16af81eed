/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of a ring around the end of its handle. */

#include "raw.h"

#include <stdatomic.h>

static const uint8_t echo[3] = {MODE_ECHO, 3, 5};

/* A handle with a ring, opened without the harness's reader. */
struct bare_ring {
    GussetHandle *handle;
    int read_fd;
    int write_fd;
    struct conform_ring ring;
};

static struct bare_ring
bare_open(uint32_t pool)
{
    struct bare_ring bare = {.read_fd = -1};
    int fds[2];
    const uint8_t *shared, *slots;
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    bare.read_fd = fds[0];
    bare.write_fd = fds[1];
    expect_code(FFI_OK, api.handle_open(pool, fds[1], &bare.handle, NULL),
                "open");
    expect_code(FFI_OK,
                api.handle_ring(bare.handle, &bare.ring.ring, &shared, &slots,
                                &bare.ring.capacity, NULL),
                "attach");
    bare.ring.shared = (uint8_t *)(uintptr_t)shared;
    bare.ring.slots = (uint8_t *)(uintptr_t)slots;
    return bare;
}

static void
bare_close(struct bare_ring *bare)
{
    FfiStatus status = conform_dirty_status();
    struct outcome closed =
        conform_settle(api.handle_close(bare->handle, &status), &status);
    expect_code(FFI_OK, closed.code, "close");
}

/* Reads tokens up to the end of the file; returns the completions seen. */
static uint32_t
read_to_end(int fd)
{
    struct completion done;
    uint32_t completions = 0;
    int kind;
    while ((kind = pipe_read_record(fd, &done)) != 0)
        completions += kind == 1;
    return completions;
}

static void
await_sequence(const struct conform_ring *ring, uint64_t position)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (ring_sequence(ring, position) != position + 1)
        expect(conform_now_ns() < give_up, "a record at position %llu",
               (unsigned long long)position);
}

CONFORM_CASE(ring_outlives, .id = "i4.ring-outlives-close.read-after-close",
             .clauses = "i4.ring-outlives-close",
             .why = "ring memory freed with the handle: the reader, who is on "
                    "another thread, is still in it",
             .steps = "Two records published and unread; close; read the "
                      "header, the records and every byte of the slots; "
                      "write them; release.",
             .expected = "All is readable and writable, the records are "
                         "whole, nothing changes it after close.",
             .mutant = NULL)
{
    for (int round = 0; round < 10; round++) {
        struct bare_ring bare = bare_open(1);
        CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
        uint64_t tickets[2];
        for (int i = 0; i < 2; i++) {
            tickets[i] = raw_submit(bare.handle, &header, echo, sizeof echo);
            await_sequence(&bare.ring, (uint64_t)i);
        }
        bare_close(&bare);
        expect_u64(0, read_to_end(bare.read_fd), "completions in the pipe");
        for (int i = 0; i < 2; i++) {
            struct completion done;
            expect(ring_read(&bare.ring, &done), "record %d after close", i);
            expect_u64(tickets[i], done.ticket, "its ticket");
        }
        expect_u64(0, ring_overflow(&bare.ring), "overflow after close");
        size_t bytes = (size_t)bare.ring.capacity * GUSSET_RING_SLOT_BYTES;
        memset(bare.ring.slots, 0xa7, bytes);
        memset(bare.ring.shared + GUSSET_RING_OFF_WAITING, 1, 4);
        conform_fresh_handle_works();
        for (size_t i = 0; i < bytes; i++)
            expect_u64(0xa7, bare.ring.slots[i], "byte %zu after close", i);
        api.ring_release(bare.ring.ring);
        close(bare.read_fd);
    }
}

CONFORM_CASE(release_first, .id = "i4.ring-outlives-close.release-before-close",
             .clauses = "i4.ring-outlives-close l.cycles",
             .why = "a release that unmaps memory under a worker, or memory "
                    "that stays for ever when the release came first",
             .steps = "Release the ring while jobs run and after them, submit "
                      "more, close; 30 times after a warm-up.",
             .expected = "No crash, close is FFI_OK, EOF comes; live_bytes "
                         "and descriptors end where they were. NULL is a "
                         "no-op.",
             .mutant = "ring-never-freed")
{
    struct conform_census before = {0};
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (int round = 0; round < 40; round++) {
        if (round == 10)
            before = conform_census_now(0);
        struct bare_ring bare = bare_open(2);
        for (int i = 0; i < 4; i++)
            (void)raw_submit(bare.handle, &header, echo, sizeof echo);
        if (round % 2 == 0)
            for (uint64_t p = 0; p < 2; p++)
                await_sequence(&bare.ring, p);
        api.ring_release(NULL);
        api.ring_release(bare.ring.ring);
        for (int i = 0; i < 4; i++)
            (void)raw_submit(bare.handle, &header, echo, sizeof echo);
        bare_close(&bare);
        (void)read_to_end(bare.read_fd);
        close(bare.read_fd);
    }
    struct conform_census after = conform_census_now(before.threads);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes");
    expect_u64(before.fds, after.fds, "descriptors");
}

struct parked_reader {
    struct bare_ring *bare;
    atomic_bool announced;
    bool woken;
};

/* Announces itself, parks until the pipe is readable, drains to the end. */
static void
park_until_close(void *argument)
{
    struct parked_reader *reader = argument;
    struct completion done;
    bool may_park = ring_announce(&reader->bare->ring);
    atomic_store(&reader->announced, true);
    if (may_park)
        raw_await(reader->bare->read_fd);
    (void)ring_retract(&reader->bare->ring);
    while (pipe_read_record(reader->bare->read_fd, &done) != 0)
        continue;
    reader->woken = true;
}

CONFORM_CASE(close_wakes, .id = "i4.ring-outlives-close.close-wakes-reader",
             .clauses = "i4.ring-outlives-close i4.eof-at-close",
             .why = "a reader that sleeps for ever on the ring of a closed "
                    "handle",
             .steps = "A reader thread sets waiting and parks in poll; close "
                      "from another thread, idle or with a job running; 20 "
                      "times each.",
             .expected = "It wakes by a token or EOF and reaches EOF within "
                         "patience.",
             .mutant = "eof-missing")
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int round = 0; round < 40; round++) {
        static struct bare_ring bare;
        static struct parked_reader reader;
        bare = bare_open(1);
        reader.bare = &bare;
        reader.woken = false;
        atomic_store(&reader.announced, false);
        if (round % 4 == 1)
            (void)raw_submit(bare.handle, &header, endless, sizeof endless);
        struct conform_thread *thread =
            conform_thread_start(park_until_close, &reader, 0);
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        while (!atomic_load(&reader.announced)) {
            expect(conform_now_ns() < give_up, "the reader announces itself");
            job_pause_us(50);
        }
        if (round % 4 == 3)
            job_pause_us(conform_random(300));
        bare_close(&bare);
        conform_thread_join(thread);
        expect(reader.woken, "the parked reader reached the end of the file");
        api.ring_release(bare.ring.ring);
        close(bare.read_fd);
    }
}

CONFORM_CASE(drain_after_eof, .id = "i4.exactly-once.ring-drained-after-eof",
             .clauses = "i4.exactly-once i4.ring-outlives-close "
                        "l.close-cancels",
             .why = "completions of jobs in flight at close that the ring has "
                    "room for and that never appear",
             .steps = "Jobs run and wait while close is called, with room in "
                      "the ring; EOF; then the ring is drained once more; 30 "
                      "times.",
             .expected = "The set of tickets read from pipe and ring is the "
                         "set accepted.",
             .mutant = NULL)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    static const uint8_t steps[2] = {MODE_COOPERATIVE, 255};
    for (int round = 0; round < 30; round++) {
        struct bare_ring bare = bare_open(3);
        uint64_t tickets[4];
        uint32_t seen[4] = {0};
        for (int i = 0; i < 4; i++)
            tickets[i] =
                raw_submit(bare.handle, &header, i % 2 ? echo : steps, 2);
        bare_close(&bare);
        struct completion done;
        int kind;
        bool at_end = false;
        while (!at_end || ring_read(&bare.ring, &done)) {
            if (!at_end) {
                kind = pipe_read_record(bare.read_fd, &done);
                at_end = kind == 0;
                if (kind != 1)
                    continue;
            }
            for (int i = 0; i < 4; i++)
                seen[i] += tickets[i] == done.ticket;
        }
        for (int i = 0; i < 4; i++)
            expect_u64(1, seen[i], "completions of ticket %llu",
                       (unsigned long long)tickets[i]);
        api.ring_release(bare.ring.ring);
        close(bare.read_fd);
    }
}
