/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One small life of a handle before the first census, so that what the C
 * library or the subject sets up once is there already. It judges nothing: a
 * subject that fails here fails in the case as well, with a check that says
 * what was expected. For the same reason it goes past the guard.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"
#include "pipe.h"

#define POOL 4
#define WAIT_NS UINT64_C(2000000000)

static void
drop(FfiStatus *status)
{
    api_raw.status_free(status);
}

static void
one_job(GussetHandle *handle, int read_fd)
{
    static const uint8_t input[] = {0, 'w', 'a', 'r', 'm'};
    /* What an engine that is not ours would make of the bytes is its affair:
     * an opcode that nobody registers runs nothing. */
    const CallHeader header = {
        .flags = DIAGNOSTIC,
        .reserved = conform_claims_own_engine() ? UINT32_MAX : 0};
    FfiStatus status = {0};
    uint64_t ticket = 0;
    if (api_raw.submit(handle, &header, input, sizeof input, 0, &ticket,
                       &status) == FFI_OK &&
        pipe_wait(read_fd, conform_now_ns() + WAIT_NS)) {
        uint64_t word = 0;
        uint64_t id = 0;
        uint8_t *bytes = NULL;
        size_t len = 0;
        ssize_t got = read(read_fd, &word, sizeof word);
        if (got == (ssize_t)sizeof word &&
            api_raw.take(handle, ticket, &id, &bytes, &len, &status) ==
                FFI_OK) {
            (void)api_raw.buf_free(handle, id & ~GUSSET_TAKE_OWNED_FLAG,
                                   &status);
        }
    }
    drop(&status);
}

static void
one_ring(GussetHandle *handle)
{
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL;
    const uint8_t *slots = NULL;
    uint64_t capacity = 0;
    FfiStatus status = {0};
    if (api_raw.handle_ring(handle, &ring, &shared, &slots, &capacity,
                            &status) == FFI_OK) {
        api_raw.ring_release(ring);
    }
    drop(&status);
}

static void
drain_log(void)
{
    static uint8_t buffer[65536];
    for (int turn = 0; turn < 64; turn++) {
        size_t written = 0;
        api_raw.drain_logs(buffer, sizeof buffer, &written);
        if (written == 0) {
            break;
        }
    }
}

void
conform_warm_up(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        conform_broken("a pipe for the warm-up");
    }
    GussetHandle *handle = NULL;
    FfiStatus status = {0};
    if (api_raw.handle_open(POOL, ends[1], &handle, &status) == FFI_OK &&
        handle != NULL) {
        one_job(handle, ends[0]);
        one_ring(handle);
        (void)api_raw.handle_close(handle, &status);
    } else {
        conform_evidence("warm-up", "handle_open failed");
        close(ends[1]);
    }
    drop(&status);
    close(ends[0]);
    drain_log();
}
