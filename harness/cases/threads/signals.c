/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Signals: what workers block, what the library must not touch, and a storm.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "workers.h"

extern char **environ;

#define BIT(signal_number) (UINT64_C(1) << ((signal_number)-1))

/* ---- i5.sigpipe-blocked ------------------------------------------------- */

static bool
all_block_sigpipe(void *argument)
{
    int32_t tids[WORKERS_MAX];
    uint32_t count = conform_library_threads(tids, WORKERS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        if ((workers_mask(tids[i], "SigBlk") & BIT(SIGPIPE)) == 0)
            return false;
    }
    return count == *(uint32_t *)argument;
}

CONFORM_CASE(
    sigpipe_mask, .id = "i5.sigpipe-blocked.mask",
    .clauses = "i5.sigpipe-blocked",
    .why = "A reader that goes away kills the whole service by SIGPIPE.",
    .steps = "Open a pool of 5, run a unit on it; read the signal masks of "
             "all library threads and of the host's.",
    .expected = "SIGPIPE blocked in each library thread; the host's mask as "
                "before.",
    .mutant = "sigpipe-unblocked", .transports = CONFORM_BOTH)
{
    uint32_t pool = 5;
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    struct host *host = host_open(pool);
    host_call(host, DIAGNOSTIC, "\0", 1);
    expect(conform_eventually(all_block_sigpipe, &pool),
           "each of %u library threads blocks SIGPIPE (bit 12 of SigBlk)",
           pool);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    expect_i64(sigismember(&before, SIGPIPE), sigismember(&after, SIGPIPE),
               "SIGPIPE in the host's own mask");
    host_close(host);
}

CONFORM_CASE(
    sigpipe_lives, .id = "i5.sigpipe-blocked.reader-gone",
    .clauses = "i5.sigpipe-blocked i4.reader-gone i5.no-handlers",
    .why = "A completion written into a pipe without a reader ends the "
           "process, silently, by signal 13.",
    .steps = "By hand, SIGPIPE at its default: open, close the read end, "
             "submit echoes until one has been taken; close.",
    .expected = "The process lives, the result can be taken, close is FFI_OK, "
                "the disposition is still the default.",
    .mutant = "sigpipe-unblocked")
{
    struct sigaction action;
    int fds[2];
    GussetHandle *handle = NULL;
    signal(SIGPIPE, SIG_DFL);
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("no pipe: %s", strerror(errno));
    expect_code(FFI_OK, api.handle_open(1, fds[1], &handle, NULL), "open");
    close(fds[0]);
    CallHeader header = {.flags = DIAGNOSTIC};
    uint64_t ticket = 0;
    expect_code(FFI_OK,
                api.submit(handle, &header, (const uint8_t *)"\0x", 2, 0,
                           &ticket, NULL),
                "submit");
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t len = 0;
    uint64_t end = conform_now_ns() + conform_patience_ns();
    while (api.take(handle, ticket, &id, &ptr, &len, NULL) != FFI_OK) {
        const struct timespec pause = {.tv_nsec = 1000000};
        expect(conform_now_ns() < end, "the result can be taken");
        nanosleep(&pause, NULL);
    }
    expect_bytes("\0x", 2, ptr, len, "the result without a reader");
    expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
    sigaction(SIGPIPE, NULL, &action);
    expect(action.sa_handler == SIG_DFL, "SIGPIPE is still at its default");
    conform_drain_log();
    conform_fresh_handle_works();
}

/* ---- i5.no-handlers ----------------------------------------------------- */

struct state {
    struct sigaction actions[65];
    sigset_t mask;
    stack_t alternate;
    mode_t umask;
    char cwd[4096];
    char locale[512];
    char *environment[512];
    struct itimerval timers[3];
    struct rlimit limits[RLIMIT_NLIMITS];
};

static void
note_state(struct state *state)
{
    memset(state, 0, sizeof *state);
    for (int i = 1; i < 65; i++)
        sigaction(i, NULL, &state->actions[i]);
    pthread_sigmask(SIG_BLOCK, NULL, &state->mask);
    sigaltstack(NULL, &state->alternate);
    state->umask = umask(0);
    umask(state->umask);
    if (getcwd(state->cwd, sizeof state->cwd) == NULL)
        conform_broken("no working directory: %s", strerror(errno));
    snprintf(state->locale, sizeof state->locale, "%s",
             setlocale(LC_ALL, NULL));
    for (size_t i = 0; i < 511 && environ[i] != NULL; i++)
        state->environment[i] = environ[i];
    getitimer(ITIMER_REAL, &state->timers[0]);
    getitimer(ITIMER_VIRTUAL, &state->timers[1]);
    getitimer(ITIMER_PROF, &state->timers[2]);
    for (int i = 0; i < (int)RLIMIT_NLIMITS; i++)
        getrlimit((__rlimit_resource_t)i, &state->limits[i]);
}

static bool
same_signals(const sigset_t *left, const sigset_t *right)
{
    for (int i = 1; i < 65; i++) {
        if (sigismember(left, i) != sigismember(right, i))
            return false;
    }
    return true;
}

static void
expect_state(const struct state *before, const char *when)
{
    static struct state now;
    note_state(&now);
    for (int i = 1; i < 65; i++) {
        const struct sigaction *was = &before->actions[i];
        const struct sigaction *is = &now.actions[i];
        expect(was->sa_handler == is->sa_handler &&
                   was->sa_flags == is->sa_flags &&
                   same_signals(&was->sa_mask, &is->sa_mask),
               "%s: disposition of signal %d", when, i);
        expect_i64(sigismember(&before->mask, i), sigismember(&now.mask, i),
                   "%s: signal %d in the host thread's mask", when, i);
    }
    expect_ptr(before->alternate.ss_sp, now.alternate.ss_sp,
               "%s: the host's alternate stack", when);
    expect_i64(before->alternate.ss_flags, now.alternate.ss_flags,
               "%s: its flags", when);
    expect_u64(before->umask, now.umask, "%s: umask", when);
    expect_text(TEXT_IS, before->cwd, now.cwd, strlen(now.cwd),
                "%s: working directory", when);
    expect_text(TEXT_IS, before->locale, now.locale, strlen(now.locale),
                "%s: locale", when);
    expect_bytes(before->environment, sizeof before->environment,
                 now.environment, sizeof now.environment,
                 "%s: environment, by its pointers", when);
    expect_bytes(before->limits, sizeof before->limits, now.limits,
                 sizeof now.limits, "%s: resource limits", when);
    for (int i = 0; i < 3; i++)
        expect_i64(before->timers[i].it_interval.tv_sec * 1000000 +
                       before->timers[i].it_interval.tv_usec,
                   now.timers[i].it_interval.tv_sec * 1000000 +
                       now.timers[i].it_interval.tv_usec,
                   "%s: interval timer %d", when, i);
}

CONFORM_CASE(
    no_handlers, .id = "i5.no-handlers.whole-life", .clauses = "i5.no-handlers",
    .why = "A library that installs a handler, a mask or a limit takes it "
           "from the host, which is often a runtime with its own.",
    .steps = "Note every disposition, the host thread's mask and alternate "
             "stack, umask, directory, locale, environment, timers and "
             "limits; then init, open, traffic, a panic, a ring, a full "
             "shutdown, close; compare after each.",
    .expected = "Nothing has changed.", .tags = CONFORM_COLD,
    .transports = CONFORM_BOTH, .mutant = "signal-handler-installed")
{
    static struct state before;
    note_state(&before);
    expect_code(FFI_OK, api.init(), "init");
    expect_state(&before, "after init");
    struct host *host = host_open(3);
    expect_state(&before, "after open");
    for (int i = 0; i < 20; i++)
        host_call(host, DIAGNOSTIC, "\0abc", 4);
    host_call(host, DIAGNOSTIC, "\6\0\1\0\0", 5);
    expect_state(&before, "after traffic");
    struct outcome panic = host_call(host, DIAGNOSTIC, "\1", 1);
    expect_code(FFI_PANIC, panic.code, "mode 1");
    expect_state(&before, "after a panic");
    expect_code(FFI_OK, api.shutdown(1000), "shutdown");
    expect_code(FFI_OK, api.init(), "init");
    expect_state(&before, "after shutdown and init");
    host_close(host);
    expect_state(&before, "after close");
}

CONFORM_CASE(no_handlers_at_load, .id = "i5.no-handlers.at-load",
             .clauses = "i5.no-handlers",
             .why = "A constructor of the library takes a signal, a limit or "
                    "the umask from the host before any call.",
             .steps = "Compare the process's state right before the library "
                      "is loaded (an archive: before its constructors run) "
                      "with the state right after.",
             .expected = "Nothing has changed.", .tags = CONFORM_COLD,
             .mutant = "handler-at-load")
{
    const char *changes = conform_load_changes();
    expect_text(TEXT_IS, "", changes, strlen(changes),
                "what loading the library changed in the process");
}

/* ---- i5.eintr ----------------------------------------------------------- */

#define STORM_POOL 3u
#define STORM_SIGNALS 200u /* at least, on each worker */

struct storm {
    int32_t tids[WORKERS_MAX];
    uint32_t count;
    atomic_bool stop;
    atomic_ullong rounds;
};

static atomic_uint hits[WORKERS_MAX];
static _Atomic int32_t hit_tids[WORKERS_MAX];

/* Without SA_RESTART: every interruptible wait is interrupted. */
static void
on_storm(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    int32_t tid = (int32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        if (atomic_load(&hit_tids[i]) == tid)
            atomic_fetch_add(&hits[i], 1);
    }
    errno = saved;
}

static void
storm_body(void *argument)
{
    struct storm *storm = argument;
    const struct timespec pause = {.tv_nsec = 200000};
    while (!atomic_load(&storm->stop)) {
        for (uint32_t i = 0; i < storm->count; i++)
            syscall(SYS_tgkill, getpid(), storm->tids[i], SIGURG);
        atomic_fetch_add(&storm->rounds, 1);
        nanosleep(&pause, NULL);
    }
}

static uint32_t
fewest_hits(const struct storm *storm)
{
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < storm->count; i++) {
        uint32_t here = atomic_load(&hits[i]);
        fewest = here < fewest ? here : fewest;
    }
    return fewest;
}

/* One of each kind of wait: a sleep, a cooperative sleep, work, a panic-free
 * error, a large result. */
static void
stormy_traffic(struct host *host, uint32_t round)
{
    uint64_t start = conform_now_ns();
    uint64_t sleeper = host_submit(host, DIAGNOSTIC, "\11\3\0zz", 5);
    struct outcome o =
        host_call(host, DIAGNOSTIC | INLINE, "\0in the storm", 13);
    expect_code(FFI_OK, o.code, "echo %u in the storm", round);
    expect_bytes("\0in the storm", 13, o.bytes, o.len, "echo in the storm");
    o = host_call(host, DIAGNOSTIC, "\5\1", 2);
    expect_code(FFI_OK, o.code, "mode 5 in the storm");
    expect_bytes("\5\0", 2, o.bytes, o.len, "mode 5 in the storm");
    uint8_t make[6] = {16, 0, 0, 0, 0, 0};
    put_u32le(make + 1, 100000);
    o = host_call(host, DIAGNOSTIC, make, sizeof make);
    expect_code(FFI_OK, o.code, "mode 16 in the storm");
    expect_u64(100000, o.len, "bytes of mode 16 in the storm");
    CallHeader late = {.flags = DIAGNOSTIC, .timeout_ns = 1};
    o = host_call_header(host, &late, "\5\2", 2);
    expect_text(TEXT_IS, "cancelled: DeadlineExceeded", o.msg, o.msg_len,
                "a deadline in the storm");
    host_wait(host, sleeper);
    expect_u64_at_least(30000000, conform_now_ns() - start,
                        "ns of a sleep of 30 ms that is interrupted");
    o = host_take(host, sleeper);
    expect_bytes("\0zz", 3, o.bytes, o.len, "the sleeper's echo");
}

/* A worker that waits for room in a full pipe, interrupted all the time. */
static void
stormy_full_pipe(struct host *host)
{
    int fd = host_write_fd(host);
    uint64_t word = 0;
    uint32_t words = 0;
    while (write(fd, &word, sizeof word) == (ssize_t)sizeof word)
        words++;
    expect(errno == EAGAIN, "the pipe is full: %s", strerror(errno));
    uint64_t ticket = host_submit(host, DIAGNOSTIC, "\0full", 5);
    const struct timespec pause = {.tv_nsec = 20000000};
    nanosleep(&pause, NULL);
    conform_evidence("words in the full pipe", "%u", words);
    while (words-- > 0)
        expect_i64(sizeof word, read(host_read_fd(host), &word, sizeof word),
                   "a word that filled the pipe");
    host_wait(host, ticket);
    struct outcome o = host_take(host, ticket);
    expect_bytes("\0full", 5, o.bytes, o.len, "behind a full pipe");
}

CONFORM_CASE(
    eintr, .id = "i5.eintr.sigurg-storm", .clauses = "i5.eintr i4.exactly-once",
    .why = "A runtime that preempts threads by signals interrupts every "
           "system call of the library: torn records, short sleeps, lost "
           "wake-ups.",
    .steps = "SIGURG without SA_RESTART to every library thread, every 200 "
             "us; sleeps, echoes, deadlines, large results and a full pipe, "
             "until each worker took 200 signals; then close in the storm.",
    .expected = "Every result right, no sleep shorter than its time, every "
                "ticket once, close FFI_OK.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "eintr-cuts-a-wait")
{
    static struct storm storm;
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_storm;
    sigaction(SIGURG, &action, &before);
    struct host *host = host_open(STORM_POOL);
    workers_await(STORM_POOL);
    storm.count = conform_library_threads(storm.tids, WORKERS_MAX);
    for (uint32_t i = 0; i < storm.count; i++)
        atomic_store(&hit_tids[i], storm.tids[i]);
    struct conform_thread *thread = conform_thread_start(storm_body, &storm, 0);
    uint64_t end = conform_now_ns() + conform_patience_ns();
    uint32_t round = 0;
    while (fewest_hits(&storm) < STORM_SIGNALS || round < 2) {
        expect(conform_now_ns() < end,
               "each worker takes %u signals, fewest "
               "%u",
               STORM_SIGNALS, fewest_hits(&storm));
        stormy_traffic(host, round++);
    }
    if (conform_transport() == CONFORM_PIPE)
        stormy_full_pipe(host);
    conform_evidence("signals", "fewest %u a worker in %u rounds",
                     fewest_hits(&storm), round);
    host_submit(host, DIAGNOSTIC, "\5\2", 2);
    host_close(host);
    atomic_store(&storm.stop, true);
    conform_thread_join(thread);
    sigaction(SIGURG, &before, NULL);
}
