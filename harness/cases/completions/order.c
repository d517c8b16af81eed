/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of i4.completion-order: what a host may rely on around a record. */

#include "raw.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static const uint8_t echo[3] = {MODE_ECHO, 0x11, 0x22};

struct early_reader {
    int fd;
    uint32_t jobs;
    uint64_t *tickets;
    atomic_uint read;
};

static void
read_tickets(void *argument)
{
    struct early_reader *reader = argument;
    for (uint32_t i = 0; i < reader->jobs; i++) {
        raw_read(reader->fd, &reader->tickets[i], 8, 8);
        atomic_fetch_add(&reader->read, 1);
    }
}

CONFORM_CASE(order_a, .id = "i4.completion-order.a-before-submit-returns",
             .clauses = "i4.completion-order",
             .why = "out_ticket that differs from the record, or is only "
                    "right when the job is slower than the submit",
             .steps = "A thread reads the pipe while 1 000 echoes are "
                      "submitted one at a time; it is counted how often the "
                      "record was read before submit returned.",
             .expected = "Each out_ticket equals the ticket read for it, "
                         "whichever came first.",
             .mutant = NULL)
{
    enum { JOBS = 1000 };
    static uint64_t tickets[JOBS];
    struct host *host = host_open(1);
    static struct early_reader reader;
    reader.fd = host_read_fd(host);
    reader.jobs = JOBS;
    reader.tickets = tickets;
    struct conform_thread *thread =
        conform_thread_start(read_tickets, &reader, 0);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint32_t early = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        uint64_t ticket = raw_submit(host_handle(host), &header, echo, 3);
        early += atomic_load(&reader.read) > i;
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        while (atomic_load(&reader.read) <= i) {
            expect(conform_now_ns() < give_up, "the record of job %u is read",
                   i);
            sched_yield();
        }
        expect_u64(tickets[i], ticket, "out_ticket, against the record");
        struct outcome outcome = host_take(host, ticket);
        expect_success_is(&outcome, echo, 3, "the result");
    }
    conform_thread_join(thread);
    conform_evidence("read-before-submit-returned", "%u of %u", early,
                     (uint32_t)JOBS);
    host_close(host);
}

CONFORM_CASE(order_b, .id = "i4.completion-order.b-take-finds-it",
             .clauses = "i4.completion-order",
             .why = "a record written before the result is stored: the take "
                    "that follows at once finds nothing",
             .steps = "3 000 echoes over four workers, two in flight; the "
                      "reader polls without a pause and takes at once.",
             .expected = "Every take gives the result.",
             .mutant = "completed-before-done", .transports = CONFORM_BOTH,
             .timeout_ms = 60000)
{
    struct host *host = host_open(4);
    uint32_t rounds = conform_rounds(3000, 300000);
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t read = 0;
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        (void)host_submit(host, DIAGNOSTIC, echo, sizeof echo);
        (void)host_submit(host, DIAGNOSTIC, echo, sizeof echo);
        while (read < 2) {
            struct completion done;
            if (!host_poll(host, &done)) {
                expect(conform_now_ns() < give_up, "a completion of round %u",
                       i);
                continue;
            }
            read++;
            struct outcome outcome = host_take(host, done.ticket);
            expect_success_is(&outcome, echo, sizeof echo,
                              "a take right after the record");
        }
    }
    host_close(host);
}

CONFORM_CASE(order_c, .id = "i4.completion-order.c-take-before-record",
             .clauses = "i4.completion-order i1.take-once i4.exactly-once",
             .why = "a take that races the completion: a result torn, lost "
                    "or doubled, or a completion swallowed with it",
             .steps = "1 000 echoes; take is called in a loop from the "
                      "moment submit returns, before any record is read.",
             .expected = "Each take gives the bytes or the text of "
                         "i1.take-once; one gives the bytes; the completion "
                         "comes once.",
             .mutant = NULL, .transports = CONFORM_BOTH)
{
    struct host *host = host_open(2);
    uint32_t rounds = conform_rounds(1000, 100000);
    uint32_t refusals = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t give_up = conform_now_ns() + conform_patience_ns();
        uint64_t ticket = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
        char text[64];
        (void)snprintf(text, sizeof text,
                       "ticket %llu not found or already taken",
                       (unsigned long long)ticket);
        struct outcome outcome = host_take(host, ticket);
        while (outcome.code != FFI_OK) {
            refusals++;
            expect_code(FFI_ERR, outcome.code, "take before the end");
            expect_text(TEXT_CONTAINS, text, outcome.msg, outcome.msg_len,
                        "the text of a take before the end");
            expect(conform_now_ns() < give_up, "a result of round %u", i);
            outcome = host_take(host, ticket);
        }
        expect_success_is(&outcome, echo, sizeof echo, "the early take");
        struct completion done = host_wait(host, ticket);
        expect(!done.inlined, "the record after an early take is bare");
        struct outcome again = host_take(host, ticket);
        expect_code(FFI_ERR, again.code, "take after the early take");
    }
    conform_evidence("takes-before-the-end", "%u", refusals);
    host_close(host);
}

/* Spins until the record of the only job is there, and leaves it there. */
static void
spin_for_record(struct host *host)
{
    struct conform_ring *ring = host_ring(host);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    for (uint32_t spins = 1;; spins++) {
        if (ring != NULL ? ring_sequence(ring, 0) == 1
                         : pipe_pending(host_read_fd(host)) > 0)
            return;
        if (spins % 4096 != 0)
            continue;
        expect(conform_now_ns() < give_up, "the panic completes");
        sched_yield();
    }
}

static void
poison_once(bool submit_first)
{
    static const uint8_t panic[1] = {MODE_PANIC};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct host *host = host_open(1);
    GussetHandle *handle = host_handle(host);
    uint64_t id, ticket = 0;
    uint8_t *bytes;
    cpu_set_t allowed = raw_spread_over_cpus();
    (void)host_submit(host, DIAGNOSTIC, panic, sizeof panic);
    spin_for_record(host);
    int32_t first = submit_first
                        ? api.submit(handle, &header, echo, 3, 0, &ticket, NULL)
                        : api.buf_alloc(handle, 64, &id, &bytes, NULL);
    int32_t second =
        submit_first ? api.buf_alloc(handle, 64, &id, &bytes, NULL)
                     : api.submit(handle, &header, echo, 3, 0, &ticket, NULL);
    (void)sched_setaffinity(0, sizeof allowed, &allowed);
    expect_code(FFI_POISONED, first, "%s right after the record",
                submit_first ? "submit" : "buf_alloc");
    expect_code(FFI_POISONED, second, "%s after it",
                submit_first ? "buf_alloc" : "submit");
    struct completion done = host_next(host);
    struct outcome outcome = host_outcome(host, &done);
    expect_code(FFI_PANIC, outcome.code, "the panic itself");
    host_close(host);
}

CONFORM_CASE(order_d, .id = "i4.completion-order.d-poison-before-record",
             .clauses = "i4.completion-order i2.poison-latch",
             .why = "a handle that takes new work for a moment after its "
                    "panic was reported",
             .steps = "150 handles: a panic; the reader spins until the "
                      "record is there and at once submits and allocates a "
                      "buffer.",
             .expected = "FFI_POISONED from both, the first time.",
             .mutant = "poison-after-completion", .transports = CONFORM_BOTH)
{
    uint32_t rounds = conform_rounds(150, 5000);
    for (uint32_t i = 0; i < rounds; i++)
        poison_once(i % 2 != 0);
}
