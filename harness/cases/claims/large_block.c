/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One block that cannot be had [l.alloc-failure]: under every claim. */
#include "lack.h"

/* Over the slack, whatever else is free. */
#define LARGE_BYTES ((size_t)96 << 20)
#define SLACK_BYTES ((size_t)16 << 20)

static void
ask_for_large(const struct lack_host *on)
{
    static const uint8_t generate[] = {16, 0, 0, 0, 6, 7}; /* 96 MiB */
    GussetHandle *handle = host_handle(on->host);
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    FfiStatus status = lack_status();
    if (lack_succeeded(
            api_raw.buf_alloc(handle, LARGE_BYTES, &id, &ptr, &status), &status,
            "buf_alloc of 96 MiB")) {
        expect_squeezed(ptr != NULL && ptr[LARGE_BYTES - 1] == 0,
                        "buf_alloc of 96 MiB gave all of it");
        (void)api_raw.buf_free(handle, id, NULL);
    }
    const struct lack_job job = {
        "mode 16 of 96 MiB", DIAGNOSTIC, generate, 6, false, false,
        LARGE_BYTES};
    lack_run(on, &job);
}

CONFORM_CASE(
    large_block, .id = "l.alloc-failure.large-block",
    .clauses = "l.alloc-failure",
    .why = "The one size that a host chooses, a buffer's, must be refused when "
           "it cannot be had, in every language: a host asks, it does not "
           "know.",
    .steps = "The address space may grow by 16 MiB: buf_alloc and mode 16 of "
             "96 MiB, three times; between them an echo of 64 KiB.",
    .expected = "FFI_ERR under either claim; the echo arrives; with memory "
                "again so do the 96 MiB; live_bytes is back.",
    .transports = CONFORM_BOTH, .needs = "claim:oom",
    .mutant = "oom-block-unchecked")
{
    static const struct lack_job echo = {
        "an echo between", DIAGNOSTIC, NULL, 0, true, true, 0};
    AllocStats before, after;
    api.alloc_stats(&before);
    struct lack_host on = lack_open(1);
    const CallHeader header = job_header(DIAGNOSTIC, 0);
    squeeze_limit(SLACK_BYTES);
    for (int i = 0; i < 3; i++) {
        ask_for_large(&on);
        lack_run(&on, &echo);
    }
    lack_end();
    struct outcome outcome =
        job_finish(on.host, host_submit_buffer(on.host, &header, on.buffer));
    expect_success_is(&outcome, on.content, LACK_BUFFER_BYTES,
                      "an echo afterwards");
    host_buffer_free(on.host, host_buffer(on.host, NULL, LARGE_BYTES, NULL));
    lack_close(&on);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes, "live_bytes");
    lack_conclude();
}
