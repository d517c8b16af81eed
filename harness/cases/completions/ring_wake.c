/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Cases of the park handshake: exactly one token for each waiting = 1 that a
 * writer met, and no record behind a parked reader. Each case plays the reader
 * itself, with C and D of i4.ring-wake sequentially consistent.
 */

#include "raw.h"

#include <sched.h>
#include <stdatomic.h>

static const uint8_t echo[2] = {MODE_ECHO, 1};

/* The tokens in the pipe now; anything else in it fails the case. */
static uint64_t
tokens_in_pipe(int fd)
{
    uint64_t tokens = 0;
    while (pipe_pending(fd) >= 8) {
        struct completion done;
        expect_i64(2, pipe_read_record(fd, &done),
                   "a record in the pipe is a "
                   "wake token");
        tokens++;
    }
    return tokens;
}

static void
poll_record(struct conform_ring *ring, uint64_t ticket)
{
    struct completion done;
    uint64_t give_up = 0;
    for (uint32_t spins = 1; !ring_read(ring, &done); spins++) {
        if (spins % 1024 != 0)
            continue;
        sched_yield();
        if (give_up == 0)
            give_up = conform_now_ns() + conform_patience_ns();
        expect(conform_now_ns() < give_up, "the record of ticket %llu",
               (unsigned long long)ticket);
    }
    expect_u64(ticket, done.ticket, "the ticket in the ring");
}

CONFORM_CASE(wake_token_once, .id = "i4.ring-wake.one-token-per-wait",
             .clauses = "i4.ring-wake",
             .why = "a wake that is never written, or one for each record "
                    "published while the flag stood",
             .steps = "100 times: waiting = 1, two jobs on two workers, "
                      "wait for the pipe; the records are read afterwards. "
                      "Then 100 jobs with waiting = 0.",
             .expected = "100 tokens in all, waiting back to 0 each time, "
                         "the records in the ring, none in the pipe.",
             .mutant = "missing-wake-token token-storm")
{
    struct host *host = host_open_with(2, CONFORM_RING);
    struct conform_ring *ring = host_ring(host);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    int fd = host_read_fd(host);
    uint64_t tokens = 0;
    for (int round = 0; round < 100; round++) {
        expect(ring_announce(ring), "the ring is empty: the reader may park");
        for (uint64_t i = 0; i < 2; i++)
            (void)raw_submit(host_handle(host), &header, echo, sizeof echo);
        raw_await(fd);
        expect_u64(0, ring_retract(ring), "waiting after the token");
        tokens += tokens_in_pipe(fd);
        struct completion done;
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        for (int i = 0; i < 2;) {
            expect(conform_now_ns() < give_up, "the records of round %d",
                   round);
            i += ring_read(ring, &done);
        }
    }
    for (int i = 0; i < 100; i++) {
        uint64_t ticket =
            raw_submit(host_handle(host), &header, echo, sizeof echo);
        poll_record(ring, ticket);
    }
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    tokens += tokens_in_pipe(fd);
    expect_u64(100, tokens, "tokens written, for 100 times waiting = 1");
    host_close(host);
}

CONFORM_CASE(wake_retracted, .id = "i4.ring-wake.none-after-retract",
             .clauses = "i4.ring-wake",
             .why = "a writer that writes a token though it lost the exchange",
             .steps = "200 times: waiting = 1 and back by exchange with a job "
                      "racing in between; tokens are compared with the "
                      "exchanges that found 0.",
             .expected = "Exactly one token for each exchange of the reader "
                         "that returned 0, none for the others.",
             .mutant = "token-storm")
{
    struct host *host = host_open_with(1, CONFORM_RING);
    struct conform_ring *ring = host_ring(host);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t owed = 0, tokens = 0;
    for (uint32_t round = 0; round < conform_rounds(200, 100000); round++) {
        uint64_t ticket =
            raw_submit(host_handle(host), &header, echo, sizeof echo);
        for (uint64_t spins = conform_random(3000); spins > 0; spins--)
            atomic_signal_fence(memory_order_seq_cst);
        (void)ring_announce(ring);
        for (uint64_t spins = conform_random(1000); spins > 0; spins--)
            atomic_signal_fence(memory_order_seq_cst);
        owed += ring_retract(ring) == 0;
        poll_record(ring, ticket);
        tokens += tokens_in_pipe(host_read_fd(host));
        expect_u64_at_most(owed, tokens,
                           "tokens so far, against exchanges "
                           "that found 0");
    }
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    tokens += tokens_in_pipe(host_read_fd(host));
    expect_u64(owed, tokens, "tokens in all, against exchanges that found 0");
    conform_evidence("tokens", "%llu", (unsigned long long)tokens);
    host_close(host);
}

/* What the race keeps from round to round. */
struct wake_race {
    struct host *host;
    struct conform_ring *ring;
    int fd;
    bool cold;     /* the reader slept: the worker may have gone to sleep */
    int64_t delay; /* spins between submit and the announcement */
    uint64_t parked;
    uint64_t found;
    uint64_t owed;
    uint64_t tokens;
};

static uint64_t
race_submit(struct wake_race *race, const uint8_t *input, size_t len)
{
    static const CallHeader header = {.flags = DIAGNOSTIC | INLINE};
    uint64_t ticket = 0;
    expect_code(FFI_OK,
                api.submit(host_handle(race->host), &header, input, len, 0,
                           &ticket, NULL),
                "submit to an empty queue");
    return ticket;
}

/* Parks until the pipe is readable; a record behind it is the fault. */
static void
park(struct wake_race *race, uint32_t round)
{
    struct pollfd poll_fd = {.fd = race->fd, .events = POLLIN};
    int patience_ms = (int)(conform_patience_ns() / MS);
    int ready;
    do
        ready = poll(&poll_fd, 1, patience_ms);
    while (ready == -1 && errno == EINTR);
    if (ready == 1)
        return;
    uint64_t position = race->ring->position;
    expect(ring_sequence(race->ring, position) != position + 1,
           "round %u: a wake-up was lost: the record of position %llu is "
           "published and its reader is parked",
           round, (unsigned long long)position);
    expect_unreachable("round %u: no record and no token within %d ms", round,
                       patience_ms);
}

/*
 * The reader is behind its announcement: waits for the record, or for the
 * token and then the record.
 */
static void
finish_round(struct wake_race *race, uint32_t round, bool may_park,
             uint64_t ticket)
{
    struct completion done;
    while (may_park) {
        park(race, round);
        race->owed += ring_retract(race->ring) == 0;
        race->tokens += tokens_in_pipe(race->fd);
        if (ring_read(race->ring, &done)) {
            expect_u64(ticket, done.ticket, "the ticket in the ring");
            return;
        }
        /* A late token of an earlier round: announce anew. */
        may_park = ring_announce(race->ring);
    }
    race->owed += ring_retract(race->ring) == 0;
    poll_record(race->ring, ticket);
    race->tokens += tokens_in_pipe(race->fd);
}

/*
 * One round. The job spins for some microseconds, so that its record appears a
 * steady time after the submit; the delay before the announcement is steered
 * to where finding the record and parking are equally likely: there C and D
 * cross A and B.
 */
static void
race_once(struct wake_race *race, uint32_t round)
{
    uint8_t spin[5] = {MODE_SPIN};
    put_u32le(spin + 1, 3000);
    if (race->cold)
        poll_record(race->ring, race_submit(race, echo, sizeof echo));
    uint64_t ticket = race_submit(race, spin, sizeof spin);
    int64_t spins = race->delay + (int64_t)conform_random(64);
    for (int64_t i = 0; i < spins; i++)
        atomic_signal_fence(memory_order_seq_cst);
    bool may_park = ring_announce(race->ring);
    int64_t step = round < 500 ? 100 : 20;
    race->cold = may_park;
    if (may_park) {
        race->parked++;
        race->delay += race->delay < 200000 ? step : 0;
    } else {
        race->found++;
        race->delay -= race->delay > step ? step : race->delay;
    }
    finish_round(race, round, may_park, ticket);
}

CONFORM_CASE(wake_race, .id = "i4.ring-wake.race-with-a-real-park",
             .clauses = "i4.ring-wake i4.ring-reader",
             .why = "a publish and a load of waiting that pass each other "
                    "(release and acquire are not enough): the reader sleeps "
                    "on a record until the next job, if there is one",
             .steps = "20 000 rounds: one job, then the reader announces "
                      "itself just when the record is published and really "
                      "parks in poll.",
             .expected = "It is never left behind a published record; tokens "
                         "are exactly those owed.",
             .mutant = "park-looked-at-too-early weak-park-handshake "
                       "missing-wake-token",
             .timeout_ms = 180000)
{
    struct wake_race race = {.host = host_open_with(1, CONFORM_RING)};
    race.ring = host_ring(race.host);
    race.fd = host_read_fd(race.host);
    race.cold = true;
    race.delay = 5000;
    uint32_t rounds = conform_rounds(20000, 1000000);
    cpu_set_t allowed = raw_spread_over_cpus();
    for (uint32_t round = 0; round < rounds; round++)
        race_once(&race, round);
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
    expect_code(FFI_OK, api.shutdown(5000), "gusset_shutdown");
    expect_code(FFI_OK, api.init(), "gusset_init");
    race.tokens += tokens_in_pipe(race.fd);
    expect_u64(race.owed, race.tokens,
               "tokens, against exchanges that found 0");
    conform_evidence("parked", "%llu", (unsigned long long)race.parked);
    conform_evidence("found", "%llu", (unsigned long long)race.found);
    conform_evidence("delay-spins", "%lld", (long long)race.delay);
    host_close(race.host);
}

struct wake_producer {
    struct host *host;
    struct conform_barrier *barrier;
    uint32_t jobs;
};

static void
produce_slowly(void *argument)
{
    struct wake_producer *producer = argument;
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    conform_barrier_wait(producer->barrier);
    for (uint32_t i = 0; i < producer->jobs; i++) {
        uint64_t until = conform_now_ns() + conform_random(20000);
        (void)host_submit_patiently(producer->host, &header, echo, sizeof echo);
        while (conform_now_ns() < until)
            continue;
    }
}

CONFORM_CASE(wake_many, .id = "i4.ring-wake.many-producers",
             .clauses = "i4.ring-wake i4.exactly-once",
             .why = "a wake lost among several workers that publish at once, "
                    "or written to a reader that is not there any more",
             .steps = "Two threads submit 1 500 jobs each to four workers "
                      "with random pauses; the reader parks whenever the ring "
                      "is empty and never polls.",
             .expected = "All 3 000 arrive; no park outlasts patience.",
             .mutant = NULL)
{
    struct host *host = host_open_with(4, CONFORM_RING);
    struct conform_barrier *barrier = conform_barrier_new(2);
    static struct wake_producer producers[2];
    struct conform_thread *threads[2];
    uint32_t each = conform_rounds(1500, 200000);
    for (int i = 0; i < 2; i++) {
        producers[i] = (struct wake_producer){host, barrier, each};
        threads[i] = conform_thread_start(produce_slowly, &producers[i], 0);
    }
    uint64_t parks = 0;
    for (uint32_t read = 0; read < 2 * each;) {
        struct completion done;
        if (host_poll(host, &done)) {
            read++;
            continue;
        }
        if (ring_announce(host_ring(host)) &&
            pipe_pending(host_read_fd(host)) == 0) {
            raw_await(host_read_fd(host));
            parks++;
        }
        (void)ring_retract(host_ring(host));
    }
    for (int i = 0; i < 2; i++)
        conform_thread_join(threads[i]);
    conform_evidence("parks", "%llu", (unsigned long long)parks);
    conform_barrier_free(barrier);
    host_close(host);
}
