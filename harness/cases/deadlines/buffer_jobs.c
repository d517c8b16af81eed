/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of jobs whose input is a buffer, and of modes that check between
 * pieces of work: deadlines and cancels reach them as any other.
 */

#include "../jobs.h"

enum { MODE_GENERATE = 16 };
enum stop { BY_DEADLINE, BY_CANCEL, BY_CANCEL_ALL, BY_SHUTDOWN, STOPS };

/* A way of being given, and what the job does until it looks. */
struct shape {
    const char *name;
    bool by_buffer;
    size_t len;
    uint8_t bytes[4];
};

/* Mode 10 sleeps first, so that the stop is there when it looks. */
#define LEAD_STEPS 6
static const struct shape shapes[] = {
    {"mode 5, inline", false, 2, {MODE_COOPERATIVE, 255}},
    {"mode 5, a small buffer", true, 2, {MODE_COOPERATIVE, 255}},
    {"mode 5, a large buffer", true, 65536, {MODE_COOPERATIVE, 255}},
    {"mode 10", true, 300000, {MODE_SLEEP, LEAD_STEPS, MODE_SQUARES, 1}},
    {"mode 5 behind a sleep", true, 4, {MODE_SLEEP, 4, MODE_COOPERATIVE, 255}},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

static uint64_t
submit_shape(struct host *host, const struct shape *shape, uint32_t flags,
             uint64_t timeout_ns)
{
    CallHeader header = job_header(DIAGNOSTIC | flags, timeout_ns);
    uint8_t *input = conform_pattern(shape->len, 1, 5);
    memcpy(input, shape->bytes, shape->len < 4 ? shape->len : 4);
    if (!shape->by_buffer)
        return host_submit_patiently(host, &header, input, shape->len);
    uint64_t id = host_buffer(host, input, shape->len, NULL);
    uint64_t ticket = host_submit_buffer(host, &header, id);
    host_buffer_free(host, id);
    return ticket;
}

static void
stop(struct host *host, enum stop how, uint64_t ticket)
{
    if (how == BY_CANCEL)
        expect_code(FFI_OK, api.cancel(host_handle(host), ticket, NULL),
                    "gusset_cancel");
    if (how == BY_CANCEL_ALL)
        expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL),
                    "gusset_cancel_all");
    if (how == BY_SHUTDOWN)
        expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
}

CONFORM_CASE(every_shape, .id = "i3.exact-texts.every-input-and-stop",
             .clauses = "i3.exact-texts i3.deadline i3.cancel "
                        "i3.cancel-all i3.shutdown-text "
                        "i1.close-releases-all",
             .why = "a job that is given by buffer, or that checks in the "
                    "middle of its work, is not reached by one of the ways "
                    "to stop it",
             .steps = "Modes 5 and 10, given inline, by a small and by a large "
                      "buffer that is freed at once, each stopped by its "
                      "deadline, cancel, cancel_all and a shutdown, with and "
                      "without the inline flag.",
             .expected = "The exact text of that stop, no place, the handle "
                         "healthy, live_bytes back after close.",
             .mutant = "cancel-skips-buffer-jobs", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const char *const texts[STOPS] = {DEADLINE_TEXT, EXPLICIT_TEXT,
                                             EXPLICIT_TEXT, SHUTDOWN_TEXT};
    AllocStats before, after;
    api.alloc_stats(&before);
    struct host *host = host_open(2 * SHAPES);
    for (enum stop how = 0; how < STOPS; how++) {
        uint64_t tickets[2 * SHAPES];
        uint64_t timeout_ns = how == BY_DEADLINE ? 5 * MS : 0;
        uint64_t first_look = conform_now_ns() + LEAD_STEPS * 10 * MS;
        for (size_t i = 0; i < 2 * SHAPES; i++)
            tickets[i] = submit_shape(host, &shapes[i / 2], i % 2 ? INLINE : 0,
                                      timeout_ns);
        for (size_t i = 0; i < 2 * SHAPES; i++) {
            if (i == 0 || how == BY_CANCEL)
                stop(host, how, tickets[i]);
        }
        bool late = how != BY_DEADLINE && conform_now_ns() > first_look;
        for (size_t i = 0; i < 2 * SHAPES; i++) {
            struct outcome outcome = job_finish(host, tickets[i]);
            if (late && outcome.code == FFI_OK)
                continue; /* a mode 10 was over before it was stopped */
            expect_failure_is(&outcome, texts[how], shapes[i / 2].name);
        }
        if (how == BY_SHUTDOWN)
            expect_code(FFI_OK, api.init(), "gusset_init");
        expect_handle_healthy(host, "an echo after the stops");
    }
    host_close(host);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes after close");
}

#define GENERATED (32u << 20)

/* Waits until an output is seen to be under way, but not for ever. */
static void
see_it_grow(uint64_t from)
{
    AllocStats now;
    uint64_t end = conform_now_ns() + 100 * MS;
    do
        api.alloc_stats(&now);
    while (now.live_bytes < from + GENERATED && conform_now_ns() < end);
}

CONFORM_CASE(generation, .id = "i3.cancel.generated-output",
             .clauses = "i3.cancel i3.deadline l.stats-complete",
             .why = "an output that was begun when the job was stopped stays "
                    "behind, or is delivered after all",
             .steps = "Mode 16 of 32 MiB: cancelled at once, cancelled when "
                      "live_bytes shows the output, and with a deadline of "
                      "1 ms; live_bytes when each is over and taken.",
             .expected = "The canonical text, or the whole result where the "
                         "job was faster; nothing of it left in live_bytes.",
             .mutant = "stopped-output-kept", .transports = CONFORM_BOTH)
{
    uint8_t input[6] = {MODE_GENERATE};
    put_u32le(input + 1, GENERATED);
    struct host *host = host_open(1);
    AllocStats before, after;
    uint32_t stopped = 0;
    api.alloc_stats(&before);
    for (int round = 0; round < 3; round++) {
        CallHeader header = job_header(DIAGNOSTIC, round == 2 ? MS : 0);
        uint64_t ticket =
            host_submit_header(host, &header, input, sizeof input);
        if (round == 1)
            see_it_grow(before.live_bytes);
        if (round < 2)
            stop(host, BY_CANCEL, ticket);
        struct outcome outcome = job_finish(host, ticket);
        if (outcome.code == FFI_OK) {
            expect_u64(GENERATED, outcome.len, "a generation that was faster");
        } else {
            stopped++;
            expect_failure_is(&outcome,
                              round == 2 ? DEADLINE_TEXT : EXPLICIT_TEXT,
                              "a generation that was stopped");
        }
        api.alloc_stats(&after);
        expect_u64_at_most(before.live_bytes + GENERATED / 32, after.live_bytes,
                           "live_bytes after round %d", round);
    }
    conform_evidence("stopped", "%u of 3", stopped);
    host_close(host);
}
