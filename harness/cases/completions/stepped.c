/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls that are stopped before each of their instructions while another
 * thread reuses what they are looking at: the races that a lock-free library
 * loses once in a million jobs, and a service once a week.
 */

#include "raw.h"
#include "step.h"

enum { MOST_JOBS = 8, BYTES = 16 };

struct job {
    uint64_t ticket; /* 0: not submitted in this round */
    uint8_t input[BYTES];
    bool taken;
};

/*
 * What the bodies of a scenario share. jobs[0] is the main thread's, or made
 * before the call; completions are read by the other thread, then by `judge`.
 */
struct scene {
    struct host *host;
    GussetHandle *handle;
    int read_fd, write_fd;
    struct job jobs[MOST_JOBS];
    struct completion seen[MOST_JOBS];
    uint32_t completed;
    uint32_t round;
    size_t filled; /* bytes that stall the worker */
    int32_t code;  /* of a stopped take */
    uint64_t id;
    uint8_t *bytes;
    size_t len;
};

static void
scene_open(struct scene *scene, uint32_t pool)
{
    scene->host = host_open_with(pool, CONFORM_PIPE);
    scene->handle = host_handle(scene->host);
    scene->read_fd = host_read_fd(scene->host);
    scene->write_fd = host_write_fd(scene->host);
}

/*
 * An echo with bytes of its own; tried again while the queue is full. Past the
 * guard, whose instructions are not to be stepped.
 */
static void
submit_echo(struct scene *scene, uint32_t index)
{
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct job *job = &scene->jobs[index];
    uint64_t give_up = 0;
    put_u64le(job->input + 8, (uint64_t)scene->round << 8 | index);
    job->taken = false;
    while (api_raw.submit(scene->handle, &header, job->input, BYTES, 0,
                          &job->ticket, NULL) != FFI_OK) {
        if (give_up == 0)
            give_up = conform_now_ns() + conform_patience_ns();
        expect(conform_now_ns() < give_up, "submit of job %u is accepted",
               index);
        sched_yield();
    }
}

static bool
has_completed(const struct scene *scene, uint64_t ticket)
{
    for (uint32_t i = 0; i < scene->completed; i++)
        if (scene->seen[i].ticket == ticket)
            return true;
    return false;
}

static void
read_completion(struct scene *scene)
{
    expect(scene->completed < MOST_JOBS, "more completions than jobs");
    raw_await(scene->read_fd);
    expect_i64(1,
               pipe_read_record(scene->read_fd, &scene->seen[scene->completed]),
               "a completion");
    scene->completed++;
}

static void
wait_for(struct scene *scene, uint32_t index)
{
    while (!has_completed(scene, scene->jobs[index].ticket))
        read_completion(scene);
}

/* The result is the job's own. */
static void
take_own(struct scene *scene, uint32_t index)
{
    struct job *job = &scene->jobs[index];
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    FfiStatus status = conform_dirty_status();
    int32_t code =
        api.take(scene->handle, job->ticket, &id, &bytes, &len, &status);
    struct outcome outcome = conform_settle(code, &status);
    expect_code(FFI_OK, code, "take of job %u: %s", index,
                outcome.msg != NULL ? outcome.msg : "");
    expect_bytes(job->input, BYTES, bytes, len, "the bytes of job %u", index);
    expect_code(FFI_OK, api.buf_free(scene->handle, id, NULL), "buf_free");
    job->taken = true;
}

/* Each ticket completes once, and each result is its job's own. */
static void
judge_all(struct scene *scene)
{
    uint32_t owed = 0;
    for (uint32_t i = 0; i < MOST_JOBS; i++)
        owed += scene->jobs[i].ticket != 0;
    while (scene->completed < owed)
        read_completion(scene);
    for (uint32_t i = 0; i < MOST_JOBS; i++)
        if (scene->jobs[i].ticket != 0)
            host_adopt(scene->host, scene->jobs[i].ticket);
    for (uint32_t i = 0; i < scene->completed; i++)
        host_book(scene->host, &scene->seen[i]);
    for (uint32_t i = 0; i < MOST_JOBS; i++) {
        uint32_t times = 0;
        if (scene->jobs[i].ticket == 0)
            continue;
        for (uint32_t j = 0; j < scene->completed; j++)
            times += scene->seen[j].ticket == scene->jobs[i].ticket;
        expect_u64(1, times, "completions of job %u", i);
        if (!scene->jobs[i].taken)
            take_own(scene, i);
    }
    expect_u64(0, pipe_pending(scene->read_fd), "bytes left in the pipe");
}

static void
begin_round(void *argument)
{
    struct scene *scene = argument;
    scene->completed = 0;
    scene->round++;
    for (uint32_t i = 0; i < MOST_JOBS; i++)
        scene->jobs[i].ticket = 0;
}

/* ---- A submit that stands still while places are used and given back --- */

static void
submit_the_first(void *argument)
{
    submit_echo(argument, 0);
}

/* Two jobs; the place of the first is free again when the submit goes on. */
static void
use_and_give_back(void *argument)
{
    struct scene *scene = argument;
    submit_echo(scene, 1);
    submit_echo(scene, 2);
    wait_for(scene, 1);
    wait_for(scene, 2);
    take_own(scene, 1);
}

/* Two more jobs need places while the others' results lie there. */
static void
judge_places(void *argument)
{
    struct scene *scene = argument;
    submit_echo(scene, 3);
    submit_echo(scene, 4);
    judge_all(scene);
}

CONFORM_CASE(stepped_submit, .id = "i4.exactly-once.stepped-submit",
             .clauses = "i4.exactly-once i1.take-once",
             .why = "a list of free places whose head is compared without a "
                    "count (ABA): two jobs share one place, once in millions",
             .steps = "A submit is stopped before each of its instructions; "
                      "meanwhile two jobs run and the first is taken; then "
                      "the submit goes on, and two more jobs follow.",
             .expected = "Five completions, each ticket once, each result its "
                         "job's own.",
             .mutant = "free-list-without-a-count", .timeout_ms = 60000)
{
    static struct scene scene;
    const struct conform_steps steps = {
        begin_round, submit_the_first, use_and_give_back, judge_places, &scene};
    scene_open(&scene, 2);
    conform_step_through(&steps);
    host_close(scene.host);
}

/* ---- A take beside another take of the same ticket --------------------- */

static void
finish_one_job(void *argument)
{
    struct scene *scene = argument;
    begin_round(scene);
    submit_echo(scene, 0);
    wait_for(scene, 0);
}

static void
take_the_first(void *argument)
{
    struct scene *scene = argument;
    scene->code = api_raw.take(scene->handle, scene->jobs[0].ticket, &scene->id,
                               &scene->bytes, &scene->len, NULL);
}

/* Takes it too, and lets another job have its place. */
static void
take_it_too(void *argument)
{
    struct scene *scene = argument;
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    int32_t code =
        api.take(scene->handle, scene->jobs[0].ticket, &id, &bytes, &len, NULL);
    scene->jobs[0].taken = code == FFI_OK;
    if (code == FFI_OK) {
        expect_bytes(scene->jobs[0].input, BYTES, bytes, len,
                     "the bytes of the other take");
        expect_code(FFI_OK, api.buf_free(scene->handle, id, NULL), "buf_free");
    }
    submit_echo(scene, 1);
    wait_for(scene, 1);
}

static void
judge_takes(void *argument)
{
    struct scene *scene = argument;
    expect_u64(1, (scene->code == FFI_OK) + (uint64_t)scene->jobs[0].taken,
               "takes that gave the result; the stopped one said %s",
               conform_code_name(scene->code));
    if (scene->code == FFI_OK) {
        expect_bytes(scene->jobs[0].input, BYTES, scene->bytes, scene->len,
                     "the bytes of the stopped take");
        expect_code(FFI_OK, api.buf_free(scene->handle, scene->id, NULL),
                    "buf_free");
    }
    scene->jobs[0].taken = true;
    judge_all(scene);
}

CONFORM_CASE(stepped_take, .id = "i1.take-once.stepped-take",
             .clauses = "i1.take-once i4.exactly-once",
             .why = "a result that is looked at and marked in two steps: two "
                    "takes give it, and one frees what the other reads",
             .steps = "A take is stopped before each of its instructions; "
                      "meanwhile another take of the ticket, and a new job "
                      "that may get its place.",
             .expected = "One of the two gives the bytes; the new job's "
                         "result is its own.",
             .mutant = "take-in-two-steps", .timeout_ms = 60000)
{
    static struct scene scene;
    const struct conform_steps steps = {finish_one_job, take_the_first,
                                        take_it_too, judge_takes, &scene};
    scene_open(&scene, 2);
    conform_step_through(&steps);
    host_close(scene.host);
}

/* ---- A cancel of a job that ends, beside the next one in its place ----- */

/* The only worker cannot report job 1, so job 0 waits in the queue. */
static void
queue_one_job(void *argument)
{
    struct scene *scene = argument;
    begin_round(scene);
    scene->filled = pipe_fill(scene->write_fd);
    submit_echo(scene, 1);
    submit_echo(scene, 0);
}

static void
cancel_the_first(void *argument)
{
    struct scene *scene = argument;
    scene->code = api_raw.cancel(scene->handle, scene->jobs[0].ticket, NULL);
}

/* Job 0 ends and is taken; two jobs that may get its place are queued. */
static void
end_and_reuse(void *argument)
{
    struct scene *scene = argument;
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    pipe_unfill(scene->read_fd, scene->filled);
    wait_for(scene, 1);
    wait_for(scene, 0);
    scene->filled = pipe_fill(scene->write_fd);
    submit_echo(scene, 2);
    int32_t code =
        api.take(scene->handle, scene->jobs[0].ticket, &id, &bytes, &len, NULL);
    if (code == FFI_OK)
        expect_code(FFI_OK, api.buf_free(scene->handle, id, NULL), "buf_free");
    scene->jobs[0].taken = true; /* cancelled or not: both are right */
    submit_echo(scene, 3);
    submit_echo(scene, 4);
}

static void
judge_cancel(void *argument)
{
    struct scene *scene = argument;
    expect_code(FFI_OK, scene->code, "the stopped cancel");
    pipe_unfill(scene->read_fd, scene->filled);
    judge_all(scene);
}

CONFORM_CASE(stepped_cancel, .id = "i3.cancel-harmless.stepped-cancel",
             .clauses = "i3.cancel-harmless i3.cancel",
             .why = "a cancel that finds the job and then marks its place, "
                    "where another job is by now",
             .steps = "A cancel of a queued job is stopped before each of its "
                      "instructions; meanwhile the job runs and is taken, and "
                      "two others are queued in its place.",
             .expected = "The two others succeed with their own bytes.",
             .mutant = "cancel-marks-the-place", .timeout_ms = 60000)
{
    static struct scene scene;
    const struct conform_steps steps = {queue_one_job, cancel_the_first,
                                        end_and_reuse, judge_cancel, &scene};
    scene_open(&scene, 1);
    conform_step_through(&steps);
    host_close(scene.host);
}
