/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "internal.h"
#include "utf8.h"

/* Far above every bound of the contract: a length that is plainly junk. */
#define MESSAGE_SANITY ((uint64_t)16 << 20)

/* Small non-NULL values: freeing or reading any of them ends the process. */
static uint8_t *
junk(uintptr_t value)
{
    return (uint8_t *)value; /* NOLINT: on purpose no object's address */
}

FfiStatus
conform_dirty_status(void)
{
    FfiStatus status;
    memset(&status, 0x5a, sizeof status);
    status.code = 0x5a5a5a5a;
    status.msg = junk(0x51);
    status.msg_len = 0x5252;
    status.file = junk(0x53);
    status.file_len = 0x5454;
    status.line = 0x5555;
    return status;
}

static void
check_clear(const FfiStatus *status)
{
    expect_ptr(NULL, status->msg, "msg after FFI_OK [i1.status-reset]");
    expect_u64(0, status->msg_len, "msg_len after FFI_OK [i1.status-reset]");
    expect_ptr(NULL, status->file, "file after FFI_OK [i1.status-reset]");
    expect_u64(0, status->file_len, "file_len after FFI_OK [i1.status-reset]");
    expect_u64(0, status->line, "line after FFI_OK [i1.status-reset]");
}

static void
copy_message(struct outcome *outcome, const FfiStatus *status)
{
    const char *name = conform_code_name(status->code);
    expect(status->msg != NULL, "a failure (%s) leaves a message", name);
    expect_u64_at_least(1, status->msg_len,
                        "a failure (%s) leaves a message that is not empty",
                        name);
    expect_u64_at_most(MESSAGE_SANITY, status->msg_len,
                       "the length of a message (%s)", name);
    outcome->msg = conform_copy(status->msg, status->msg_len);
    outcome->msg_len = status->msg_len;
    size_t bad = utf8_first_invalid(status->msg, status->msg_len);
    expect_u64(status->msg_len, bad,
               "the message is UTF-8 up to its last byte [i2.text-utf8]: %.64s",
               outcome->msg);
}

static void
copy_place(struct outcome *outcome, const FfiStatus *status)
{
    if (status->code != FFI_PANIC) {
        expect_ptr(NULL, status->file,
                   "no file unless a panic [i2.location-only-on-panic]");
        expect_u64(0, status->file_len,
                   "no file unless a panic [i2.location-only-on-panic]");
        expect_u64(0, status->line,
                   "no line unless a panic [i2.location-only-on-panic]");
    }
    outcome->line = status->line;
    outcome->has_file = status->file != NULL;
    if (outcome->has_file) {
        expect_u64_at_most(MESSAGE_SANITY, status->file_len,
                           "the length of a file name");
        outcome->file = conform_copy(status->file, status->file_len);
        outcome->file_len = status->file_len;
    }
}

/* [i1.status-owned]: only msg changes. */
static void
give_back(FfiStatus *status)
{
    const FfiStatus before = *status;
    api.status_free(status);
    expect_ptr(NULL, status->msg, "msg after status_free [i1.status-owned]");
    expect_u64(0, status->msg_len,
               "msg_len after status_free [i1.status-owned]");
    expect_i64(before.code, status->code,
               "code after status_free [i1.status-owned]");
    expect_ptr(before.file, status->file,
               "file after status_free [i1.status-owned]");
    expect_u64(before.file_len, status->file_len,
               "file_len after status_free [i1.status-owned]");
    expect_u64(before.line, status->line,
               "line after status_free [i1.status-owned]");
}

static bool
is_clear(const FfiStatus *status)
{
    return status->code == FFI_OK && status->msg == NULL &&
           status->msg_len == 0 && status->file == NULL &&
           status->file_len == 0 && status->line == 0;
}

static bool
has_place(const FfiStatus *status)
{
    return status->file != NULL || status->file_len != 0 || status->line != 0;
}

void
conform_status_judge(int32_t code, const FfiStatus *status)
{
    struct outcome outcome;
    if (status == NULL) {
        return;
    }
    bool right = code == FFI_OK
                     ? is_clear(status)
                     : status->code == code && status->msg != NULL &&
                           status->msg_len > 0 &&
                           (code == FFI_PANIC || !has_place(status)) &&
                           utf8_first_invalid(status->msg, status->msg_len) ==
                               status->msg_len;
    if (right) {
        return;
    }
    expect_code(code, status->code,
                "returned code and status->code [i1.code-equals-return]");
    if (code == FFI_OK) {
        check_clear(status);
        return;
    }
    memset(&outcome, 0, sizeof outcome);
    copy_message(&outcome, status);
    copy_place(&outcome, status);
}

struct outcome
conform_settle(int32_t code, FfiStatus *status)
{
    struct outcome outcome = {.code = code};
    expect(code >= FFI_OK && code <= FFI_BAD_ARG,
           "the code %" PRId32 " is one of the five", code);
    if (status == NULL) {
        return outcome;
    }
    expect_code(code, status->code,
                "returned code and status->code [i1.code-equals-return]");
    if (code == FFI_OK) {
        check_clear(status);
        return outcome;
    }
    copy_message(&outcome, status);
    copy_place(&outcome, status);
    give_back(status);
    return outcome;
}
