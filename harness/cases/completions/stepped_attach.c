/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A handle_ring that is stopped before each of its instructions while jobs
 * complete: the ring that workers see is whole, or they do not see it.
 */

#include "raw.h"
#include "step.h"

enum { JOBS = 3, BYTES = 8 };

static struct {
    struct host *host;
    GussetHandle *handle;
    int read_fd;
    struct conform_ring ring;
    const uint8_t *shared, *slots;
    int32_t code;
    uint64_t tickets[JOBS];
} scene;

static void
open_a_handle(void *unused)
{
    (void)unused;
    scene.host = host_open_with(1, CONFORM_PIPE);
    scene.handle = host_handle(scene.host);
    scene.read_fd = host_read_fd(scene.host);
    memset(scene.tickets, 0, sizeof scene.tickets);
}

static void
attach(void *unused)
{
    (void)unused;
    /* Past the guard, whose instructions are not to be stepped. */
    scene.code =
        api_raw.handle_ring(scene.handle, &scene.ring.ring, &scene.shared,
                            &scene.slots, &scene.ring.capacity, NULL);
}

/* Jobs that are over, read or not, when this returns: they were taken. */
static void
run_jobs(void *unused)
{
    static const uint8_t echo[BYTES] = {MODE_ECHO, 1};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    (void)unused;
    for (int i = 0; i < JOBS; i++) {
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        uint64_t id;
        uint8_t *bytes;
        size_t len;
        scene.tickets[i] = raw_submit(scene.handle, &header, echo, BYTES);
        while (api.take(scene.handle, scene.tickets[i], &id, &bytes, &len,
                        NULL) != FFI_OK) {
            expect(conform_now_ns() < give_up, "job %d ends", i);
            sched_yield();
        }
        expect_code(FFI_OK, api.buf_free(scene.handle, id, NULL), "buf_free");
    }
}

/* Every completion is in the pipe or in the ring, once. */
static void
judge_completions(void *unused)
{
    uint32_t seen[JOBS] = {0}, found = 0;
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    (void)unused;
    expect_code(FFI_OK, scene.code, "handle_ring");
    scene.ring.shared = (uint8_t *)(uintptr_t)scene.shared;
    scene.ring.slots = (uint8_t *)(uintptr_t)scene.slots;
    scene.ring.position = 0;
    while (found < JOBS) {
        struct completion done;
        bool have = ring_read(&scene.ring, &done);
        if (!have && pipe_pending(scene.read_fd) >= 8)
            have = pipe_read_record(scene.read_fd, &done) == 1;
        for (int i = 0; have && i < JOBS; i++)
            seen[i] += done.ticket == scene.tickets[i];
        found += have;
        expect(
            conform_now_ns() < give_up,
            "completions of %d jobs that ended while a ring was attached; "
            "%u came, the ring's next sequence word is %llu, its position "
            "%llu",
            JOBS, found,
            (unsigned long long)ring_sequence(&scene.ring, scene.ring.position),
            (unsigned long long)scene.ring.position);
    }
    for (int i = 0; i < JOBS; i++)
        expect_u64(1, seen[i], "completions of job %d", i);
    expect_code(FFI_OK, api.handle_close(scene.handle, NULL), "close");
    api.ring_release(scene.ring.ring);
    close(scene.read_fd);
    host_forget(scene.host);
}

CONFORM_CASE(stepped_attach, .id = "i4.ring-attach.stepped",
             .clauses = "i4.ring-attach i4.exactly-once",
             .why = "a ring that workers see before it is set up: what they "
                    "publish is wiped, and the reader waits for ever",
             .steps = "handle_ring is stopped before each of its "
                      "instructions; meanwhile three jobs run and end; then "
                      "it goes on, and pipe and ring are read.",
             .expected = "Three completions, each once, wherever they are.",
             .mutant = "ring-shown-before-it-is-set-up", .timeout_ms = 60000)
{
    const struct conform_steps steps = {open_a_handle, attach, run_jobs,
                                        judge_completions, NULL};
    conform_step_through(&steps);
}
