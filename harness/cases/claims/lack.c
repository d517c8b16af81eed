/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "lack.h"

/* Takes by api_raw, of which the harness's own book knows nothing. */
static struct raw_take {
    GussetHandle *handle;
    uint64_t ticket;
    bool out;
} raw_takes[4096];
static size_t raw_take_count;

static bool exhausting;
static size_t spare_bytes;

static uint32_t refused; /* calls and jobs that reported FFI_ERR */
static uint32_t served;

struct lack_host
lack_open(uint32_t pool)
{
    struct lack_host on = {.host = host_open(pool)};
    on.content = conform_pattern(LACK_BUFFER_BYTES, MODE_ECHO, 5);
    on.buffer = host_buffer(on.host, on.content, LACK_BUFFER_BYTES, NULL);
    return on;
}

void
lack_close(struct lack_host *on)
{
    host_buffer_free(on->host, on->buffer);
    host_close(on->host);
}

void
lack_begin(size_t spare)
{
    spare_bytes = spare;
    exhausting = true;
}

FfiStatus
lack_status(void)
{
    if (exhausting)
        squeeze_heap(spare_bytes);
    return conform_dirty_status();
}

int32_t
lack_settle(int32_t code, FfiStatus *status, const char *what)
{
    expect_squeezed(status->code == code, "%s: the code %s and its status's %s",
                    what, conform_code_name(code),
                    conform_code_name(status->code));
    expect_squeezed((status->msg == NULL) == (status->msg_len == 0),
                    "%s: a message, or none at all", what);
    expect_squeezed(code != FFI_OK || status->msg == NULL,
                    "%s: FFI_OK without a message", what);
    api_raw.status_free(status);
    if (code == FFI_OK)
        served++;
    else
        refused++;
    return code;
}

bool
lack_succeeded(int32_t code, FfiStatus *status, const char *what)
{
    lack_settle(code, status, what);
    expect_squeezed(code == FFI_OK || code == FFI_ERR,
                    "%s without memory: FFI_OK or FFI_ERR, not %s", what,
                    conform_code_name(code));
    return code == FFI_OK;
}

int32_t
lack_take(GussetHandle *handle, uint64_t ticket, const uint8_t *right,
          size_t len, const char *what)
{
    uint64_t id = 0;
    uint8_t *ptr = NULL;
    size_t got = 0;
    FfiStatus status = lack_status();
    int32_t code = lack_settle(
        api_raw.take(handle, ticket, &id, &ptr, &got, &status), &status, what);
    if (raw_take_count == sizeof raw_takes / sizeof raw_takes[0])
        conform_broken("too many takes in a round");
    raw_takes[raw_take_count++] =
        (struct raw_take){handle, ticket, code == FFI_OK};
    if (code != FFI_OK)
        return code;
    expect_squeezed(got == len, "%s: a result of %zu bytes, not of %zu", what,
                    len, got);
    expect_squeezed(right == NULL || len == 0 || memcmp(ptr, right, len) == 0,
                    "%s: the result's bytes", what);
    status = lack_status();
    lack_succeeded(
        api_raw.buf_free(handle, id & ~GUSSET_TAKE_OWNED_FLAG, &status),
        &status, "buf_free of a result");
    return code;
}

/*
 * With memory again: a result that is out does not come a second time. One
 * whose take failed may, or may be gone: the harness hears of either.
 */
static void
take_again(void)
{
    for (size_t i = 0; i < raw_take_count; i++) {
        struct raw_take *raw = &raw_takes[i];
        uint64_t id = 0;
        uint8_t *ptr = NULL;
        size_t len = 0;
        int32_t code =
            api.take(raw->handle, raw->ticket, &id, &ptr, &len, NULL);
        expect(
            raw->out ? code == FFI_ERR
                     : code == FFI_OK || code == FFI_ERR || code == FFI_PANIC,
            "the second take of a result that is %s: %s",
            raw->out ? "out" : "not known to be out", conform_code_name(code));
        if (code == FFI_OK)
            (void)api.buf_free(raw->handle, id & ~GUSSET_TAKE_OWNED_FLAG, NULL);
    }
    raw_take_count = 0;
}

void
lack_end(void)
{
    exhausting = false;
    squeeze_end();
    take_again();
}

void
lack_run(const struct lack_host *on, const struct lack_job *job)
{
    GussetHandle *handle = host_handle(on->host);
    const CallHeader header = job_header(job->flags, 0);
    const uint8_t *right = job->from_buffer ? on->content : job->input;
    size_t len = job->from_buffer ? LACK_BUFFER_BYTES : job->len;
    uint64_t ticket = 0;
    FfiStatus status = lack_status();
    if (!lack_succeeded(api_raw.submit(handle, &header, job->input, job->len,
                                       job->from_buffer ? on->buffer : 0,
                                       &ticket, &status),
                        &status, job->name))
        return;
    host_adopt(on->host, ticket);
    struct completion done = host_wait(on->host, ticket);
    if (done.inlined) {
        expect_squeezed(!job->echo || (done.len == len &&
                                       memcmp(done.bytes, right, len) == 0),
                        "%s: the inline result", job->name);
        return;
    }
    int32_t code = lack_take(handle, ticket, job->echo ? right : NULL,
                             job->echo ? len : job->result, job->name);
    expect_squeezed(code == FFI_OK || code == FFI_ERR,
                    "%s without memory ends as FFI_OK or FFI_ERR, not %s",
                    job->name, conform_code_name(code));
}

void
lack_conclude(void)
{
    conform_evidence("without memory", "%u calls served, %u refused", served,
                     refused);
    if (refused == 0)
        conform_out_of_reach("no call needed memory that could be withheld");
}
