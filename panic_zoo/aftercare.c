/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The examination that every specimen of the zoo goes through.
 *
 * Scenes are arranged, not timed: a panic of the diagnostic engine is delayed
 * by a mode 9 in front of it, one of a C engine waits at the gate until all the
 * other work has been accepted. Where a delayed panic overtakes the arranging
 * on a loaded machine, what was refused as POISONED is counted and the rest is
 * judged; nothing is judged by the clock.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "zoo.h"

#define POOL 8u
#define DELAY_STEPS 4 /* of 10 ms, in front of siblings and panic */

static const size_t sizes[] = {0, 1, 47, 48, 49, 4096, 4097, 65536};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
#define QUEUED 4u

static atomic_bool gate_closed;

void
zoo_gate_close(void)
{
    atomic_store(&gate_closed, true);
}

void
zoo_gate_open(void)
{
    atomic_store(&gate_closed, false);
}

void
zoo_gate_wait(void)
{
    const struct timespec pause = {.tv_nsec = 200000};
    uint64_t end = conform_now_ns() + UINT64_C(10000000000);
    while (atomic_load(&gate_closed) && conform_now_ns() < end)
        nanosleep(&pause, NULL);
}

CallHeader
zoo_header(uint32_t flags, uint32_t opcode)
{
    CallHeader header;
    memset(&header, 0, sizeof header);
    header.flags = flags;
    header.reserved = opcode;
    return header;
}

void
zoo_expect_no_place(const struct outcome *outcome, const char *what)
{
    expect(!outcome->has_file, "%s: only a panic carries a file", what);
    expect_u64(0, outcome->file_len, "%s: file_len without a panic", what);
    expect_u64(0, outcome->line, "%s: line without a panic", what);
}

static void
expect_refused_as_poisoned(const struct outcome *refusal, const char *call,
                           const char *what)
{
    expect_code(FFI_POISONED, refusal->code, "%s: %s on a poisoned handle",
                what, call);
    expect_text(TEXT_CONTAINS, "handle is poisoned", refusal->msg,
                refusal->msg_len, "%s: text of the refused %s", what, call);
    zoo_expect_no_place(refusal, what);
}

void
zoo_expect_poisoned(struct host *host, const char *what)
{
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    struct outcome refusal = host_try_submit(host, &header, "\0", 1, 0);
    expect_refused_as_poisoned(&refusal, "submit", what);

    uint64_t id = 0;
    uint8_t *bytes = NULL;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.buf_alloc(host_handle(host), 64, &id, &bytes, &status);
    refusal = conform_settle(code, &status);
    expect_refused_as_poisoned(&refusal, "buf_alloc", what);
}

void
zoo_expect_healthy(struct host *host, const char *what)
{
    const uint8_t *input = conform_pattern(60, 0, 7);
    struct outcome echo = host_call(host, DIAGNOSTIC, input, 60);
    expect_code(FFI_OK, echo.code, "%s: an echo on a healthy handle", what);
    expect_bytes(input, 60, echo.bytes, echo.len, "%s: the echo", what);
    uint64_t id = host_buffer(host, NULL, 64, NULL);
    expect(id != 0, "%s: a buffer of a healthy handle", what);
    host_buffer_free(host, id);
}

void
zoo_poison(struct host *host)
{
    struct outcome panic = host_call(host, DIAGNOSTIC, "\1", 1);
    expect_code(FFI_PANIC, panic.code, "mode 1, meant to poison the handle");
}

struct outcome
zoo_submit_unless_poisoned(struct host *host, const void *input, size_t len)
{
    CallHeader header = zoo_header(DIAGNOSTIC, 0);
    uint64_t end = conform_now_ns() + conform_patience_ns();
    struct outcome o = host_try_submit(host, &header, input, len, 0);
    while (o.code == FFI_ERR && conform_now_ns() < end)
        o = host_try_submit(host, &header, input, len, 0);
    expect(o.code == FFI_OK || o.code == FFI_POISONED,
           "a submit behind a running panic: %s", conform_code_name(o.code));
    return o;
}

void
zoo_expect_capped(const char *lead, const char *text, size_t text_len,
                  const struct outcome *outcome)
{
    const size_t marker = strlen(ZOO_TEXT_MARKER);
    const size_t before = strlen(lead);
    expect_u64_at_most(ZOO_TEXT_TOTAL, outcome->msg_len,
                       "bytes of a capped text in all");
    expect_u64_at_least(before + ZOO_TEXT_CUT_AT_LEAST + marker,
                        outcome->msg_len, "bytes that survive the cap");
    size_t kept = outcome->msg_len - before - marker;
    expect_u64_at_most(text_len < ZOO_TEXT_CAP ? text_len : ZOO_TEXT_CAP, kept,
                       "bytes of the text before the marker");
    expect_bytes(lead, before, outcome->msg, before, "what a text begins with");
    expect_bytes(text, kept, outcome->msg + before, kept,
                 "the text up to the cap");
    expect_bytes(ZOO_TEXT_MARKER, marker, outcome->msg + before + kept, marker,
                 "the marker at the end");
}

void
zoo_expect_panic(const struct specimen *specimen, const struct outcome *outcome)
{
    static const char lead[] = "PANIC: ";
    const size_t lead_len = sizeof lead - 1;
    const char *name = specimen->name;
    const size_t whole = lead_len + specimen->text_len;

    expect_code(FFI_PANIC, outcome->code, "%s: the panicking job itself", name);
    expect(outcome->bytes == NULL && outcome->len == 0,
           "%s: a panic has no result", name);
    if (specimen->text_len > ZOO_TEXT_CAP) {
        zoo_expect_capped(lead, specimen->text, specimen->text_len, outcome);
    } else {
        expect_u64_at_least(whole, outcome->msg_len, "%s: bytes of the message",
                            name);
        expect_bytes(lead, lead_len, outcome->msg, lead_len,
                     "%s: what the message begins with", name);
        expect_bytes(specimen->text, specimen->text_len,
                     outcome->msg + lead_len, specimen->text_len,
                     "%s: the panic's own text", name);
        expect_u64_at_most(specimen->exact ? whole : ZOO_TEXT_TOTAL,
                           outcome->msg_len, "%s: bytes of the message", name);
    }
    if (specimen->placeless) {
        zoo_expect_no_place(outcome, name);
        return;
    }
    expect(outcome->has_file, "%s: a panic carries its file", name);
    expect_u64_at_least(1, outcome->file_len, "%s: length of the file", name);
    expect_u64_at_least(1, outcome->line, "%s: line of the panic", name);
}

/* Mode 4 may end as an error; then nothing is poisoned. */
static bool
judge(const struct specimen *specimen, const struct outcome *outcome)
{
    if (specimen->may_err && outcome->code == FFI_ERR) {
        zoo_expect_no_place(outcome, specimen->name);
        return false;
    }
    zoo_expect_panic(specimen, outcome);
    return true;
}

static void
expect_latch(struct host *host, bool poisoned, const char *what)
{
    if (poisoned)
        zoo_expect_poisoned(host, what);
    else
        zoo_expect_healthy(host, what);
}

static uint32_t
flags_of(const struct specimen *specimen)
{
    return specimen->opcode == 0 ? DIAGNOSTIC : 0;
}

struct outcome
zoo_alone(const struct specimen *specimen)
{
    struct host *host = host_open(1);
    CallHeader header =
        zoo_header(flags_of(specimen) | INLINE, specimen->opcode);
    uint64_t ticket =
        host_submit_header(host, &header, specimen->input, specimen->len);
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "%s: only a success is delivered inline",
           specimen->name);
    struct outcome outcome = host_take(host, ticket);
    bool poisoned = judge(specimen, &outcome);
    expect_latch(host, poisoned, specimen->name);

    struct outcome again = host_take(host, ticket);
    expect_code(FFI_ERR, again.code, "%s: a second take", specimen->name);
    expect_text(TEXT_CONTAINS, "not found or already taken", again.msg,
                again.msg_len, "%s: a second take", specimen->name);
    expect_latch(host, poisoned, specimen->name);
    host_close(host);
    return outcome;
}

/* ---- The same panic amid a busy pool ------------------------------------ */

struct ward {
    const struct specimen *specimen;
    struct host *host;
    struct completion finished[SIZES];
    uint64_t siblings[SIZES]; /* none of size 0: a mode 9 always answers */
    uint64_t queued[SIZES];
    uint64_t sibling_buffers[SIZES];
    uint64_t spare_buffer;
    uint64_t panic;
};

static uint64_t
seed_of(size_t index, uint64_t group)
{
    return group * 100 + index;
}

/* Results that are there before the panic and taken after it. */
static void
finish_some(struct ward *ward)
{
    for (size_t i = 0; i < SIZES; i++) {
        const uint8_t *bytes = conform_pattern(sizes[i], 0, seed_of(i, 1));
        CallHeader header = zoo_header(DIAGNOSTIC, 0);
        uint64_t ticket;
        if (sizes[i] <= GUSSET_MAX_INLINE_INPUT) {
            ticket = host_submit_header(ward->host, &header, bytes, sizes[i]);
        } else {
            uint64_t id = host_buffer(ward->host, bytes, sizes[i], NULL);
            ticket = host_submit_buffer(ward->host, &header, id);
            host_buffer_free(ward->host, id);
        }
        ward->finished[i] = host_wait(ward->host, ticket);
    }
}

/* One sleeping echo for each size, on POOL - 1 of the workers. */
static void
start_siblings(struct ward *ward)
{
    for (size_t i = 1; i < SIZES; i++) {
        CallHeader header = zoo_header(DIAGNOSTIC | (i % 2 ? INLINE : 0), 0);
        uint8_t *input = conform_pattern(sizes[i] + 2, 9, 0);
        input[1] = DELAY_STEPS;
        memcpy(input + 2, conform_pattern(sizes[i], 0, seed_of(i, 2)),
               sizes[i]);
        if (sizes[i] + 2 <= GUSSET_MAX_INLINE_INPUT) {
            ward->siblings[i] =
                host_submit_header(ward->host, &header, input, sizes[i] + 2);
            continue;
        }
        ward->sibling_buffers[i] =
            host_buffer(ward->host, input, sizes[i] + 2, NULL);
        ward->siblings[i] =
            host_submit_buffer(ward->host, &header, ward->sibling_buffers[i]);
    }
}

/* The panic, delayed until the gate opens or its mode 9 is over. */
static uint64_t
submit_held(struct host *host, const struct specimen *specimen)
{
    CallHeader header =
        zoo_header(flags_of(specimen) | INLINE, specimen->opcode);
    if (specimen->opcode != 0) {
        zoo_gate_close();
        return host_submit_header(host, &header, specimen->input,
                                  specimen->len);
    }
    uint8_t *input = conform_pattern(specimen->len + 2, 9, 0);
    input[1] = DELAY_STEPS;
    memcpy(input + 2, specimen->input, specimen->len);
    return host_submit_header(host, &header, input, specimen->len + 2);
}

/* Units that wait in the queue when the panic happens. */
static void
queue_some(struct ward *ward)
{
    uint32_t refused = 0;
    for (size_t i = 0; i < SIZES && sizes[i] <= GUSSET_MAX_INLINE_INPUT; i++) {
        CallHeader header = zoo_header(DIAGNOSTIC | (i % 2 ? 0 : INLINE), 0);
        const uint8_t *bytes = conform_pattern(sizes[i], 0, seed_of(i, 3));
        struct outcome o =
            host_try_submit(ward->host, &header, bytes, sizes[i], 0);
        if (o.code == FFI_OK)
            ward->queued[i] = o.ticket;
        else
            refused++;
        expect(o.code == FFI_OK || o.code == FFI_POISONED,
               "a unit submitted beside the panic: %s",
               conform_code_name(o.code));
    }
    if (refused != 0)
        conform_evidence("overtaken", "%u units came after the panic", refused);
}

static void
expect_delivered(struct ward *ward, uint64_t ticket, size_t index,
                 uint64_t group, const char *what)
{
    if (ticket == 0)
        return;
    struct completion done = host_wait(ward->host, ticket);
    struct outcome o = host_outcome(ward->host, &done);
    expect_code(FFI_OK, o.code, "%s: %s of %zu bytes", ward->specimen->name,
                what, sizes[index]);
    expect_bytes(conform_pattern(sizes[index], 0, seed_of(index, group)),
                 sizes[index], o.bytes, o.len, "%s: %s of %zu bytes",
                 ward->specimen->name, what, sizes[index]);
    zoo_expect_no_place(&o, what);
}

static void
collect(struct ward *ward)
{
    for (size_t i = 0; i < SIZES; i++) {
        struct outcome o = host_outcome(ward->host, &ward->finished[i]);
        expect_code(FFI_OK, o.code, "%s: finished result of %zu bytes",
                    ward->specimen->name, sizes[i]);
        expect_bytes(conform_pattern(sizes[i], 0, seed_of(i, 1)), sizes[i],
                     o.bytes, o.len, "%s: finished result of %zu bytes",
                     ward->specimen->name, sizes[i]);
        expect_delivered(ward, ward->siblings[i], i, 2, "running sibling");
        expect_delivered(ward, ward->queued[i], i, 3, "queued unit");
        if (ward->sibling_buffers[i] != 0)
            host_buffer_free(ward->host, ward->sibling_buffers[i]);
    }
}

static struct outcome
attach(struct host *host)
{
    const GussetRing *ring = NULL;
    const uint8_t *shared = NULL;
    const uint8_t *slots = NULL;
    uint64_t capacity = 0;
    FfiStatus status = conform_dirty_status();
    int32_t code = api.handle_ring(host_handle(host), &ring, &shared, &slots,
                                   &capacity, &status);
    return conform_settle(code, &status);
}

/* The calls that poison must not touch, while siblings still run. */
static void
use_the_rest(struct ward *ward)
{
    GussetHandle *handle = host_handle(ward->host);
    FfiStatus status = conform_dirty_status();
    int32_t code = api.cancel(handle, ward->panic, &status);
    expect_code(FFI_OK, conform_settle(code, &status).code,
                "cancel after the panic");
    status = conform_dirty_status();
    code = api.buf_free(handle, ward->spare_buffer, &status);
    expect_code(FFI_OK, conform_settle(code, &status).code,
                "buf_free after the panic");
    if (conform_transport() != CONFORM_RING)
        host_attach_ring(ward->host);
    expect_code(FFI_ERR, attach(ward->host).code,
                "a second handle_ring after the panic");
}

static bool
pool_is_whole(void *argument)
{
    int32_t ids[64];
    (void)argument;
    return conform_library_threads(ids, 64) == POOL;
}

void
zoo_aftercare(const struct specimen *specimen)
{
    struct ward ward = {.specimen = specimen};
    AllocStats before;
    api.alloc_stats(&before);
    ward.host = host_open(POOL);
    expect(conform_eventually(pool_is_whole, NULL),
           "%u workers before the panic", POOL);
    finish_some(&ward);
    ward.spare_buffer = host_buffer(ward.host, NULL, 4096, NULL);
    start_siblings(&ward);
    ward.panic = submit_held(ward.host, specimen);
    queue_some(&ward);
    zoo_gate_open();

    struct completion done = host_wait(ward.host, ward.panic);
    expect(!done.inlined, "%s: only a success is delivered inline",
           specimen->name);
    bool poisoned = true;
    if (!specimen->may_err)
        zoo_expect_poisoned(ward.host, "before the panic was taken");
    struct outcome outcome = host_take(ward.host, ward.panic);
    poisoned = judge(specimen, &outcome);
    use_the_rest(&ward);
    collect(&ward);
    expect(conform_eventually(pool_is_whole, NULL),
           "%s: %u workers after the panic", specimen->name, POOL);

    FfiStatus status = conform_dirty_status();
    int32_t code = api.cancel_all(host_handle(ward.host), &status);
    expect_code(FFI_OK, conform_settle(code, &status).code,
                "cancel_all after the panic");
    expect_latch(ward.host, poisoned, "after all work was delivered");
    host_close(ward.host);
    AllocStats after;
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "%s: live_bytes after close", specimen->name);
    conform_fresh_handle_works();
}

/*
 * The other worker of two is held by a job that only ends when it is
 * cancelled: what was queued can only be served by the worker that panicked.
 */
void
zoo_worker_serves_on(const struct specimen *specimen)
{
    static const uint8_t hold[] = {5, 255};
    struct host *host = host_open(2);
    CallHeader plain = zoo_header(DIAGNOSTIC, 0);
    uint64_t holder = host_submit(host, DIAGNOSTIC, hold, sizeof hold);
    uint64_t panic = submit_held(host, specimen);
    uint64_t queued[QUEUED] = {0};
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < QUEUED; i++) {
        uint8_t input[2] = {0, (uint8_t)i};
        struct outcome o =
            host_try_submit(host, &plain, input, sizeof input, 0);
        if (o.code == FFI_OK)
            queued[accepted++] = o.ticket;
    }
    zoo_gate_open();
    host_wait(host, panic);
    struct outcome outcome = host_take(host, panic);
    judge(specimen, &outcome);
    for (uint32_t i = 0; i < accepted; i++) {
        struct completion done = host_wait(host, queued[i]);
        struct outcome o = host_outcome(host, &done);
        expect_code(FFI_OK, o.code, "%s: unit %u queued behind the panic",
                    specimen->name, i);
    }
    FfiStatus status = conform_dirty_status();
    int32_t code = api.cancel(host_handle(host), holder, &status);
    expect_code(FFI_OK, conform_settle(code, &status).code, "cancel");
    host_wait(host, holder);
    outcome = host_take(host, holder);
    expect_text(TEXT_IS, "cancelled: Explicit", outcome.msg, outcome.msg_len,
                "%s: the units behind the panic were served while the other "
                "worker was held",
                specimen->name);
    host_close(host);
}

void
zoo_examine(const struct specimen *specimen)
{
    zoo_alone(specimen);
    zoo_aftercare(specimen);
    zoo_worker_serves_on(specimen);
}
