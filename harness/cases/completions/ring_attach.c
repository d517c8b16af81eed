/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of gusset_handle_ring: what is attached, when, and how often. */

#include "raw.h"

#include <stdatomic.h>

static const uint8_t echo[3] = {MODE_ECHO, 1, 2};

static uint64_t
header_u64(const uint8_t *shared, size_t offset)
{
    return atomic_load(
        (const _Atomic uint64_t *)(const void *)(shared + offset));
}

static uint32_t
header_waiting(const uint8_t *shared)
{
    return atomic_load(
        (const _Atomic uint32_t *)(const void *)(shared +
                                                 GUSSET_RING_OFF_WAITING));
}

static void
expect_geometry(uint32_t pool)
{
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL, *slots = NULL;
    uint64_t capacity = 0;
    struct host *host = host_open_with(pool, CONFORM_PIPE);
    FfiStatus status = conform_dirty_status();
    struct outcome attached =
        conform_settle(api.handle_ring(host_handle(host), &ring, &shared,
                                       &slots, &capacity, &status),
                       &status);
    expect_code(FFI_OK, attached.code, "attach to a pool of %u", pool);
    expect(ring != NULL && shared != NULL && slots != NULL,
           "the three pointers of a ring are set");
    expect_u64_at_least(pool < 2 ? 2 : pool, capacity, "capacity, pool %u",
                        pool);
    expect_u64(0, capacity & (capacity - 1), "capacity %llu is a power of two",
               (unsigned long long)capacity);
    expect_u64(0, (uintptr_t)shared % 64, "alignment of the header");
    expect_u64(0, (uintptr_t)slots % 128, "alignment of the slots");
    expect_u64(capacity, header_u64(shared, GUSSET_RING_OFF_CAPACITY),
               "the capacity word");
    expect_u64(GUSSET_RING_SLOT_BYTES,
               header_u64(shared, GUSSET_RING_OFF_SLOT_BYTES),
               "the slot_bytes word");
    expect_u64(0, header_waiting(shared), "waiting at the attach");
    expect_u64(0, header_u64(shared, GUSSET_RING_OFF_OVERFLOW),
               "overflow at the attach");
    for (uint64_t i = 0; i < capacity; i++)
        expect_u64(i, header_u64(slots, i * GUSSET_RING_SLOT_BYTES),
                   "the sequence word of slot %llu", (unsigned long long)i);
    /* Writable to its last byte, the const notwithstanding. */
    uint8_t *last =
        (uint8_t *)(uintptr_t)slots + capacity * GUSSET_RING_SLOT_BYTES - 1;
    *last = 0xa5;
    expect_u64(0xa5, *last, "the last byte of the slots");
    host_close(host);
    api.ring_release(ring);
}

CONFORM_CASE(ring_geometry, .id = "i4.ring-attach.geometry",
             .clauses = "i4.ring-attach",
             .why = "a reader and a writer that disagree on what empty looks "
                    "like, or on where a slot is",
             .steps = "Attach to pools of 1, 2, 3, 4, 5, 8, 9 and 33; read "
                      "header and slots; write the last byte.",
             .expected = "Capacity a power of two, at least max(2, pool); "
                         "alignments 64 and 128; words as said; memory "
                         "writable.",
             .mutant = "ring-capacity-is-the-pool")
{
    static const uint32_t pools[] = {1, 2, 3, 4, 5, 8, 9, 33};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        expect_geometry(pools[i]);
}

CONFORM_CASE(ring_attach_args, .id = "i4.ring-attach.arguments",
             .clauses = "i4.ring-attach i1.out-only-on-ok i2.exports-contained",
             .why = "a refused attach that consumes the one attach there is",
             .steps = "handle_ring with each out pointer NULL in turn and "
                      "without a handle; then a good one.",
             .expected = "FFI_BAD_ARG each time, nothing written; the good "
                         "one works, and so does an echo through it.",
             .mutant = "ring-out-pointer-not-checked")
{
    int mark;
    struct host *host = host_open_with(1, CONFORM_PIPE);
    for (int missing = 0; missing < 5; missing++) {
        const GussetRing *ring = (const GussetRing *)(void *)&mark;
        const uint8_t *shared = (uint8_t *)&mark, *slots = (uint8_t *)&mark;
        uint64_t capacity = 77;
        FfiStatus status = conform_dirty_status();
        struct outcome refused = conform_settle(
            api.handle_ring(missing == 4 ? NULL : host_handle(host),
                            missing == 0 ? NULL : &ring,
                            missing == 1 ? NULL : &shared,
                            missing == 2 ? NULL : &slots,
                            missing == 3 ? NULL : &capacity, &status),
            &status);
        expect_code(FFI_BAD_ARG, refused.code, "handle_ring without pointer %d",
                    missing);
        expect_ptr(&mark, ring, "out_ring of a refusal");
        expect_ptr(&mark, shared, "out_shared of a refusal");
        expect_ptr(&mark, slots, "out_slots of a refusal");
        expect_u64(77, capacity, "out_capacity of a refusal");
    }
    host_attach_ring(host);
    struct outcome outcome = host_call(host, DIAGNOSTIC, echo, sizeof echo);
    expect_success_is(&outcome, echo, sizeof echo, "an echo after the attach");
    host_close(host);
}

CONFORM_CASE(ring_second, .id = "i4.ring-attach.second-refused",
             .clauses = "i4.ring-attach i1.out-only-on-ok",
             .why = "two readers on one ring, or a second ring that takes the "
                    "completions away from the first",
             .steps = "Attach, use, attach again, use again.",
             .expected = "The second attach is FFI_ERR and writes nothing; "
                         "the first ring goes on.",
             .mutant = "ring-second-attach-allowed")
{
    struct host *host = host_open_with(2, CONFORM_RING);
    (void)host_call(host, DIAGNOSTIC, echo, sizeof echo);
    for (int i = 0; i < 2; i++) {
        const GussetRing *ring = NULL;
        const uint8_t *shared = NULL, *slots = NULL;
        uint64_t capacity = 77;
        FfiStatus status = conform_dirty_status();
        struct outcome second =
            conform_settle(api.handle_ring(host_handle(host), &ring, &shared,
                                           &slots, &capacity, &status),
                           &status);
        expect_code(FFI_ERR, second.code, "a second attach");
        expect(ring == NULL && shared == NULL && slots == NULL &&
                   capacity == 77,
               "a refused attach writes no out pointer");
        struct outcome outcome = host_call(host, DIAGNOSTIC, echo, sizeof echo);
        expect_success_is(&outcome, echo, sizeof echo, "an echo after it");
    }
    host_close(host);
}

CONFORM_CASE(ring_after_traffic, .id = "i4.ring-attach.after-traffic",
             .clauses = "i4.ring-attach i4.exactly-once",
             .why = "completions that are moved, doubled or forgotten when "
                    "the ring arrives",
             .steps = "Three echoes complete through the pipe, unread; attach; "
                      "look; three more echoes; read everything.",
             .expected = "The three stay in the pipe, the ring starts empty "
                         "and its overflow stays 0; each later job comes "
                         "through the ring.",
             .mutant = "ring-begins-late")
{
    struct host *host = host_open_with(1, CONFORM_PIPE);
    uint64_t before[3];
    CallHeader header = job_header(DIAGNOSTIC, 0);
    for (int i = 0; i < 3; i++)
        before[i] = host_submit_patiently(host, &header, echo, sizeof echo);
    uint64_t give_up = conform_now_ns() + conform_patience_ns();
    while (pipe_pending(host_read_fd(host)) < 24)
        expect(conform_now_ns() < give_up, "three records in the pipe");
    host_attach_ring(host);
    struct conform_ring *ring = host_ring(host);
    expect_u64(24, pipe_pending(host_read_fd(host)),
               "bytes in the pipe after the attach");
    for (uint64_t i = 0; i < ring->capacity; i++)
        expect_u64(i, ring_sequence(ring, i), "a sequence word");
    for (int i = 0; i < 3; i++) {
        uint64_t ticket = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
        struct completion done = host_wait(host, ticket);
        expect(done.from_ring, "a job after the attach, with room in the "
                               "ring, comes through it");
    }
    for (int i = 0; i < 3; i++) {
        struct completion done = host_wait(host, before[i]);
        expect(!done.from_ring, "a completion from before stays in the pipe");
        struct outcome outcome = host_outcome(host, &done);
        expect_success_is(&outcome, echo, sizeof echo, "an early result");
    }
    expect_u64(0, ring_overflow(ring), "overflow");
    host_close(host);
}

CONFORM_CASE(ring_during_traffic, .id = "i4.ring-attach.during-traffic",
             .clauses = "i4.ring-attach i4.exactly-once i4.ring-overflow",
             .why = "a job caught between the two transports: reported in "
                    "both, or in neither",
             .steps = "40 times: six short jobs on two workers, attach while "
                      "they run, six more, all read.",
             .expected = "Twelve completions, each once; those submitted "
                         "after the attach that came through the pipe are "
                         "counted in overflow.",
             .mutant = NULL)
{
    uint8_t spin[5] = {MODE_SPIN};
    put_u32le(spin + 1, 20000);
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (int round = 0; round < 40; round++) {
        uint64_t after[6];
        struct host *host = host_open_with(2, CONFORM_PIPE);
        for (int i = 0; i < 6; i++)
            (void)host_submit_patiently(host, &header, spin, sizeof spin);
        host_attach_ring(host);
        for (int i = 0; i < 6; i++)
            after[i] = host_submit_patiently(host, &header, spin, sizeof spin);
        uint64_t late_in_pipe = 0, in_pipe = 0;
        for (int n = 0; n < 12; n++) {
            struct completion done = host_next(host);
            bool late = false;
            for (int i = 0; i < 6; i++)
                late = late || after[i] == done.ticket;
            in_pipe += !done.from_ring;
            late_in_pipe += late && !done.from_ring;
        }
        expect_code(FFI_OK, api.shutdown(5000), "nothing is in flight");
        expect_code(FFI_OK, api.init(), "gusset_init");
        uint64_t overflow = ring_overflow(host_ring(host));
        expect_u64_at_least(late_in_pipe, overflow,
                            "overflow, against later jobs in the pipe");
        expect_u64_at_most(in_pipe, overflow,
                           "overflow, against all completions in the pipe");
        host_close(host);
    }
}

CONFORM_CASE(ring_poisoned, .id = "i4.ring-attach.poisoned-handle",
             .clauses = "i4.ring-attach i2.poison-new-work-only",
             .why = "an attach refused when a host needs it most: while it "
                    "winds a poisoned handle down",
             .steps = "A panic poisons the handle while a cooperative job "
                      "runs; attach; read the running job's completion.",
             .expected = "FFI_OK, a fresh ring; the sibling completes; "
                         "submit stays FFI_POISONED.",
             .mutant = "ring-refused-when-poisoned", .tags = CONFORM_SLEEPS)
{
    static const uint8_t running[2] = {MODE_COOPERATIVE, 4};
    static const uint8_t done_bytes[2] = {MODE_COOPERATIVE, 0};
    static const uint8_t panic[1] = {MODE_PANIC};
    struct host *host = host_open_with(2, CONFORM_PIPE);
    uint64_t sibling = host_submit(host, DIAGNOSTIC, running, sizeof running);
    struct outcome panicked = host_call(host, DIAGNOSTIC, panic, 1);
    expect_code(FFI_PANIC, panicked.code, "the panic");
    host_attach_ring(host);
    expect_u64(0, ring_sequence(host_ring(host), 0), "the first sequence word");
    struct outcome outcome = job_finish(host, sibling);
    expect_success_is(&outcome, done_bytes, 2, "the running sibling");
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct outcome refused =
        host_try_submit(host, &header, echo, sizeof echo, 0);
    expect_code(FFI_POISONED, refused.code, "submit on the poisoned handle");
    host_close(host);
}

CONFORM_CASE(ring_shutdown, .id = "i4.ring-attach.during-shutdown",
             .clauses = "i4.ring-attach l.shutdown-refuses",
             .why = "an attach that a shutdown refuses: it starts no work",
             .steps = "shutdown; attach; init; an echo through the ring.",
             .expected = "FFI_OK from the attach; the echo comes through the "
                         "ring.",
             .mutant = "ring-refused-in-shutdown")
{
    struct host *host = host_open_with(1, CONFORM_PIPE);
    expect_code(FFI_OK, api.shutdown(0), "an idle shutdown");
    host_attach_ring(host);
    expect_code(FFI_OK, api.init(), "gusset_init");
    uint64_t ticket = host_submit(host, DIAGNOSTIC, echo, sizeof echo);
    struct completion done = host_wait(host, ticket);
    expect(done.from_ring, "the echo comes through the ring");
    host_close(host);
}
