/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The result of a job whose completion still waits for room may be taken
 * [i4.completion-order c]. What the library kept for the job is then free for
 * another one, while the record of the first has yet to go out.
 */

#include "raw.h"

enum ending {
    SMALL,
    EMPTY,
    LARGE,
    ERROR,
    EXPIRED,
    CANCELLED,
    TOO_LONG, /* to go inline, though asked for */
    INLINED,
    ENDINGS
};

enum { POOL_MAX = 4, MOST = 3 * POOL_MAX };

struct early {
    uint64_t ticket;
    enum ending ending;
    bool out; /* taken before its completion was read */
};

struct stall {
    struct host *host;
    uint32_t pool;
    struct early jobs[MOST];
    uint32_t count;
    size_t filled;
};

static const uint8_t inputs[ENDINGS][60] = {
    [SMALL] = {MODE_ECHO, 1, 2},
    [LARGE] = {16, 0x88, 0x13, 0, 0, 0}, /* 5 000 bytes */
    [ERROR] = {MODE_ECHO, 1},
    [EXPIRED] = {MODE_COOPERATIVE, 255},
    [CANCELLED] = {MODE_COOPERATIVE, 255},
    [TOO_LONG] = {MODE_ECHO, 9, 9, 9},
    [INLINED] = {MODE_ECHO, 1, 2, 3, 4, 5, 6, 7},
};

static const size_t lengths[ENDINGS] = {
    [SMALL] = 3,   [EMPTY] = 0,     [LARGE] = 6,     [ERROR] = 2,
    [EXPIRED] = 2, [CANCELLED] = 2, [TOO_LONG] = 60, [INLINED] = 8,
};

static void
expect_result(const struct outcome *outcome, enum ending ending)
{
    switch (ending) {
    case LARGE:
        expect_code(FFI_OK, outcome->code, "mode 16");
        expect_u64(5000, outcome->len, "bytes of mode 16");
        break;
    case ERROR:
        expect_code(FFI_ERR, outcome->code, "a job that nothing handles");
        break;
    case EXPIRED:
        expect_failure_is(outcome, DEADLINE_TEXT, "an expired job");
        break;
    case CANCELLED:
        expect_failure_is(outcome, EXPLICIT_TEXT, "a cancelled job");
        break;
    default:
        expect_success_is(outcome, inputs[ending], lengths[ending], "an echo");
    }
}

/* False: the queue is full. */
static bool
submit_one(struct stall *stall, enum ending ending)
{
    CallHeader header = job_header(ending == ERROR ? 0 : DIAGNOSTIC, 0);
    if (ending == TOO_LONG || ending == INLINED)
        header.flags |= INLINE;
    if (ending == EXPIRED)
        header.timeout_ns = 1;
    struct outcome tried = host_try_submit(stall->host, &header, inputs[ending],
                                           lengths[ending], 0);
    if (tried.code != FFI_OK) {
        expect_text(TEXT_CONTAINS, "full", tried.msg, tried.msg_len,
                    "a refusal beside stalled workers");
        return false;
    }
    expect(stall->count < MOST, "at most 3 x pool units are accepted");
    stall->jobs[stall->count++] = (struct early){tried.ticket, ending, false};
    if (ending == CANCELLED)
        expect_code(FFI_OK,
                    api.cancel(host_handle(stall->host), tried.ticket, NULL),
                    "cancel");
    return true;
}

/* True: not the error of i1.take-once, so the result has moved out. */
static bool
moved_out(const struct outcome *outcome)
{
    return outcome->code == FFI_OK || outcome->msg == NULL ||
           strstr(outcome->msg, "not found or already taken") == NULL;
}

/*
 * Before its completion is read; whether that works is the library's choice,
 * so it is tried for a while only. An inline result is never there.
 */
static void
take_early(struct stall *stall, struct early *job)
{
    uint64_t give_up = conform_now_ns() + conform_noise_ns();
    do {
        struct outcome outcome = host_take(stall->host, job->ticket);
        job->out = moved_out(&outcome);
        if (job->out)
            expect_result(&outcome, job->ending);
        else
            job_pause_us(100);
    } while (!job->out && job->ending != INLINED && conform_now_ns() < give_up);
}

/* No room in the pipe, nor in the ring. */
static void
fill_all(struct stall *stall)
{
    struct conform_ring *ring = host_ring(stall->host);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint64_t i = 0; ring != NULL && i < ring->capacity; i++) {
        uint64_t position = ring->position + i;
        (void)host_submit(stall->host, DIAGNOSTIC, inputs[SMALL], 3);
        while (ring_sequence(ring, position) != position + 1)
            expect(conform_now_ns() < give_up, "the ring fills");
    }
    stall->filled = pipe_fill(host_write_fd(stall->host));
}

static void
judge_after_the_stall(struct stall *stall)
{
    pipe_unfill(host_read_fd(stall->host), stall->filled);
    for (uint32_t i = 0; i < stall->count; i++) {
        struct early *job = &stall->jobs[i];
        struct completion done = host_wait(stall->host, job->ticket);
        expect(!(job->out && done.inlined),
               "the completion of a result that was taken is bare");
        struct outcome outcome = host_outcome(stall->host, &done);
        if (job->out)
            expect(!moved_out(&outcome), "ticket %llu was taken before",
                   (unsigned long long)job->ticket);
        else
            expect_result(&outcome, job->ending);
    }
    /* What fills a ring is not taken: close does it. */
    struct completion rest;
    while (host_poll(stall->host, &rest))
        continue;
}

/* Returns how many results moved out early. */
static uint32_t
stall_once(struct stall *stall)
{
    uint32_t out = 0;
    stall->count = 0;
    fill_all(stall);
    while (stall->count < stall->pool)
        (void)submit_one(stall, (enum ending)conform_random(ENDINGS));
    for (uint32_t i = 0; i < stall->pool; i++) {
        take_early(stall, &stall->jobs[i]);
        out += stall->jobs[i].out;
    }
    while (stall->count < MOST &&
           submit_one(stall, (enum ending)conform_random(ENDINGS)))
        continue;
    judge_after_the_stall(stall);
    return out;
}

/* The panic is the last: what comes after it is refused. */
static void
panic_in_a_stall(struct stall *stall)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    fill_all(stall);
    uint64_t ticket = host_submit(stall->host, DIAGNOSTIC, panic, 1);
    uint64_t give_up = conform_now_ns() + conform_noise_ns();
    struct outcome early, tried;
    do {
        early = host_take(stall->host, ticket);
    } while (!moved_out(&early) && conform_now_ns() < give_up);
    do {
        tried = host_try_submit(stall->host, &header, inputs[SMALL], 3, 0);
    } while (tried.code == FFI_OK);
    pipe_unfill(host_read_fd(stall->host), stall->filled);
    struct completion done = host_wait(stall->host, ticket);
    if (!moved_out(&early))
        early = host_outcome(stall->host, &done);
    expect_code(FFI_PANIC, early.code, "the panic");
}

CONFORM_CASE(stall_reuse, .id = "i4.exactly-once.taken-while-it-stalls",
             .clauses = "i4.exactly-once i4.completion-order "
                        "i4.stalled-reader",
             .why = "a record that is made again for each try from what the "
                    "library keeps of the job, which is another job by then: "
                    "one ticket twice, the other never",
             .steps = "Pools of 1, 2 and 4, pipe (and ring) full: one job of "
                      "a random ending for each worker, taken before its "
                      "completion has room; submit until refused, which uses "
                      "their places again; empty the pipe. At last a panic.",
             .expected = "Each ticket completes once; a result is out once, "
                         "early or late.",
             .mutant = "stalled-ticket-read-again", .transports = CONFORM_BOTH)
{
    static const uint32_t pools[] = {1, 2, POOL_MAX};
    uint32_t out = 0;
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        struct stall stall = {.host = host_open(pools[i]), .pool = pools[i]};
        for (uint32_t round = 0; round < conform_rounds(8, 400); round++)
            out += stall_once(&stall);
        panic_in_a_stall(&stall);
        host_close(stall.host);
    }
    conform_evidence("taken-early", "%u", out);
}
