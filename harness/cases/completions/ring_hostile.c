/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The case of a ring reader that breaks its side of the protocol. */

#include "raw.h"

static const uint8_t echo[3] = {MODE_ECHO, 8, 8};

/* Nonsense into the words that the reader owns; nothing else is touched. */
static void
scribble(struct conform_ring *ring)
{
    static const uint64_t nonsense[] = {
        0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, 0x5555};
    for (uint64_t i = 0; i < ring->capacity; i++) {
        uint64_t *sequence =
            (uint64_t *)(void *)(ring->slots + i * GUSSET_RING_SLOT_BYTES);
        uint64_t value = conform_random(3) == 0 ? conform_random(64)
                                                : nonsense[conform_random(6)];
        __atomic_store_n(sequence, value, __ATOMIC_RELEASE);
    }
    uint32_t *waiting =
        (uint32_t *)(void *)(ring->shared + GUSSET_RING_OFF_WAITING);
    __atomic_store_n(waiting, (uint32_t)conform_random(UINT32_MAX),
                     __ATOMIC_SEQ_CST);
}

CONFORM_CASE(ring_hostile, .id = "i4.ring-hostile-reader.nonsense-words",
             .clauses = "i4.ring-hostile-reader",
             .why = "an index computed from a word that the host can write: "
                    "a bug in a host's reader becomes memory corruption",
             .steps = "30 rings: nonsense in all sequence words and in "
                      "waiting while jobs complete and nobody reads the "
                      "records; close; a healthy handle works beside it.",
             .expected = "No crash, close returns, the other handle's "
                         "calls succeed throughout.",
             .mutant = NULL)
{
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    struct host *healthy = host_open_with(1, CONFORM_RING);
    for (int round = 0; round < 30; round++) {
        GussetHandle *handle = NULL;
        struct conform_ring ring = {.ring = NULL};
        const uint8_t *shared, *slots;
        int fds[2];
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
            conform_broken("pipe2: %s", strerror(errno));
        expect_code(FFI_OK, api.handle_open(2, fds[1], &handle, NULL), "open");
        expect_code(FFI_OK,
                    api.handle_ring(handle, &ring.ring, &shared, &slots,
                                    &ring.capacity, NULL),
                    "attach");
        ring.shared = (uint8_t *)(uintptr_t)shared;
        ring.slots = (uint8_t *)(uintptr_t)slots;
        for (int i = 0; i < 20; i++) {
            uint64_t ticket;
            uint8_t drained[256];
            scribble(&ring);
            /* May be refused: its workers may have stalled for good. */
            (void)api.submit(handle, &header, echo, sizeof echo, 0, &ticket,
                             NULL);
            while (read(fds[0], drained, sizeof drained) > 0)
                continue;
        }
        expect_handle_healthy(healthy, "an echo on the other handle");
        int32_t code = api.handle_close(handle, NULL);
        expect(code == FFI_OK || code == FFI_ERR, "close returns %s",
               conform_code_name(code));
        api.ring_release(ring.ring);
        close(fds[0]);
    }
    expect_handle_healthy(healthy, "an echo at the end");
    host_close(healthy);
}
