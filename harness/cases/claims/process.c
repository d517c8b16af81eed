/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the implementation claims of a forked child and of a worker whose stack
 * overflows. Each is seen from a parent: the child's end is the answer.
 */
#include "../jobs.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "gusset_engine.h"
#include "sanitizer.h"

/* Exit codes of a child. */
enum { REFUSED = 7, SERVED = 8, CODES_DIFFER = 9, OUTLIVED = 10 };

/* ---- fork_child --------------------------------------------------------- */

enum call {
    SUBMIT,
    SUBMIT_BUFFER,
    TAKE,
    CANCEL,
    CANCEL_ALL,
    BUF_ALLOC,
    BUF_FREE,
    HANDLE_RING,
    CALLS
};

static const char *const call_names[CALLS] = {
    "submit",     "submit of a buffer", "take",     "cancel",
    "cancel_all", "buf_alloc",          "buf_free", "handle_ring"};

struct inherited {
    GussetHandle *handle;
    uint64_t ticket; /* of a result that waits */
    uint64_t buffer;
};

/* By api_raw, as the churn below: a lock of the harness that another thread
 * holds at the fork would stay closed in the child. */
static int32_t
call_it(const struct inherited *own, enum call call, FfiStatus *status)
{
    const CallHeader header = job_header(DIAGNOSTIC, 0);
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL;
    const uint8_t *slots = NULL;
    uint8_t *ptr = NULL;
    uint64_t id = 0;
    size_t len = 0;
    switch (call) {
    case SUBMIT:
        return api_raw.submit(own->handle, &header, (const uint8_t *)"", 1, 0,
                              &id, status);
    case SUBMIT_BUFFER:
        return api_raw.submit(own->handle, &header, NULL, 0, own->buffer, &id,
                              status);
    case TAKE:
        return api_raw.take(own->handle, own->ticket, &id, &ptr, &len, status);
    case CANCEL:
        return api_raw.cancel(own->handle, own->ticket, status);
    case CANCEL_ALL:
        return api_raw.cancel_all(own->handle, status);
    case BUF_ALLOC:
        return api_raw.buf_alloc(own->handle, 100, &id, &ptr, status);
    case BUF_FREE:
        return api_raw.buf_free(own->handle, own->buffer, status);
    default:
        return api_raw.handle_ring(own->handle, &ring, &shared, &slots, &id,
                                   status);
    }
}

/* In the child, whose only thread this is. Never returns. */
static void
be_a_child(const struct inherited *own, enum call call)
{
    FfiStatus status = conform_dirty_status();
    int32_t code = call_it(own, call, &status);
    if (status.code != code)
        _exit(CODES_DIFFER);
    _exit(code == FFI_OK ? SERVED : REFUSED);
}

static void
try_in_a_child(const struct inherited *own, enum call call, const char *when)
{
    pid_t child = fork();
    if (child < 0)
        conform_broken("fork: %s", strerror(errno));
    if (child == 0)
        be_a_child(own, call);
    int status = conform_reap(child, call_names[call]);
    expect(WIFEXITED(status), "%s, %s: the child is killed by signal %d",
           call_names[call], when, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    int end = WEXITSTATUS(status);
    expect(end != CODES_DIFFER, "%s, %s: the code and its status agree",
           call_names[call], when);
    if (conform_claims("fork_child", "refuses"))
        expect_i64(REFUSED, end,
                   "%s, %s: the claims file says that an inherited handle "
                   "refuses (%d), and it served the call (%d)",
                   call_names[call], when, REFUSED, SERVED);
    else
        expect(end == REFUSED || end == SERVED,
               "%s, %s: the call returned in the child", call_names[call],
               when);
}

static atomic_bool enough;

/* Keeps whatever locks the handle has busy while the process is forked. */
static void
churn(void *argument)
{
    GussetHandle *handle = argument;
    while (!atomic_load(&enough)) {
        uint64_t id = 0;
        uint8_t *ptr = NULL;
        if (api_raw.buf_alloc(handle, 5000, &id, &ptr, NULL) == FFI_OK)
            (void)api_raw.buf_free(handle, id, NULL);
        (void)api_raw.cancel(handle, UINT64_C(1) << 40, NULL);
    }
}

static void
fork_while_busy(struct host *host, const struct inherited *own)
{
    struct conform_thread *thread =
        conform_thread_start(churn, host_handle(host), 0);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint32_t rounds = conform_rounds(2, 20);
    for (uint32_t i = 0; i < rounds * CALLS; i++) {
        uint64_t slow = host_submit_patiently(host, &header, "\11\1\0", 3);
        uint64_t quick = host_submit_patiently(host, &header, "\16\4", 2);
        try_in_a_child(own, (enum call)(i % CALLS), "while jobs run");
        host_wait(host, slow);
        host_wait(host, quick);
        expect_code(FFI_OK, host_take(host, slow).code, "a job of the parent");
        expect_code(FFI_OK, host_take(host, quick).code, "a job of the parent");
    }
    atomic_store(&enough, true);
    conform_thread_join(thread);
    conform_drain_log();
}

CONFORM_CASE(
    fork_child, .id = "i5.fork-child-stateless.as-claimed",
    .clauses = "i5.fork-child-stateless i5.fork-parent-safe",
    .why = "A child that is served on a handle without workers waits for a "
           "completion that nobody makes; one that meets a lock that was held "
           "at the fork waits for ever.",
    .steps = "Children of a process with an idle handle, then with running "
             "jobs and a thread that allocates and cancels, each make one call "
             "on the inherited handle, with a result that waits and a buffer.",
    .expected = "Claim refuses: every call returns another code than FFI_OK. "
                "Claim returns: every call returns. The parent loses nothing.",
    .needs = "claim:fork_child", .timeout_ms = 60000,
    .mutant = "fork-child-takes")
{
    struct host *host = host_open_with(2, CONFORM_PIPE);
    struct inherited own = {.handle = host_handle(host)};
    own.ticket = host_submit(host, DIAGNOSTIC, "\0mine", 5);
    own.buffer = host_buffer(host, "\0held", 5, NULL);
    host_wait(host, own.ticket);
    for (int call = 0; call < CALLS; call++)
        try_in_a_child(&own, (enum call)call, "an idle handle");
    fork_while_busy(host, &own);
    struct outcome outcome = host_take(host, own.ticket);
    expect_success_is(&outcome, "\0mine", 5, "the result of the parent");
    host_buffer_free(host, own.buffer);
    expect_handle_healthy(host, "an echo of the parent");
    host_close(host);
}

/* ---- stack_overflow ----------------------------------------------------- */

static volatile uint32_t never;

__attribute__((noinline)) static uint32_t
recurse(uint32_t depth)
{
    volatile uint8_t frame[64];
    frame[0] = (uint8_t)depth;
    if (never != 0)
        return frame[0];
    return recurse(depth + 1) + frame[0];
}

static int32_t
overflows(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    return (int32_t)recurse(0);
}

/* In the child: what it prints goes to `output`. Never returns. */
static void
overflow_in_child(int output)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(output, STDERR_FILENO);
    /* A sanitizer's handler is the host's: a claimed signal gets through. */
    if (conform_claims("stack_overflow", "signal"))
        signal(SIGSEGV, SIG_DFL);
    if (gse_register_opcode(1, overflows, NULL) != GSE_OK)
        _exit(REFUSED);
    struct host *host = host_open_with(1, CONFORM_PIPE);
    CallHeader header = job_header(0, 0);
    header.reserved = 1;
    host_wait(host, host_submit_header(host, &header, NULL, 0));
    _exit(OUTLIVED);
}

/* Reads the child's report until its end; returns its length. */
static size_t
read_report(int fd, char *text, size_t cap)
{
    size_t len = 0;
    char beyond[512];
    ssize_t got = 0;
    do {
        bool fits = len + 1 < cap;
        got = fits ? read(fd, text + len, cap - 1 - len)
                   : read(fd, beyond, sizeof beyond);
        len += got > 0 && fits ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    text[len] = '\0';
    return len;
}

static void
judge_overflow(int status, const char *report, size_t len)
{
    bool by_signal = WIFSIGNALED(status);
    int number = by_signal ? WTERMSIG(status) : 0;
    if (!by_signal && WEXITSTATUS(status) == REFUSED)
        conform_broken("the child could not register its engine");
    expect(by_signal ||
               (WEXITSTATUS(status) != OUTLIVED && WEXITSTATUS(status) != 0),
           "the process ends by the overflow, and it outlived it");
    if (conform_claims("stack_overflow", "signal"))
        expect(number == SIGSEGV || number == SIGBUS,
               "claim stack_overflow = signal: ended by SIGSEGV or SIGBUS, "
               "not by signal %d, exit code %d",
               number, by_signal ? 0 : WEXITSTATUS(status));
    else
        expect(len > 0,
               "claim stack_overflow = report: there is a report on "
               "descriptor 2 before the end (signal %d)",
               number);
    conform_evidence("report", "%zu bytes: %.200s", len, report);
}

CONFORM_CASE(
    stack_overflow, .id = "i5.stack-guard.overflow-as-claimed",
    .clauses = "i5.stack-guard",
    .why = "Whoever operates the host looks for what was claimed: a core, or "
           "a report; finding neither, he looks in the wrong place.",
    .steps = "A child whose C engine recurses without end in frames of 64 "
             "bytes; what it writes to descriptor 2 is read.",
    .expected = "Claim signal: the child dies by SIGSEGV or SIGBUS. Claim "
                "report: something is on descriptor 2, then any death.",
    .needs = "engine claim:stack_overflow", .tags = CONFORM_COLD,
    .mutant = "overflow-handled")
{
    static char report[8192];
    int ends[2];
    if (UNDER_THREAD_SANITIZER)
        conform_skip("ThreadSanitizer's own call stack overflows first");
    if (pipe2(ends, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        conform_broken("fork: %s", strerror(errno));
    if (child == 0)
        overflow_in_child(ends[1]);
    close(ends[1]);
    size_t len = read_report(ends[0], report, sizeof report);
    close(ends[0]);
    judge_overflow(conform_reap(child, "an overflow"), report, len);
}
