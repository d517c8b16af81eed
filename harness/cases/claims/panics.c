/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whether exports that cannot panic never say that they did. */
#include "../jobs.h"

/* Around each power of two: where sums, casts and capacities give way. */
static uint64_t
any_number(void)
{
    uint64_t number = conform_random(UINT64_MAX);
    if (conform_random(4) == 0)
        return number;
    return (UINT64_C(1) << conform_random(64)) - 1 + conform_random(3);
}

static void
expect_no_panic(int32_t code, const char *export, uint64_t argument)
{
    expect(code != FFI_PANIC && code != FFI_POISONED,
           "%s with 0x%llx: %s, although the claims file says that no export "
           "can panic",
           export, (unsigned long long)argument, conform_code_name(code));
}

static void
call_all(struct host *host, int write_fd)
{
    GussetHandle *handle = host_handle(host);
    uint64_t n = any_number();
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t len = 0;
    GussetHandle *other = NULL;
    CallHeader header = job_header((uint32_t)n & ~3u, any_number());
    header.reserved = (uint32_t)n;
    /* Refused by a flag or a length: what is accepted would have to be read. */
    expect_no_panic(api.submit(handle, &header, NULL, 0, n | 1, &id, NULL),
                    "submit, buffer", n);
    if (n > GUSSET_MAX_INLINE_INPUT) {
        header.flags = 0;
        expect_no_panic(
            api.submit(handle, &header, (const uint8_t *)"", n, 0, &id, NULL),
            "submit, length", n);
        expect_no_panic(
            api.handle_open((uint32_t)n | 2048, write_fd, &other, NULL),
            "handle_open", n);
    }
    expect_no_panic(api.take(handle, n, &id, &ptr, &len, NULL), "take", n);
    expect_no_panic(api.cancel(handle, n, NULL), "cancel", n);
    expect_no_panic(api.buf_free(handle, n, NULL), "buf_free", n);
    if (n == 0 || n > GUSSET_MAX_BUFFER_BYTES)
        expect_no_panic(api.buf_alloc(handle, n, &id, &ptr, NULL), "buf_alloc",
                        n);
}

CONFORM_CASE(
    exports_never_panic, .id = "i2.api-panic-poisons.impossible-as-claimed",
    .clauses = "i2.api-panic-poisons i2.exports-contained",
    .why = "Whoever claims that no export can panic is excused from latching "
           "such a panic: it must not be seen.",
    .steps = "submit, take, cancel, buf_free, buf_alloc, handle_open with "
             "numbers around each power of two and random ones; then "
             "cancel_all, handle_ring twice, shutdown, init.",
    .expected = "No call returns FFI_PANIC, or FFI_POISONED after one; the "
                "handle is healthy.",
    .needs = "claim:api_panics", .mutant = "export-panics")
{
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL;
    const uint8_t *slots = NULL;
    uint64_t capacity = 0;
    if (!conform_claims("api_panics", "impossible"))
        conform_out_of_reach("the claims file does not say that no export can "
                             "panic");
    struct host *host = host_open_with(1, CONFORM_PIPE);
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    uint32_t rounds = conform_rounds(600, 20000);
    for (uint32_t round = 0; round < rounds; round++)
        call_all(host, fds[1]);
    close(fds[0]);
    close(fds[1]);
    expect_no_panic(api.cancel_all(host_handle(host), NULL), "cancel_all", 0);
    for (uint64_t turn = 0; turn < 2; turn++) {
        const GussetRing *one = NULL;
        expect_no_panic(api.handle_ring(host_handle(host), &one, &shared,
                                        &slots, &capacity, NULL),
                        "handle_ring, time", turn);
        ring = one != NULL ? one : ring;
    }
    expect_no_panic(api.shutdown(0), "shutdown", 0);
    expect_no_panic(api.init(), "init", 0);
    host_close(host);
    if (ring != NULL)
        api.ring_release(ring);
}
