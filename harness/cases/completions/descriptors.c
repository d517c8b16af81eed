/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the pipe's end, and of descriptors that are none of its business. */

#include "raw.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>

static const uint8_t echo[3] = {MODE_ECHO, 2, 4};

CONFORM_CASE(eof_after_drain, .id = "i4.eof-at-close.after-the-last-record",
             .clauses = "i4.eof-at-close l.close-cancels",
             .why = "a copy of the write end that stays open: every reader "
                    "waits for ever",
             .steps = "Pools of 1, 2 and 4, idle, with six unread "
                      "completions, and with jobs in flight; close; read to "
                      "the end.",
             .expected = "The records that are owed, then EOF, within "
                         "patience.",
             .mutant = "eof-missing", .transports = CONFORM_BOTH)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t pool = 1u << round % 3;
        uint32_t jobs = round % 4 == 0 ? 0 : 3;
        int fds[2];
        GussetHandle *handle = NULL;
        struct conform_ring ring = {.ring = NULL};
        const uint8_t *shared, *slots;
        if (pipe2(fds, O_CLOEXEC) != 0)
            conform_broken("pipe2: %s", strerror(errno));
        expect_code(FFI_OK, api.handle_open(pool, fds[1], &handle, NULL),
                    "open");
        if (conform_transport() == CONFORM_RING) {
            expect_code(FFI_OK,
                        api.handle_ring(handle, &ring.ring, &shared, &slots,
                                        &ring.capacity, NULL),
                        "attach");
            ring.shared = (uint8_t *)(uintptr_t)shared;
            ring.slots = (uint8_t *)(uintptr_t)slots;
        }
        for (uint32_t i = 0; i < jobs; i++)
            (void)raw_submit(handle, &header, round % 2 ? echo : endless, 2);
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        uint32_t completions = 0;
        struct completion done;
        int kind;
        while ((kind = pipe_read_record(fds[0], &done)) != 0)
            completions += kind == 1;
        while (ring.ring != NULL && ring_read(&ring, &done))
            completions++;
        expect_u64(jobs, completions, "completions up to the end of the file");
        api.ring_release(ring.ring);
        close(fds[0]);
    }
}

/* Marks in `open` the descriptors of this process. */
static void
list_fds(bool *open, size_t cap)
{
    memset(open, 0, cap * sizeof *open);
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL)
        conform_broken("/proc/self/fd: %s", strerror(errno));
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd >= 0 && (size_t)fd < cap &&
            fd != dirfd(directory))
            open[fd] = true;
    }
    closedir(directory);
}

CONFORM_CASE(fds_cloexec, .id = "i4.fd-hygiene.close-on-exec",
             .clauses = "i4.fd-hygiene",
             .why = "a descriptor that a child of the host inherits: EOF then "
                    "waits for an unrelated process",
             .steps = "List the descriptors before and after open, attach, a "
                      "panic, a full pipe and 50 jobs; on a write end with "
                      "and without FD_CLOEXEC.",
             .expected = "Each new one has FD_CLOEXEC; the host's own keep "
                         "the flag they had.",
             .mutant = "descriptor-duplicated")
{
    enum { CAP = 1024 };
    static bool before[CAP], after[CAP];
    static const uint8_t panic[1] = {MODE_PANIC};
    for (int with = 0; with < 2; with++) {
        int fds[2];
        GussetHandle *handle = NULL;
        if (pipe2(fds, with ? O_CLOEXEC : 0) != 0)
            conform_broken("pipe2: %s", strerror(errno));
        list_fds(before, CAP);
        expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
        CallHeader header = job_header(DIAGNOSTIC, 0);
        for (int i = 0; i < 50; i++)
            (void)raw_submit(handle, &header, echo, sizeof echo);
        (void)raw_submit(handle, &header, panic, sizeof panic);
        list_fds(after, CAP);
        uint32_t opened = 0;
        for (int fd = 0; fd < CAP; fd++) {
            if (!after[fd] || before[fd])
                continue;
            opened++;
            expect_i64(FD_CLOEXEC, fcntl(fd, F_GETFD) & FD_CLOEXEC,
                       "FD_CLOEXEC of the library's descriptor %d", fd);
        }
        expect_i64(with ? FD_CLOEXEC : 0, fcntl(fds[1], F_GETFD) & FD_CLOEXEC,
                   "FD_CLOEXEC of the host's write end");
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        close(fds[0]);
        conform_evidence("opened", "%u descriptors besides the pipe", opened);
    }
}

struct churn {
    struct conform_barrier *barrier;
    uint32_t rounds;
};

/* Handles with work in flight, opened and closed as fast as they go. */
static void
churn_handles(void *argument)
{
    struct churn *churn = argument;
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    conform_barrier_wait(churn->barrier);
    for (uint32_t i = 0; i < churn->rounds; i++) {
        int fds[2];
        GussetHandle *handle = NULL;
        if (pipe2(fds, O_CLOEXEC) != 0)
            conform_broken("pipe2: %s", strerror(errno));
        expect_code(FFI_OK, api.handle_open(1, fds[1], &handle, NULL), "open");
        (void)raw_submit(handle, &header, i % 8 ? echo : endless, 2);
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        close(fds[0]);
    }
}

CONFORM_CASE(fds_churn, .id = "i4.fd-hygiene.numbers-reused",
             .clauses = "i4.fd-hygiene i4.open-owns-fd",
             .why = "a write or a close that reaches a number after it was "
                    "given up: bytes in an unrelated file, or a file gone",
             .steps = "A thread opens and closes 300 handles with work in "
                      "flight while this one opens pipes on the numbers that "
                      "become free, and looks into them before closing them.",
             .expected = "Each pipe of ours stays open and empty.",
             .mutant = NULL)
{
    static struct churn churn;
    churn = (struct churn){conform_barrier_new(2), conform_rounds(300, 20000)};
    struct conform_thread *thread =
        conform_thread_start(churn_handles, &churn, 0);
    conform_barrier_wait(churn.barrier);
    uint64_t looked = 0;
    for (uint32_t i = 0; i < 10 * churn.rounds; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
            conform_broken("pipe2: %s", strerror(errno));
        for (uint32_t spin = conform_random(400); spin > 0; spin--)
            atomic_signal_fence(memory_order_seq_cst);
        expect(fcntl(fds[0], F_GETFD) != -1 && fcntl(fds[1], F_GETFD) != -1,
               "the host's descriptors %d and %d are open", fds[0], fds[1]);
        expect_u64(0, pipe_pending(fds[0]), "bytes in a pipe of the host's");
        close(fds[0]);
        close(fds[1]);
        looked++;
    }
    conform_thread_join(thread);
    conform_barrier_free(churn.barrier);
    conform_evidence("pipes", "%llu", (unsigned long long)looked);
}
