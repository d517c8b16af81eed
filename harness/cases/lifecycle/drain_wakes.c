/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A shutdown that waits comes back when the last unit leaves, whatever that
 * unit was about when the wait began and however it ends. The budget is ten
 * minutes, so that a wait that nobody ends outlasts all patience.
 */

#include "../completions/raw.h"

#include <stdatomic.h>

#define BUDGET_MS 600000u

/* What the last unit is about when the shutdown begins. */
enum state {
    RUNNING,  /* and does not check */
    QUEUED,   /* behind one like that */
    LATE,     /* runs, and then finds the pipe full */
    STALLED,  /* waits for room in the pipe: bare */
    INLINED,  /* the same with an inline record */
    TOKEN,    /* is in the ring and owes a token */
    OVERFLOWN /* the ring is full, and the pipe as well */
};

/* What lets it go. */
enum parting { READER_DRAINS, READER_LEAVES, HANDLE_CLOSES };

static const char *const state_names[] = {
    "a running unit",
    "a queued unit",
    "a unit that stalls during the shutdown",
    "a stalled bare record",
    "a stalled inline record",
    "a record that owes its token",
    "a stalled overflow",
};

static const char *const parting_names[] = {
    "the pipe was emptied",
    "the read end was closed",
    "the handle was closed",
};

struct waiter {
    int32_t code;
    atomic_bool returned;
};

/* One handle with the unit in question. */
struct scene {
    GussetHandle *handle;
    struct conform_ring ring; /* ring.ring NULL: none */
    int read_fd;
    int write_fd;
    size_t filled;
};

static const uint8_t echo[2] = {MODE_ECHO, 7};
static const uint8_t sleeper[4] = {MODE_SLEEP, 3, MODE_LOG, 1};

static void
wait_in_shutdown(void *argument)
{
    struct waiter *waiter = argument;
    waiter->code = api.shutdown(BUDGET_MS);
    atomic_store(&waiter->returned, true);
}

static bool
has_returned(void *argument)
{
    struct waiter *waiter = argument;
    return atomic_load(&waiter->returned);
}

static void
open_scene(struct scene *scene, uint32_t pool, bool ring)
{
    const uint8_t *shared, *slots;
    int fds[2];
    memset(scene, 0, sizeof *scene);
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    scene->read_fd = fds[0];
    scene->write_fd = fds[1];
    expect_code(FFI_OK, api.handle_open(pool, fds[1], &scene->handle, NULL),
                "open");
    if (!ring)
        return;
    expect_code(FFI_OK,
                api.handle_ring(scene->handle, &scene->ring.ring, &shared,
                                &slots, &scene->ring.capacity, NULL),
                "attach");
    scene->ring.shared = (uint8_t *)(uintptr_t)shared;
    scene->ring.slots = (uint8_t *)(uintptr_t)slots;
}

static void
submit(struct scene *scene, uint32_t flags, const void *input, size_t len)
{
    CallHeader header = job_header(DIAGNOSTIC | flags, 0);
    (void)raw_submit(scene->handle, &header, input, len);
}

static void
fill_ring(struct scene *scene)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint64_t i = 0; i < scene->ring.capacity; i++) {
        submit(scene, 0, echo, sizeof echo);
        while (ring_sequence(&scene->ring, i) != i + 1)
            expect(conform_now_ns() < give_up, "the ring fills");
    }
}

/* A job that has logged is at its end; a little later it stalls. */
static void
submit_and_stall(struct scene *scene, uint32_t flags)
{
    static const uint8_t logging[2] = {MODE_LOG, 1};
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    (void)conform_drain_log();
    submit(scene, flags, logging, sizeof logging);
    while (strstr(conform_drain_log(), "worker log event 0") == NULL)
        expect(conform_now_ns() < give_up, "the job runs");
    job_pause_us(2000); /* a chance; either order must come out right */
}

static void
bring_about(struct scene *scene, enum state state)
{
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    if (state == OVERFLOWN)
        fill_ring(scene);
    if (state == TOKEN)
        expect(ring_announce(&scene->ring), "the ring is empty");
    if (state >= LATE)
        scene->filled = pipe_fill(scene->write_fd);
    switch (state) {
    case QUEUED:
        submit(scene, 0, sleeper, sizeof sleeper);
        submit(scene, 0, echo, sizeof echo);
        break;
    case RUNNING:
    case LATE:
        submit(scene, 0, sleeper, sizeof sleeper);
        job_pause_us(10000); /* a chance to run when the shutdown begins */
        break;
    case STALLED:
    case INLINED:
    case OVERFLOWN:
        submit_and_stall(scene, state == INLINED ? INLINE : 0);
        break;
    case TOKEN:
        submit(scene, INLINE, echo, sizeof echo);
        while (ring_sequence(&scene->ring, 0) != 1)
            expect(conform_now_ns() < give_up, "the record in the ring");
        break;
    }
}

/* The latch is down: from here on shutdown waits, or is about to. */
static void
await_latch(struct host *other)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    struct outcome outcome;
    do {
        outcome = host_try_submit(other, &header, echo, sizeof echo, 0);
        expect(conform_now_ns() < give_up, "shutdown begins");
        if (outcome.code == FFI_OK)
            (void)job_finish(other, outcome.ticket);
    } while (outcome.code == FFI_OK);
}

static void
close_handle(struct scene *scene)
{
    FfiStatus status = conform_dirty_status();
    struct outcome closed =
        conform_settle(api.handle_close(scene->handle, &status), &status);
    expect_code(FFI_OK, closed.code, "close");
    scene->handle = NULL;
}

static void
let_go(struct scene *scene, enum state state, enum parting parting)
{
    if (state == LATE)
        job_pause_us(40000); /* its sleep is over: a chance to stall */
    if (parting == HANDLE_CLOSES) {
        close_handle(scene);
        return;
    }
    if (parting == READER_LEAVES) {
        close(scene->read_fd);
        scene->read_fd = -1;
        return;
    }
    pipe_unfill(scene->read_fd, scene->filled);
}

static void
end_scene(struct scene *scene)
{
    if (scene->handle != NULL)
        close_handle(scene);
    api.ring_release(scene->ring.ring);
    if (scene->read_fd >= 0)
        close(scene->read_fd);
}

static void
shutdown_over(struct host *other, enum state state, enum parting parting)
{
    static struct waiter waiter;
    struct scene scene;
    open_scene(&scene, 1, conform_transport() == CONFORM_RING);
    bring_about(&scene, state);
    atomic_store(&waiter.returned, false);
    struct conform_thread *thread =
        conform_thread_start(wait_in_shutdown, &waiter, 0);
    await_latch(other);
    if (state > LATE)
        expect(!atomic_load(&waiter.returned),
               "shutdown waits for %s, which is not delivered",
               state_names[state]);
    let_go(&scene, state, parting);
    expect(conform_eventually(has_returned, &waiter),
           "shutdown comes back when its last unit has left: %s, then %s",
           state_names[state], parting_names[parting]);
    conform_thread_join(thread);
    expect_code(FFI_OK, waiter.code, "shutdown over %s, then %s",
                state_names[state], parting_names[parting]);
    expect_code(FFI_OK, api.init(), "gusset_init");
    end_scene(&scene);
}

CONFORM_CASE(last_unit_wakes, .id = "l.shutdown-drains.last-unit-wakes-it",
             .clauses = "l.shutdown-drains i4.reader-gone l.close-full-pipe",
             .why = "a shutdown that nobody wakes when the last unit leaves: "
                    "it sleeps its whole budget with nothing in flight",
             .steps = "shutdown(600 000) on a thread over one unit that runs, "
                      "is queued, stalls in a full pipe before or after the "
                      "shutdown began, owes a token or overflows; then the "
                      "pipe is emptied, its read end closed, or the handle "
                      "closed.",
             .expected = "FFI_OK within patience each time; not before a "
                         "stalled one has left.",
             .mutant = "drain-flag-read-early", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const enum state on_pipe[] = {RUNNING, QUEUED, LATE, STALLED,
                                         INLINED};
    static const enum state on_ring[] = {RUNNING, QUEUED, TOKEN, OVERFLOWN};
    bool ring = conform_transport() == CONFORM_RING;
    const enum state *states = ring ? on_ring : on_pipe;
    size_t count = ring ? sizeof on_ring / sizeof on_ring[0]
                        : sizeof on_pipe / sizeof on_pipe[0];
    struct host *other = host_open_with(1, CONFORM_PIPE);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t parting = READER_DRAINS; parting <= HANDLE_CLOSES;
             parting++)
            shutdown_over(other, states[i], (enum parting)parting);
    }
    host_close(other);
}
