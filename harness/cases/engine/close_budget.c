/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Closing over an engine that does not return.
 *
 * Every bound here holds on any machine: an engine that sleeps for 34 s is
 * inside for as long as fewer than 34 s have passed since its submission, and
 * nothing makes 30 s shorter. A machine that stood still for so long that the
 * engine may have ended before it was looked at gets no verdict.
 *
 * A unit cannot say that it is inside. A worker that has taken it may be held
 * up before it begins, and then close cancels it: such a close returns FFI_OK
 * early and the unit's completion is there.
 */
#include "engine.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define BUDGET_MS 30000u /* the contract's close join budget */
#define INSIDE_MS 34000u /* how long an engine stays */
#define MOST_TICKETS 6u

/* A handle that is closed over its engine, on a thread of its own. */
struct closing {
    struct host *host;
    struct conform_ring *ring; /* NULL: none, or released */
    int read_fd;
    uint64_t tickets[MOST_TICKETS]; /* the first stays inside */
    uint32_t count;
    uint32_t seen[MOST_TICKETS];
    uint64_t inside_until_ns; /* not before */
    uint64_t elapsed_ns;      /* of the close */
    int32_t code;
    FfiStatus status;
    atomic_bool returned;
    struct conform_thread *thread;
};

static struct closing closings[2];

static uint64_t
live_bytes(void)
{
    AllocStats stats;
    api.alloc_stats(&stats);
    return stats.live_bytes;
}

static void
close_it(void *argument)
{
    struct closing *closing = argument;
    GussetHandle *handle = host_handle(closing->host);
    closing->status = conform_dirty_status();
    uint64_t from = conform_now_ns();
    closing->code = api.handle_close(handle, &closing->status);
    closing->elapsed_ns = conform_now_ns() - from;
    atomic_store(&closing->returned, true);
}

/* Half a second of another worker: the unit in front has begun by then, or
 * never_began finds out. */
static void
let_begin(struct host *host)
{
    struct outcome echo = te_call(host, TE_SLEEP, "\5", 2);
    expect_code(FFI_OK, echo.code, "an echo beside the unit that stays");
}

/* Opens, and lets a unit sleep inside the engine on `len` bytes: inline, or in
 * a buffer that the host still holds. */
static void
enter(struct closing *closing, uint32_t pool, size_t len)
{
    closing->host = host_open(pool);
    closing->ring = host_ring(closing->host);
    closing->read_fd = host_read_fd(closing->host);
    uint8_t *input = conform_pattern(len, TE_SLEEP, 5);
    CallHeader header = te_header(0, 0);
    input[1] = (INSIDE_MS / 100) & 0xff;
    input[2] = (INSIDE_MS / 100) >> 8;
    /* Before the submit: the engine may be asleep before it returns. */
    closing->inside_until_ns = conform_now_ns() + INSIDE_MS * MS;
    if (len <= GUSSET_MAX_INLINE_INPUT)
        closing->tickets[0] =
            host_submit_header(closing->host, &header, input, len);
    else
        closing->tickets[0] =
            host_submit_buffer(closing->host, &header,
                               host_buffer(closing->host, input, len, NULL));
    closing->count = 1;
    let_begin(closing->host);
}

static void
book(struct closing *closing, uint64_t ticket)
{
    uint32_t i = 0;
    while (i < closing->count && closing->tickets[i] != ticket)
        i++;
    expect(i < closing->count, "ticket %llu belongs to this handle",
           (unsigned long long)ticket);
    closing->seen[i]++;
    expect_u64_at_most(1, closing->seen[i], "completions of unit %u", i);
}

/* Reads what is there. */
static void
collect(struct closing *closing)
{
    struct completion done;
    while (closing->read_fd >= 0 && pipe_pending(closing->read_fd) >= 8) {
        if (pipe_read_record(closing->read_fd, &done) == 1)
            book(closing, done.ticket);
    }
    while (closing->ring != NULL && ring_read(closing->ring, &done))
        book(closing, done.ticket);
}

/* The close came before the unit began, and all is in order so far. */
static bool
never_began(struct closing *closing)
{
    if (!atomic_load(&closing->returned) || closing->code != FFI_OK)
        return false;
    collect(closing);
    return closing->seen[0] == 1;
}

static bool
at_end(const struct closing *closing)
{
    struct pollfd poll_fd = {.fd = closing->read_fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLHUP) != 0 &&
           (poll_fd.revents & POLLIN) == 0;
}

static bool
short_unit_done(void *argument)
{
    struct closing *closing = argument;
    collect(closing);
    return closing->seen[1] != 0;
}

static bool
ended(void *argument)
{
    struct closing *closing = argument;
    collect(closing);
    return at_end(closing);
}

static bool
returned(void *argument)
{
    return atomic_load(&((struct closing *)argument)->returned);
}

/* The two insiders, and one helper for each handle. */
static bool
few_threads(void *unused)
{
    int32_t ids[16];
    (void)unused;
    return conform_library_threads(ids, 16) <= 4;
}

static bool
no_threads(void *unused)
{
    int32_t ids[16];
    (void)unused;
    return conform_library_threads(ids, 16) == 0;
}

static bool
bytes_are_back(void *before)
{
    return live_bytes() == *(const uint64_t *)before;
}

/* A shutdown that waits for nothing finds the two units inside. */
static bool
shutdown_counts_two(void *unused)
{
    (void)unused;
    (void)conform_drain_log();
    int32_t code = api.shutdown(0);
    const char *log = conform_drain_log();
    return code == FFI_ERR &&
           strstr(log, "gusset: shutdown drain budget of 0 ms expired with 2 "
                       "work unit(s) still in flight") != NULL;
}

/* What a wait of the budget's length is on this machine, now. */
static uint64_t control_woke_ns;

static void
sleep_budget(void *unused)
{
    struct timespec left = {.tv_sec = BUDGET_MS / 1000};
    (void)unused;
    while (nanosleep(&left, &left) != 0)
        continue;
    control_woke_ns = conform_now_ns();
}

static uint64_t
first_end_ns(void)
{
    uint64_t a = closings[0].inside_until_ns;
    uint64_t b = closings[1].inside_until_ns;
    return a < b ? a : b;
}

/* Waits longer than the engines stay. */
static void
wait_for_both(void)
{
    uint64_t end = conform_now_ns() + 2 * INSIDE_MS * MS;
    for (int i = 0; i < 2; i++) {
        while (!returned(&closings[i]) && conform_now_ns() < end) {
            collect(&closings[0]);
            job_pause_us(5000);
        }
        expect(returned(&closings[i]), "close %d returned", i);
        conform_thread_join(closings[i].thread);
    }
}

/* Polls, but leaves the last second before the engines' end to the checks. */
static bool
while_inside(bool (*ready)(void *), uint64_t end_ns)
{
    while (!ready(NULL)) {
        if (conform_now_ns() + 1000 * MS >= end_ns)
            return false;
        job_pause_us(1000);
    }
    return true;
}

/*
 * Between the end of the budget and the end of the engines. All is looked at
 * first: it counts only if the engines were still inside afterwards.
 */
static void
judge_inside(uint64_t bytes_before, size_t held)
{
    uint64_t end = first_end_ns();
    bool few = while_inside(few_threads, end);
    bool eof = at_end(&closings[0]);
    uint64_t live = live_bytes() - bytes_before;
    bool counted = while_inside(shutdown_counts_two, end);
    if (conform_now_ns() >= end)
        conform_skip("the machine stood still until the engines ended");
    expect(few, "two workers inside engines and at most a helper for each "
                "handle remain");
    expect(!eof, "no end of file while a worker is inside");
    expect_u64_at_least(held, live,
                        "live_bytes while an engine reads its input");
    expect(counted, "gusset_shutdown(0) after the budget: FFI_ERR and a log "
                    "line that counts the 2 units");
}

static void
expect_budget(const struct closing *closing, const char *name)
{
    expect_code(FFI_ERR, closing->code, "close of %s over its engine", name);
    expect_code(FFI_ERR, closing->status.code, "its status");
    expect_u64_at_least((BUDGET_MS - 500) * MS, closing->elapsed_ns,
                        "nanoseconds that close of %s waited", name);
    expect_u64_at_least(1, closing->status.msg_len, "its message");
}

/* One unit ends in time, the others of a full queue never run. */
static void
fill_queue(struct closing *closing)
{
    CallHeader header = te_header(0, 0);
    static const uint8_t one_second[] = {TE_SLEEP, 10, 0};
    static const uint8_t echo[] = {TE_SLEEP, 0, 0};
    closing->tickets[closing->count++] = host_submit_patiently(
        closing->host, &header, one_second, sizeof one_second);
    while (closing->count < MOST_TICKETS)
        closing->tickets[closing->count++] =
            host_submit_patiently(closing->host, &header, echo, sizeof echo);
}

/* The reader of this one goes away before the engine ends. */
static void
leave(struct closing *closing)
{
    collect(closing);
    close(closing->read_fd);
    closing->read_fd = -1;
    if (closing->ring != NULL)
        api.ring_release(closing->ring->ring);
    closing->ring = NULL;
}

static void
expect_all_over(struct closing *closing, uint64_t bytes_before)
{
    expect(conform_eventually(ended, closing),
           "end of file after the last worker ended");
    collect(closing);
    for (uint32_t i = 1; i < closing->count; i++)
        expect_u64(1, closing->seen[i], "completions of unit %u", i);
    conform_evidence("completion-of-the-insider", "%s",
                     closing->seen[0] != 0 ? "delivered" : "given up");
    if (closing->ring != NULL)
        api.ring_release(closing->ring->ring);
    close(closing->read_fd);
    expect(conform_eventually(no_threads, NULL),
           "no library thread after the last worker ended");
    expect(conform_eventually(bytes_are_back, &bytes_before),
           "live_bytes after the last worker ended: %llu, before the open "
           "%llu",
           (unsigned long long)live_bytes(), (unsigned long long)bytes_before);
}

CONFORM_CASE(
    engine_stays, .id = "l.close-budget.engine-stays",
    .clauses = "l.close-budget i1.close-consumes i1.close-releases-all "
               "l.shutdown-drains i4.exactly-once i4.eof-at-close",
    .why = "A close that waits for ever, or that gives up and takes the "
           "memory from under a running engine, or leaves it behind for good.",
    .steps = "Two handles with an engine each that sleeps for 34 s, on 1 MiB "
             "and on 3000 bytes; one has a full queue besides. Both are "
             "closed at once. gusset_shutdown during the closes, after them "
             "and until the engines end. The second handle's reader leaves "
             "before its engine ends.",
    .expected = "FFI_ERR from both after 30 s, messages that last; while the "
                "engines are inside: their memory, no end of file, at most "
                "one helper thread each, both units in flight; afterwards end "
                "of file, nothing left. Each other unit completes once, the "
                "two at most once.",
    .needs = "test-engine", .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .timeout_ms = 120000,
    .mutant = "close-waits-for-ever close-says-ok close-frees-under-engine "
              "close-ends-the-pipe orphan-never-freed orphan-not-in-flight "
              "orphan-completes-twice close-leaves-idle-workers")
{
    const size_t large = 1 << 20;
    uint64_t bytes_before = live_bytes();
    enter(&closings[0], 2, large);
    enter(&closings[1], 6, 3000);
    fill_queue(&closings[0]);
    struct conform_thread *control =
        conform_thread_start(sleep_budget, NULL, 0);
    for (int i = 0; i < 2; i++)
        closings[i].thread = conform_thread_start(close_it, &closings[i], 0);
    expect(conform_eventually(short_unit_done, &closings[0]),
           "a unit that ends during the close is delivered");
    bool counted = conform_eventually(shutdown_counts_two, NULL);
    if (never_began(&closings[0]) || never_began(&closings[1]))
        conform_skip("close overtook a unit that had waited half a second for "
                     "its worker to begin");
    expect(returned(&closings[0]) || returned(&closings[1]) || counted,
           "gusset_shutdown(0) during a close: FFI_ERR and a log line that "
           "counts the 2 units");
    expect_code(FFI_OK, api.init(), "gusset_init during a close");

    wait_for_both();
    bool inside = conform_now_ns() < first_end_ns();
    conform_thread_join(control);
    if (!inside && control_woke_ns + 1000 * MS > first_end_ns())
        conform_skip("a sleep of 30 s on this machine lasted until the "
                     "engines may have ended");
    expect_budget(&closings[0], "the first handle");
    expect_budget(&closings[1], "the second handle");
    char said[128];
    snprintf(said, sizeof said, "%.*s", (int)closings[1].status.msg_len,
             (const char *)closings[1].status.msg);
    if (inside)
        judge_inside(bytes_before, large);
    leave(&closings[1]);

    expect_code(FFI_OK, api.shutdown(120000), "a shutdown with time enough");
    expect(conform_now_ns() >= first_end_ns(),
           "a shutdown waits for units whose close ran out of budget");
    expect_code(FFI_OK, api.init(), "gusset_init");
    expect_bytes(said, strlen(said), closings[1].status.msg, strlen(said),
                 "the message of a close, afterwards");
    for (int i = 0; i < 2; i++)
        api.status_free(&closings[i].status);
    expect_all_over(&closings[0], bytes_before);
    for (int i = 0; i < 2; i++)
        host_forget(closings[i].host);
    struct host *fresh = host_open(1);
    te_expect_healthy(fresh, "a fresh handle afterwards");
    host_close(fresh);
}

/* Closes over an engine that sleeps for 1 s; false: it had not begun. */
static bool
close_over_a_second(struct closing *closing)
{
    uint64_t bytes_before = live_bytes();
    *closing = (struct closing){.host = host_open(2)};
    closing->ring = host_ring(closing->host);
    closing->read_fd = host_read_fd(closing->host);
    uint8_t *input = conform_pattern(65536, TE_SLEEP, 5);
    CallHeader header = te_header(0, 0);
    input[1] = 10;
    input[2] = 0;
    uint64_t until = conform_now_ns() + 1000 * MS;
    closing->tickets[0] =
        te_submit_header(closing->host, &header, input, 65536);
    closing->count = 1;
    struct outcome echo = te_call(closing->host, TE_SLEEP, "\0", 2);
    expect_code(FFI_OK, echo.code, "an echo beside the unit that sleeps");
    close_it(closing);
    bool began = conform_now_ns() >= until;
    expect_code(FFI_OK, closing->code, "close over an engine that ends");
    collect(closing);
    expect(at_end(closing), "end of file right after the close");
    expect_u64(1, closing->seen[0], "completions of the unit that slept");
    if (closing->ring != NULL)
        api.ring_release(closing->ring->ring);
    close(closing->read_fd);
    expect(no_threads(NULL), "no library thread after the close");
    expect_u64(bytes_before, live_bytes(), "live_bytes after the close");
    host_forget(closing->host);
    return began;
}

CONFORM_CASE(
    engine_ends, .id = "l.close-budget.engine-ends-in-time",
    .clauses = "l.close-budget l.close-cancels i1.close-releases-all",
    .why = "A close that does not wait for an engine within its budget lets "
           "it run on memory that the host takes for released.",
    .steps = "A unit that never checks sleeps for 1 s on 64 KiB; close at "
             "once.",
    .expected = "FFI_OK, not before the engine ended; at once end of file, no "
                "thread, live_bytes as before the open; one completion.",
    .needs = "test-engine", .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "close-budget-short")
{
    for (int attempt = 0; attempt < 5; attempt++)
        if (close_over_a_second(&closings[0]))
            return;
    expect_unreachable("close returned before an engine of 1 s can have "
                       "ended, five times");
}
