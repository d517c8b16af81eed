/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A host that links the artifact beside code of others [a.links-with-others]:
 * all 17 functions, with an echo, before, while and after the others' code
 * runs. Prints one line for each step; exits 0 when all of them held.
 *
 *   program [echo|opcode]   how a job is to end: opcode when the artifact
 *                           registers an engine of its own
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gusset.h"

int neighbour_run(void);
int thrower_run(int (*between)(int));

static GussetHandle *handle;
static int read_end;
static int by_opcode;
static int failures;

static void
step(int good, const char *what)
{
    printf("%s: %s\n", good ? "held" : "BROKEN", what);
    fflush(stdout);
    failures += !good;
}

/* Submits, waits for the record, takes, frees. */
static int
job(void)
{
    const uint8_t input[] = {0, 'e', 'c', 'h', 'o'};
    CallHeader header;
    FfiStatus status;
    struct pollfd wait = {read_end, POLLIN, 0};
    uint64_t ticket = 0, record = 0, id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    memset(&header, 0, sizeof header);
    header.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE;
    header.reserved = by_opcode ? UINT32_MAX : 0;
    if (gusset_submit(handle, &header, input, sizeof input, 0, &ticket,
                      &status) != FFI_OK)
        return 0;
    if (poll(&wait, 1, 20000) != 1 ||
        read(read_end, &record, sizeof record) != (ssize_t)sizeof record ||
        record != ticket)
        return 0;
    int32_t code = gusset_take(handle, ticket, &id, &bytes, &len, &status);
    gusset_status_free(&status);
    if (by_opcode)
        return code == FFI_ERR;
    return code == FFI_OK && len == sizeof input &&
           memcmp(bytes, input, len) == 0 &&
           gusset_buf_free(handle, id, &status) == FFI_OK;
}

/* What the others' code calls in the middle of theirs. */
static int
between(int value)
{
    step(job(), "a job while an other's frames are on the stack");
    return value + 1;
}

/* There is no panicker_run to call without a Rust compiler. */
#ifdef WITH_RUST
int panicker_run(int (*between)(int));

static void
rust_step(void)
{
    step(panicker_run(between) == 42, "the Rust panic is caught");
}
#else
static void
rust_step(void)
{
}
#endif

static void
rest_of_the_seventeen(void)
{
    uint32_t offsets[17], sizes[17];
    uint64_t id = 0, capacity = 0;
    size_t written = 0;
    uint8_t text[64], *memory = NULL;
    const uint8_t *shared = NULL, *slots = NULL;
    const GussetRing *ring = NULL;
    AbiLayout layout;
    AllocStats stats;
    FfiStatus status;
    gusset_abi_layout(&layout);
    gusset_alloc_stats(&stats);
    gusset_drain_logs(text, sizeof text, &written);
    step(layout.version == GUSSET_ABI_VERSION &&
             gusset_abi_fields(offsets, sizes, 17) == 17 &&
             stats.live_bytes <= stats.peak_bytes &&
             gusset_buf_alloc(handle, 100, &id, &memory, &status) == FFI_OK &&
             gusset_buf_free(handle, id, &status) == FFI_OK &&
             gusset_cancel(handle, 1, &status) == FFI_OK &&
             gusset_cancel_all(handle, &status) == FFI_OK &&
             gusset_handle_ring(handle, &ring, &shared, &slots, &capacity,
                                &status) == FFI_OK &&
             gusset_handle_close(handle, &status) == FFI_OK &&
             gusset_shutdown(0) == FFI_OK,
         "the other functions of the 17");
    gusset_ring_release(ring);
}

int
main(int argc, char **argv)
{
    int ends[2];
    FfiStatus status;
    by_opcode = argc > 1 && strcmp(argv[1], "opcode") == 0;
    if (pipe(ends) != 0)
        return 3;
    read_end = ends[0];
    step(gusset_init() == FFI_OK &&
             gusset_handle_open(2, ends[1], &handle, &status) == FFI_OK,
         "open");
    step(job(), "a job");
    step(neighbour_run() == 1, "the second archive's names are its own");
    step(thrower_run(between) == 42, "the C++ exception is caught");
    rust_step();
    step(job(), "a job afterwards");
    rest_of_the_seventeen();
    return failures == 0 ? 0 : 1;
}
