/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls on a buffer that are stopped before each of their instructions while
 * another thread frees it: what 1.4 allows, in every order there is.
 */

#include "../jobs.h"
#include "step.h"

/* Large enough that a C library gives the memory back to the system. */
enum { BYTES = 300000 };

static struct {
    struct host *host;
    GussetHandle *handle;
    uint64_t id, other;
    uint64_t ticket;
    int32_t code, freed;
    uint8_t *input;
} scene;

static void
fill_a_buffer(void *unused)
{
    (void)unused;
    scene.id = host_buffer(scene.host, scene.input, BYTES, NULL);
    scene.other = 0;
}

static void
submit_it(void *unused)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    (void)unused;
    /* Past the guard, whose instructions are not to be stepped. */
    scene.code = api_raw.submit(scene.handle, &header, NULL, 0, scene.id,
                                &scene.ticket, NULL);
}

/* Frees it, and has the memory used by somebody else. */
static void
free_it(void *unused)
{
    uint8_t *bytes = NULL;
    (void)unused;
    scene.freed = api.buf_free(scene.handle, scene.id, NULL);
    expect_code(FFI_OK,
                api.buf_alloc(scene.handle, BYTES, &scene.other, &bytes, NULL),
                "buf_alloc");
    memset(bytes, 0xee, BYTES);
}

static void
judge_the_job(void *unused)
{
    (void)unused;
    expect_code(FFI_OK, scene.freed, "buf_free beside a submit");
    if (scene.code == FFI_OK) {
        host_adopt(scene.host, scene.ticket);
        struct outcome outcome = job_finish(scene.host, scene.ticket);
        expect_success_is(&outcome, scene.input, BYTES,
                          "a job whose buffer was freed during submit");
    }
    expect_code(FFI_OK, api.buf_free(scene.handle, scene.other, NULL),
                "buf_free of the other buffer");
    scene.code = FFI_ERR; /* for a round whose submit is not reached */
}

CONFORM_CASE(stepped_free, .id = "i1.free-under-job.stepped-submit",
             .clauses = "i1.free-under-job i1.buf-unknown-at-submit",
             .why = "a submit that finds the buffer and then counts itself "
                    "as its reader: freed in between, the engine reads memory "
                    "of somebody else",
             .steps = "A submit of a buffer is stopped before each of its "
                      "instructions; meanwhile the buffer is freed and "
                      "another one is made and filled.",
             .expected = "The submit is refused, or the job gives the "
                         "buffer's bytes; live_bytes ends where it was.",
             .mutant = "buffer-read-in-two-steps", .timeout_ms = 60000)
{
    const struct conform_steps steps = {fill_a_buffer, submit_it, free_it,
                                        judge_the_job, NULL};
    scene.host = host_open_with(1, CONFORM_PIPE);
    scene.handle = host_handle(scene.host);
    scene.input = conform_pattern(BYTES, MODE_ECHO, 5);
    conform_step_through(&steps);
    host_close(scene.host);
}

/* ---- Two allocations ---------------------------------------------------- */

static void
no_buffer_yet(void *unused)
{
    (void)unused;
    scene.id = scene.other = 0;
}

static void
allocate(void *unused)
{
    uint8_t *bytes = NULL;
    (void)unused;
    scene.code = api_raw.buf_alloc(scene.handle, 64, &scene.id, &bytes, NULL);
}

static void
allocate_too(void *unused)
{
    uint8_t *bytes = NULL;
    (void)unused;
    expect_code(FFI_OK,
                api.buf_alloc(scene.handle, 64, &scene.other, &bytes, NULL),
                "buf_alloc");
}

static void
judge_the_ids(void *unused)
{
    (void)unused;
    expect_code(FFI_OK, scene.code, "buf_alloc beside another");
    expect(scene.id != scene.other, "two buffers have the id %llu",
           (unsigned long long)scene.id);
    expect_code(FFI_OK, api.buf_free(scene.handle, scene.id, NULL), "buf_free");
    expect_code(FFI_OK, api.buf_free(scene.handle, scene.other, NULL),
                "buf_free of the other");
}

CONFORM_CASE(stepped_alloc, .id = "i1.ids-unique.stepped-alloc",
             .clauses = "i1.ids-unique",
             .why = "an id that is read and counted up in two steps: two "
                    "threads get one id and free each other's buffer",
             .steps = "A buf_alloc is stopped before each of its "
                      "instructions; meanwhile another one is made.",
             .expected = "Two different ids.",
             .mutant = "ids-drawn-in-two-steps", .timeout_ms = 60000)
{
    const struct conform_steps steps = {no_buffer_yet, allocate, allocate_too,
                                        judge_the_ids, NULL};
    scene.host = host_open_with(1, CONFORM_PIPE);
    scene.handle = host_handle(scene.host);
    conform_step_through(&steps);
    host_close(scene.host);
}
