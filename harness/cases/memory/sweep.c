/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The clauses that speak of every failing call, judged over the list of them.
 */
#include <string.h>

#include "failing.h"

#define JUNK 0xa5

typedef void (*sweep_visit)(struct rig *rig, const struct failing *failing);

static void
sweep(sweep_visit visit)
{
    struct rig rig;
    rig_open(&rig);
    for (size_t i = 0; i < failing_count; i++)
        visit(&rig, &failing_calls[i]);
    rig_close(&rig);
}

/* One call with everything around it; outs are junk beforehand. */
static int32_t
make(struct rig *rig, const struct failing *failing, struct outs *outs,
     FfiStatus *status)
{
    memset(outs, JUNK, sizeof *outs);
    uint64_t ticket = failing->prepare ? failing->prepare(rig) : 0;
    int32_t code = failing->call(rig, outs, ticket, status);
    if (failing->undo)
        failing->undo(rig);
    return code;
}

static void
expect_right_code(const struct failing *failing, int32_t code)
{
    expect(code >= 0 && code < 32 && (failing->codes >> code & 1) != 0,
           "%s: the codes with these bits are right: %#x; this is %s",
           failing->what, failing->codes, conform_code_name(code));
}

static void
visit_code(struct rig *rig, const struct failing *failing)
{
    struct outs outs;
    FfiStatus status = conform_dirty_status();
    int32_t code = make(rig, failing, &outs, &status);
    expect_right_code(failing, code);
    expect_code(code, status.code, "%s: status->code beside the returned one",
                failing->what);
    struct outcome o = conform_settle(code, &status);
    expect_u64_at_least(1, o.msg_len, "%s: bytes of the message",
                        failing->what);
}

CONFORM_CASE(
    code_equals_return, .id = "i1.code-equals-return.every-failure",
    .clauses = "i1.code-equals-return i1.status-reset",
    .why = "A host that looks at the status sees another failure than one "
           "that looks at the returned code.",
    .steps = "Some 50 calls that fail, one for each way of failing, with a "
             "status full of junk.",
    .expected = "The declared code; the same in status->code; a message.",
    .mutant = "status-not-reset code-not-stored")
{
    sweep(visit_code);
}

static void
visit_null_status(struct rig *rig, const struct failing *failing)
{
    struct outs outs;
    FfiStatus status = conform_dirty_status();
    int32_t with = make(rig, failing, &outs, &status);
    conform_settle(with, &status);
    int32_t without = make(rig, failing, &outs, NULL);
    expect_right_code(failing, with);
    expect_code(with, without, "%s: with a NULL status", failing->what);
}

CONFORM_CASE(
    null_status, .id = "i1.null-status-same-code.every-failure",
    .clauses = "i1.null-status-same-code",
    .why = "Without a status every failure collapses into one code, or into "
           "a crash.",
    .steps = "Each of the failing calls twice: with a status, and with NULL.",
    .expected = "The same code.", .mutant = "null-status-bad-arg")
{
    sweep(visit_null_status);
}

static void
visit_outs(struct rig *rig, const struct failing *failing)
{
    struct outs outs;
    struct outs junk;
    memset(&junk, JUNK, sizeof junk);
    FfiStatus status = conform_dirty_status();
    int32_t code = make(rig, failing, &outs, &status);
    conform_settle(code, &status);
    expect_right_code(failing, code);
    expect_bytes(&junk, sizeof junk, &outs, sizeof outs,
                 "%s: the out-parameters of a call that failed (handle, ring, "
                 "shared, slots, capacity, ticket, id, ptr, len)",
                 failing->what);
    make(rig, failing, &outs, NULL);
    expect_bytes(&junk, sizeof junk, &outs, sizeof outs,
                 "%s: the out-parameters, without a status", failing->what);
}

CONFORM_CASE(
    out_only_on_ok, .id = "i1.out-only-on-ok.every-failure",
    .clauses = "i1.out-only-on-ok",
    .why = "A failing call that writes an out-parameter makes the host free "
           "or follow something it never got.",
    .steps = "Each of the failing calls with out-parameters full of junk, "
             "with and without a status.",
    .expected = "Not one byte of them has changed.",
    .mutant = "out-written-on-error")
{
    sweep(visit_outs);
}

static void
visit_place(struct rig *rig, const struct failing *failing)
{
    struct outs outs;
    FfiStatus status = conform_dirty_status();
    int32_t code = make(rig, failing, &outs, &status);
    struct outcome o = conform_settle(code, &status);
    expect_right_code(failing, code);
    if (failing->panic) {
        expect(o.has_file && o.line > 0, "%s: a panic has a place",
               failing->what);
        return;
    }
    expect(!o.has_file, "%s: file of what is no panic", failing->what);
    expect_u64(0, o.file_len, "%s: file_len", failing->what);
    expect_u64(0, o.line, "%s: line", failing->what);
}

CONFORM_CASE(
    no_place, .id = "i2.location-only-on-panic.every-failure",
    .clauses = "i2.location-only-on-panic i2.location",
    .why = "A place that is left over from an earlier panic sends the reader "
           "of an error to the wrong file.",
    .steps = "Each of the failing calls, a panic among them, on handles that "
             "have panicked before and on ones that have not.",
    .expected = "A place for the panic; file NULL, file_len 0, line 0 for "
                "all the others.",
    .mutant = "location-on-every-failure")
{
    sweep(visit_place);
}

CONFORM_CASE(
    no_place_behind_panic, .id = "i2.location-only-on-panic.behind-a-panic",
    .clauses = "i2.location-only-on-panic i2.pool-survives",
    .why = "A worker that keeps the place of its last panic gives it to the "
           "next job that fails.",
    .steps = "Pool 1: a panic that sleeps first, behind it in the queue an "
             "unknown opcode, an engine error and a cancelled unit.",
    .expected = "The panic has a place; the three have none.",
    .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "place-from-the-last-panic")
{
    static const uint8_t delayed[] = {9, 4, 1};
    uint32_t judged = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct host *host = host_open(1);
        uint64_t panic = host_submit(host, DIAGNOSTIC, delayed, sizeof delayed);
        CallHeader header = {.flags = DIAGNOSTIC,
                             .reserved = i == 0 ? 99u : 0u};
        const uint8_t input[] = {i == 1 ? 16 : 5, 1};
        struct outcome behind =
            host_try_submit(host, &header, input, i == 1 ? 1 : 2, 0);
        if (i == 2 && behind.code == FFI_OK)
            api.cancel(host_handle(host), behind.ticket, NULL);
        host_wait(host, panic);
        struct outcome o = host_take(host, panic);
        expect_code(FFI_PANIC, o.code, "the panic in front");
        expect(o.has_file && o.line > 0, "the panic has a place");
        if (behind.code == FFI_OK) {
            judged++;
            host_wait(host, behind.ticket);
            o = host_take(host, behind.ticket);
            expect_code(FFI_ERR, o.code, "failure %u behind the panic", i);
            expect(!o.has_file && o.file_len == 0 && o.line == 0,
                   "failure %u behind the panic has no place", i);
        }
        host_close(host);
    }
    if (judged == 0)
        conform_broken("every panic overtook the submit behind it");
}
