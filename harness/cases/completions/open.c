/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_handle_open: what it accepts, and what a refusal leaves. */

#include "../jobs.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

static struct outcome
try_open(uint32_t pool, int fd, GussetHandle **handle)
{
    FfiStatus status = conform_dirty_status();
    return conform_settle(api.handle_open(pool, fd, handle, &status), &status);
}

static void
make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
}

static bool
fd_is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

/* The lowest number that is not a descriptor now, and so is closed. */
static int
closed_fd(void)
{
    int fds[2];
    make_pipe(fds);
    close(fds[0]);
    close(fds[1]);
    return fds[1];
}

/* A joined thread stays listed for a moment, so this is asked again. */
static bool
no_library_thread(void *unused)
{
    int32_t ids[4];
    (void)unused;
    return conform_library_threads(ids, 4) == 0;
}

CONFORM_CASE(pool_ceiling, .id = "i4.pool-ceiling.over-is-refused",
             .clauses = "i4.pool-ceiling i1.out-only-on-ok",
             .why = "a million threads of 8 MiB, or a size silently clamped "
                    "to something else",
             .steps = "Open with 1025, 2^31 and 2^32-1.",
             .expected = "FFI_ERR or FFI_BAD_ARG, text contains exceeds "
                         "maximum, out_handle untouched, no thread started.",
             .mutant = "pool-clamped")
{
    static const uint32_t sizes[] = {1025, 0x80000000u, UINT32_MAX};
    int fds[2], mark;
    make_pipe(fds);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        GussetHandle *handle = (GussetHandle *)(void *)&mark;
        struct outcome refused = try_open(sizes[i], fds[1], &handle);
        expect(refused.code == FFI_ERR || refused.code == FFI_BAD_ARG,
               "open with a pool of %u is refused, got %s", sizes[i],
               conform_code_name(refused.code));
        expect_text(TEXT_CONTAINS, "exceeds maximum", refused.msg,
                    refused.msg_len, "the text for a pool of %u", sizes[i]);
        expect_ptr(&mark, handle, "out_handle of a refused open");
        expect(fd_is_open(fds[1]), "the descriptor is still open");
        expect(conform_eventually(no_library_thread, NULL),
               "no library thread after the refusal");
    }
    close(fds[0]);
    close(fds[1]);
}

CONFORM_CASE(pool_largest, .id = "i4.pool-ceiling.largest-works",
             .clauses = "i4.pool-ceiling i4.pipe-capacity",
             .why = "a ceiling that is off by one, or a pool that only opens",
             .steps = "Open with 1024, run one echo, close.",
             .expected = "FFI_OK and the echo; or a refusal, when the system "
                         "denies that many threads or that much memory.",
             .mutant = "pool-maximum-refused", .timeout_ms = 60000)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    int fds[2];
    make_pipe(fds);
    GussetHandle *handle = NULL;
    struct outcome opened = try_open(GUSSET_MAX_POOL_SIZE, fds[1], &handle);
    if (opened.code == FFI_OK) {
        CallHeader header = job_header(DIAGNOSTIC, 0);
        uint64_t ticket = 0;
        struct completion done;
        expect_code(FFI_OK,
                    api.submit(handle, &header, echo, 2, 0, &ticket, NULL),
                    "submit to a pool of 1024");
        expect_i64(1, pipe_read_record(fds[0], &done), "a completion");
        expect_u64(ticket, done.ticket, "its ticket");
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        expect_i64(0, pipe_read_record(fds[0], &done), "end of file");
    } else {
        conform_evidence("refused", "%s", opened.msg);
        expect_text(TEXT_LACKS, "exceeds maximum", opened.msg, opened.msg_len,
                    "1024 is a valid size: the refusal is the system's");
        close(fds[1]);
    }
    close(fds[0]);
}

CONFORM_CASE(open_args, .id = "i4.open-args.bad-descriptors",
             .clauses = "i4.open-args i1.null-status-same-code",
             .why = "a handle on a descriptor that is not one: every "
                    "completion is then lost",
             .steps = "Open on -1, INT_MIN and a closed number; open without "
                      "out_handle on a good one.",
             .expected = "Refused, out_handle untouched; without it "
                         "FFI_BAD_ARG and the descriptor stays.",
             .mutant = "null-out-handle-is-an-error")
{
    int fds[2], mark;
    const int bad[] = {-1, INT_MIN, closed_fd(), 1 << 20};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        GussetHandle *handle = (GussetHandle *)(void *)&mark;
        struct outcome refused = try_open(1, bad[i], &handle);
        expect(refused.code == FFI_ERR || refused.code == FFI_BAD_ARG,
               "open on descriptor %d is refused, got %s", bad[i],
               conform_code_name(refused.code));
        expect_ptr(&mark, handle, "out_handle of a refused open");
        expect_code(refused.code, api.handle_open(1, bad[i], &handle, NULL),
                    "the same without a status");
    }
    make_pipe(fds);
    struct outcome refused = try_open(1, fds[1], NULL);
    expect_code(FFI_BAD_ARG, refused.code, "open without out_handle");
    expect(fd_is_open(fds[1]), "the descriptor is still open");
    close(fds[0]);
    close(fds[1]);
}

/* Three refusals around one pipe; the pipe must come out as it went in. */
static void
refuse_three_opens(void)
{
    int fds[2];
    make_pipe(fds);
    int flags = fcntl(fds[1], F_GETFL);
    struct stat before, after;
    if (fstat(fds[1], &before) != 0)
        conform_broken("fstat: %s", strerror(errno));
    GussetHandle *handle;
    expect(api.handle_open(1025, fds[1], &handle, NULL) != FFI_OK,
           "a pool of 1025 is refused");
    expect(api.handle_open(2, closed_fd(), &handle, NULL) != FFI_OK,
           "a closed descriptor is refused");
    expect_code(FFI_BAD_ARG, api.handle_open(2, fds[1], NULL, NULL),
                "open without out_handle");
    expect(fd_is_open(fds[1]), "the descriptor is open after the refusals");
    expect_i64(flags, fcntl(fds[1], F_GETFL),
               "F_GETFL after refused opens (O_NONBLOCK is %#x)", O_NONBLOCK);
    expect_i64(0, fstat(fds[1], &after), "fstat");
    expect(before.st_ino == after.st_ino && before.st_dev == after.st_dev,
           "it is the same pipe");
    close(fds[0]);
    close(fds[1]);
}

CONFORM_CASE(open_refusal_clean, .id = "i4.open-refusal-clean.nothing-stays",
             .clauses = "i4.open-refusal-clean",
             .why = "a borrowed descriptor closed or switched to "
                    "non-blocking by a call that failed, or half an open "
                    "left behind",
             .steps = "300 refused opens of three kinds, census after the "
                      "first 30 and at the end.",
             .expected = "The same pipe, open, with the same F_GETFL; no "
                         "descriptor, thread or byte more.",
             .mutant = "refused-open-sets-nonblock")
{
    for (int i = 0; i < 10; i++)
        refuse_three_opens();
    struct conform_census before = conform_census_now(0);
    for (int i = 0; i < 100; i++)
        refuse_three_opens();
    struct conform_census after = conform_census_now(before.threads);
    expect_u64(before.fds, after.fds, "descriptors");
    expect_u64(before.threads, after.threads, "threads");
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes");
    expect_u64_at_most(before.mapped_bytes, after.mapped_bytes, "mapped bytes");
}

struct number_hunter {
    int number;
    atomic_bool stop;
    int got; /* -1, or the descriptor that took the number first */
};

/* Takes the number as soon as the library gives it up. */
static void
hunt_number(void *argument)
{
    struct number_hunter *hunter = argument;
    hunter->got = -1;
    int below = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (!atomic_load(&hunter->stop)) {
        int fd = fcntl(below, F_DUPFD_CLOEXEC, hunter->number);
        if (fd == hunter->number) {
            hunter->got = fd;
            break;
        }
        close(fd);
    }
    close(below);
}

static void
close_against_hunter(void)
{
    int fds[2];
    make_pipe(fds);
    GussetHandle *handle = NULL;
    expect_code(FFI_OK, api.handle_open(1, fds[1], &handle, NULL), "open");
    static struct number_hunter hunter;
    hunter.number = fds[1];
    hunter.got = -1;
    atomic_store(&hunter.stop, false);
    struct conform_thread *thread =
        conform_thread_start(hunt_number, &hunter, 0);
    expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
    /* The number is free or the hunter's now; nobody else closes it. */
    job_pause_us(50);
    atomic_store(&hunter.stop, true);
    conform_thread_join(thread);
    if (hunter.got != -1) {
        expect(fd_is_open(hunter.got),
               "descriptor %d, opened by the host while close ran, is still "
               "open",
               hunter.got);
        close(hunter.got);
    } else {
        expect(!fd_is_open(fds[1]), "descriptor %d was closed", fds[1]);
    }
    close(fds[0]);
}

CONFORM_CASE(owns_fd_once, .id = "i4.open-owns-fd.closed-once",
             .clauses = "i4.open-owns-fd i4.fd-hygiene",
             .why = "a second close of the same number: it hits whatever the "
                    "host opened in between",
             .steps = "While a handle is closed, another thread takes its "
                      "descriptor's number the moment it is free; 150 "
                      "times.",
             .expected = "The number that the host got stays open.",
             .mutant = "fd-closed-twice")
{
    uint32_t rounds = conform_rounds(150, 5000);
    for (uint32_t i = 0; i < rounds; i++)
        close_against_hunter();
}

CONFORM_CASE(owns_fd, .id = "i4.open-owns-fd.non-blocking-until-close",
             .clauses = "i4.open-owns-fd",
             .why = "a write end left blocking: a worker then hangs inside "
                    "write when the host is slow, and close hangs with it",
             .steps = "Open on a blocking pipe end; read its flags; run an "
                      "echo; close.",
             .expected = "O_NONBLOCK while the handle is open, the read end "
                         "untouched, the number closed after close.",
             .mutant = "blocking-pipe-end")
{
    int fds[2];
    make_pipe(fds);
    GussetHandle *handle = NULL;
    expect_i64(0, fcntl(fds[1], F_GETFL) & O_NONBLOCK, "blocking before open");
    expect_code(FFI_OK, api.handle_open(1, fds[1], &handle, NULL), "open");
    expect(fd_is_open(fds[1]), "the descriptor is open while the handle is");
    expect_i64(O_NONBLOCK, fcntl(fds[1], F_GETFL) & O_NONBLOCK,
               "O_NONBLOCK of the write end after open");
    expect_i64(0, fcntl(fds[0], F_GETFL) & O_NONBLOCK,
               "O_NONBLOCK of the read end after open");
    expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
    expect(!fd_is_open(fds[1]), "the descriptor is closed after close");
    expect(fd_is_open(fds[0]), "the read end is not");
    close(fds[0]);
}

CONFORM_CASE(pipe_capacity, .id = "i4.pipe-capacity.grown-to-pool",
             .clauses = "i4.pipe-capacity",
             .why = "a one-page pipe under a large pool: completions wait "
                    "for room that a healthy reader should never cause",
             .steps = "Shrink a pipe to one page, open pools of 65 and 130 "
                      "on it (one page holds 64 inline records).",
             .expected = "The pipe holds pool x 64 bytes where the system can "
                         "resize a pipe so far, else pool x 8.",
             .mutant = "pipe-not-grown")
{
    static const uint32_t pools[] = {65, 130};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        int control[2], fds[2];
        make_pipe(control);
        make_pipe(fds);
        int page = fcntl(fds[1], F_SETPIPE_SZ, 4096);
        if (page == -1)
            conform_skip("this system cannot resize a pipe: %s",
                         strerror(errno));
        int wanted = (int)pools[i] * GUSSET_INLINE_RECORD_MAX;
        (void)fcntl(control[1], F_SETPIPE_SZ, 4096);
        bool can_grow = fcntl(control[1], F_SETPIPE_SZ, wanted) >= wanted;
        int needed = can_grow ? wanted : (int)pools[i] * 8;
        GussetHandle *handle = NULL;
        expect_code(FFI_OK, api.handle_open(pools[i], fds[1], &handle, NULL),
                    "open with a pool of %u on a pipe of %d bytes", pools[i],
                    page);
        expect_u64_at_least(needed, fcntl(fds[1], F_GETPIPE_SZ),
                            "capacity of the pipe for a pool of %u", pools[i]);
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        close(fds[0]);
        close(control[0]);
        close(control[1]);
    }
}

struct named {
    uint32_t count;
    char other[32];
};

static bool
all_named(void *argument)
{
    struct named *threads = argument;
    int32_t ids[8];
    threads->count = conform_library_threads(ids, 8);
    for (uint32_t i = 0; i < threads->count; i++) {
        char path[64], name[32] = {0};
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", ids[i]);
        FILE *file = fopen(path, "re");
        if (file == NULL)
            return false;
        char *line = fgets(name, sizeof name, file);
        fclose(file);
        if (line == NULL || strncmp(name, "gusset-w", 8) != 0) {
            memcpy(threads->other, name, sizeof name);
            return false;
        }
    }
    return threads->count > 0;
}

CONFORM_CASE(thread_names, .id = "i4.thread-names.workers",
             .clauses = "i4.thread-names",
             .why = "threads that no profile or stack dump can tell from the "
                    "host's own",
             .steps = "Open a pool of 3, fill it with work, read the names of "
                      "its threads.",
             .expected = "Each begins with gusset-w.",
             .mutant = "worker-without-a-name")
{
    uint64_t tickets[9];
    struct named threads = {.count = 0};
    struct host *host = host_open(3);
    job_occupy(host, 3, MODE_SLEEP, 1, tickets);
    expect(conform_eventually(all_named, &threads),
           "the names of all %u library threads begin with gusset-w; one is "
           "%s",
           threads.count, threads.other);
    host_close(host);
}
