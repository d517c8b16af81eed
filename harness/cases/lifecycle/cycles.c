/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of l.cycles: what is left after many lives of a handle. Each shape is
 * warmed up by itself, because the first of a kind may fill caches for good.
 * Mapped bytes may also move with the C library's caches of thread stacks;
 * what leaks grows in every batch, so only that is a fault.
 */

#include "../completions/raw.h"

static const uint8_t echo[3] = {MODE_ECHO, 1, 3};

static struct host *
open_with_traffic(uint32_t pool)
{
    struct host *host = host_open(pool);
    for (uint32_t i = 0; i < 3 * pool; i++)
        (void)host_call(host, i % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, echo,
                        sizeof echo);
    return host;
}

static void
life_of_traffic(void)
{
    host_close(open_with_traffic(3));
}

static void
life_of_panic(void)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    struct host *host = open_with_traffic(2);
    struct outcome outcome = host_call(host, DIAGNOSTIC, panic, 1);
    expect_code(FFI_PANIC, outcome.code, "the panic of this life");
    host_close(host);
}

static void
life_of_hoarding(void)
{
    struct host *host = open_with_traffic(2);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t id = host_buffer(host, NULL, 100000, NULL);
    (void)host_buffer(host, NULL, 10, NULL);
    for (int i = 0; i < 4; i++) {
        uint64_t ticket = host_submit_buffer(host, &header, id);
        (void)host_wait(host, ticket); /* never taken */
        (void)host_wait(host, host_submit(host, DIAGNOSTIC, echo, 3));
    }
    host_buffer_free(host, id);
    host_close(host);
}

static void
life_of_errors(void)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    struct host *host = open_with_traffic(2);
    CallHeader tiny = job_header(DIAGNOSTIC, 1);
    CallHeader bad = job_header(DIAGNOSTIC | 0x100, 0);
    for (int i = 0; i < 4; i++) {
        (void)host_call(host, 0, echo, sizeof echo);
        (void)host_call_header(host, &tiny, endless, sizeof endless);
        (void)host_try_submit(host, &bad, echo, sizeof echo, 0);
        (void)host_wait(host, host_submit(host, 0, echo, 3)); /* not taken */
    }
    host_close(host);
}

/* Opened, loaded and closed by hand: nobody reads before the end. */
static void
life_of_neglect(bool full, bool in_flight)
{
    static const uint8_t endless[2] = {MODE_COOPERATIVE, 255};
    GussetHandle *handle = NULL;
    const GussetRing *ring = NULL;
    const uint8_t *shared, *slots;
    uint64_t capacity;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
    if (conform_transport() == CONFORM_RING)
        expect_code(
            FFI_OK,
            api.handle_ring(handle, &ring, &shared, &slots, &capacity, NULL),
            "attach");
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    if (full)
        (void)pipe_fill(fds[1]);
    for (int i = 0; i < 6; i++)
        (void)raw_submit(handle, &header, in_flight ? endless : echo, 2);
    expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
    api.ring_release(ring);
    close(fds[0]);
}

/* The ring goes first, while jobs run; without a ring just another life. */
static void
life_without_reader(void)
{
    struct host *host = open_with_traffic(2);
    host_close(host);
    GussetHandle *handle = NULL;
    const GussetRing *ring = NULL;
    const uint8_t *shared, *slots;
    uint64_t capacity;
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
    if (conform_transport() == CONFORM_RING)
        expect_code(
            FFI_OK,
            api.handle_ring(handle, &ring, &shared, &slots, &capacity, NULL),
            "attach");
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int i = 0; i < 6; i++) {
        if (i == 3)
            api.ring_release(ring);
        (void)raw_submit(handle, &header, echo, sizeof echo);
    }
    expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
    close(fds[0]);
}

static void
life_of_full_pipe(void)
{
    life_of_neglect(true, false);
}

static void
life_of_overflow(void)
{
    life_of_neglect(false, false);
}

static void
life_cut_short(void)
{
    life_of_neglect(false, true);
}

struct shape {
    const char *name;
    void (*life)(void);
    uint32_t lives; /* in a batch */
};

static const struct shape shapes[] = {
    {"traffic", life_of_traffic, 30},
    {"panic", life_of_panic, 20},
    {"hoarding", life_of_hoarding, 20},
    {"errors", life_of_errors, 20},
    {"full pipe", life_of_full_pipe, 15},
    {"overflow", life_of_overflow, 20},
    {"cut short", life_cut_short, 8},
    {"no reader", life_without_reader, 20},
};

static void
live(const struct shape *shape, uint32_t lives)
{
    for (uint32_t i = 0; i < lives; i++)
        shape->life();
}

/* Grown in three batches one after the other: a leak, not a cache. */
static void
expect_no_growth(const struct shape *shape)
{
    live(shape, 6);
    struct conform_census first = conform_census_now(0);
    struct conform_census last = first;
    uint64_t lives = conform_rounds(1, 50) * shape->lives;
    for (int batch = 0; batch < 3; batch++) {
        live(shape, (uint32_t)lives);
        struct conform_census now = conform_census_now(first.threads);
        expect_u64(first.fds, now.fds, "descriptors after %llu lives of %s",
                   (unsigned long long)lives, shape->name);
        expect_u64(first.threads, now.threads,
                   "threads after %llu lives of "
                   "%s",
                   (unsigned long long)lives, shape->name);
        expect_u64(first.live_bytes, now.live_bytes,
                   "live_bytes after %llu lives of %s",
                   (unsigned long long)lives, shape->name);
        if (now.mapped_bytes <= last.mapped_bytes)
            return;
        last = now;
    }
    expect_u64_at_most(first.mapped_bytes, last.mapped_bytes,
                       "mapped bytes, grown in each of three batches of %llu "
                       "lives of %s",
                       (unsigned long long)lives, shape->name);
}

CONFORM_CASE(cycles, .id = "l.cycles.eight-shapes",
             .clauses = "l.cycles i1.close-releases-all",
             .why = "anything that a handle leaves behind: a descriptor, a "
                    "stack, a signal stack, a ring, a message",
             .steps = "After a warm-up of each shape, many lives: traffic, a "
                      "panic, results and buffers never collected, errors, a "
                      "full pipe, overflow nobody reads, close over running "
                      "jobs, a ring released first.",
             .expected = "Descriptors, threads and live_bytes as before, "
                         "mapped bytes not above.",
             .mutant = "thread-leak-on-close ring-never-freed",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
             .timeout_ms = 40000)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        expect_no_growth(&shapes[i]);
}
