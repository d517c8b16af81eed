/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The k-th allocation, mapping, thread or system call fails, for every k,
 * once or from then on, in a life that goes through every export. Whatever
 * fails, each call gives one of its allowed codes, each accepted job completes
 * once, nothing is left afterwards, and the next life is whole.
 *
 * Check's macros allocate too: while a fault is armed, what went wrong is only
 * noted, and asserted after the life is over.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "t.h"

#define POOL 2
#define BUFFERS 70 /* more than the buffer table begins with */
#define UNTAKEN 40 /* more than the slot table begins with */
#define LARGE 20000

/* One life; the first thing that went wrong in it. */
struct life {
    struct t_pipe pipe;
    GussetHandle *handle;
    unsigned refused; /* calls and jobs that reported the fault */
    bool whole;       /* nothing may be refused */
    const char *problem;
    long detail;
};

static bool
note(struct life *life, bool good, const char *problem, long detail)
{
    if (!good && life->problem == NULL) {
        life->problem = problem;
        life->detail = detail;
    }
    return good;
}

/* FFI_OK, or FFI_ERR that counts as refused. True: FFI_OK. */
static bool
allowed(struct life *life, const char *call, int32_t code, FfiStatus *status)
{
    note(life, code == FFI_OK || (code == FFI_ERR && !life->whole), call, code);
    note(life, status->code == code, "status and code differ", code);
    note(life, (status->msg == NULL) == (status->msg_len == 0),
         "a message without its length", code);
    life->refused += code != FFI_OK;
    gusset_status_free(status);
    return code == FFI_OK;
}

static bool
read_word(struct life *life, uint64_t *word)
{
    struct pollfd waiting = {.fd = life->pipe.read_end, .events = POLLIN};

    *word = 0;
    return note(life, poll(&waiting, 1, 30000) == 1, "no completion", 0) &&
           note(life,
                read(life->pipe.read_end, word, sizeof *word) ==
                    (ssize_t)sizeof *word,
                "a torn completion", 0);
}

/* Reads the completion of ticket; true: it was inline. */
static bool
completed(struct life *life, uint64_t ticket)
{
    uint64_t word;
    uint64_t len;
    uint64_t i;

    if (!read_word(life, &word))
        return false;
    note(life, (word & ~GUSSET_INLINE_RECORD_FLAG) == ticket,
         "a completion of another ticket", (long)word);
    if ((word & GUSSET_INLINE_RECORD_FLAG) == 0)
        return false;
    read_word(life, &len);
    note(life, len <= GUSSET_INLINE_RESULT_MAX, "inline length", (long)len);
    for (i = 0; i < (len + 7) / 8 && life->problem == NULL; i++)
        read_word(life, &word);
    return true;
}

static bool
submit(struct life *life, const uint8_t *input, size_t len, uint64_t buffer,
       uint32_t more_flags, uint64_t *ticket)
{
    CallHeader header = {.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE | more_flags};
    FfiStatus status;

    return allowed(life, "submit",
                   gusset_submit(life->handle, &header, input, len, buffer,
                                 ticket, &status),
                   &status);
}

/* Takes a completed job whose result must be these bytes, and frees it. */
static void
take(struct life *life, uint64_t ticket, const uint8_t *expected, size_t len)
{
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t actual = 0;
    FfiStatus status;

    if (!allowed(
            life, "take",
            gusset_take(life->handle, ticket, &id, &bytes, &actual, &status),
            &status))
        return;
    note(life, actual == len, "length of a result", (long)actual);
    if (life->problem == NULL && expected != NULL)
        note(life, memcmp(bytes, expected, len) == 0, "bytes of a result", 0);
    allowed(
        life, "buf_free",
        gusset_buf_free(life->handle, id & ~GUSSET_TAKE_OWNED_FLAG, &status),
        &status);
}

/* Submit, read, take: input is echoed. */
static void
echo(struct life *life, const uint8_t *input, size_t len, uint32_t more_flags)
{
    uint64_t ticket;

    if (submit(life, input, len, 0, more_flags, &ticket) &&
        !completed(life, ticket))
        take(life, ticket, input, len);
}

static void
use_buffers(struct life *life)
{
    uint64_t ids[BUFFERS];
    uint8_t *bytes;
    uint64_t ticket;
    FfiStatus status;
    unsigned count = 0;
    unsigned i;

    for (i = 0; i < BUFFERS; i++)
        if (allowed(life, "buf_alloc",
                    gusset_buf_alloc(life->handle, LARGE, &ids[count], &bytes,
                                     &status),
                    &status))
            count++;
    if (count > 0 && submit(life, NULL, 0, ids[0], 0, &ticket)) {
        completed(life, ticket);
        /* A fresh buffer begins with 0: mode 0 echoes all of it. */
        take(life, ticket, NULL, LARGE);
    }
    /* The rest is the handle's to free. */
    for (i = 0; i < count / 2; i++)
        allowed(life, "buf_free",
                gusset_buf_free(life->handle, ids[i], &status), &status);
}

static void
use_jobs(struct life *life)
{
    static const uint8_t generate[6] = {16, 0x20, 0x4E, 0, 0, 0};
    static const uint8_t small[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    static uint8_t large[GUSSET_MAX_INLINE_INPUT];
    uint64_t tickets[UNTAKEN];
    uint64_t ticket;
    unsigned i;

    memset(large, 0x42, sizeof large);
    echo(life, small, sizeof small, 0);
    echo(life, small, sizeof small, GUSSET_FLAG_INLINE_COMPLETION);
    echo(life, large, sizeof large, 0);
    echo(life, large, 49, GUSSET_FLAG_INLINE_COMPLETION);
    if (submit(life, generate, sizeof generate, 0, 0, &ticket)) {
        completed(life, ticket);
        take(life, ticket, NULL, LARGE);
    }
    for (i = 0; i < UNTAKEN; i++)
        if (submit(life, small, sizeof small, 0, 0, &tickets[i]))
            completed(life, tickets[i]);
}

/* Calls that are refused in any case: the same code without memory. */
static void
use_refusals(struct life *life)
{
    CallHeader header = {.flags = 1u << 31};
    uint64_t ticket = 7;
    uint64_t id;
    uint8_t *bytes;
    size_t len;
    FfiStatus status;
    int32_t code;

    code = gusset_submit(life->handle, &header, NULL, 0, 0, &ticket, &status);
    note(life, code == FFI_ERR || code == FFI_BAD_ARG, "unknown flag", code);
    gusset_status_free(&status);
    code = gusset_take(life->handle, UINT64_MAX, &id, &bytes, &len, &status);
    note(life, code == FFI_ERR, "take of an unknown ticket", code);
    gusset_status_free(&status);
    code = gusset_buf_alloc(life->handle, 0, &id, &bytes, &status);
    note(life, code == FFI_ERR, "buffer of length 0", code);
    gusset_status_free(&status);
    code = gusset_cancel(life->handle, 1, &status);
    note(life, code == FFI_OK, "cancel", code);
    code = gusset_cancel_all(life->handle, &status);
    note(life, code == FFI_OK, "cancel_all", code);
    note(life, ticket == 7, "a refused submit wrote its ticket", 0);
}

/* A panic is a panic, with or without memory for its text. */
static void
use_panic(struct life *life, uint8_t mode)
{
    CallHeader header = {.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE};
    uint64_t ticket;
    uint64_t id;
    uint8_t *bytes;
    size_t len;
    FfiStatus status;
    int32_t code;

    if (!submit(life, &mode, 1, 0, 0, &ticket))
        return;
    completed(life, ticket);
    code = gusset_take(life->handle, ticket, &id, &bytes, &len, &status);
    note(life, code == FFI_PANIC || (code == FFI_ERR && !life->whole),
         "take of a panic", code);
    gusset_status_free(&status);
    if (code != FFI_PANIC)
        return;
    code = gusset_submit(life->handle, &header, NULL, 0, 0, &ticket, &status);
    note(life, code == FFI_POISONED, "submit after a panic", code);
    gusset_status_free(&status);
}

static void
use_ring(struct life *life)
{
    const GussetRing *ring;
    const uint8_t *shared;
    const uint8_t *slots;
    uint64_t capacity;
    FfiStatus status;

    if (allowed(life, "handle_ring",
                gusset_handle_ring(life->handle, &ring, &shared, &slots,
                                   &capacity, &status),
                &status))
        gusset_ring_release(ring);
}

static void
live(struct life *life, uint8_t panic_mode)
{
    FfiStatus status;
    uint8_t log[64];
    size_t len;

    if (!allowed(life, "handle_open",
                 gusset_handle_open(POOL, life->pipe.write_end, &life->handle,
                                    &status),
                 &status))
        return;
    use_buffers(life);
    use_jobs(life);
    use_refusals(life);
    use_panic(life, panic_mode);
    use_ring(life);
    note(life, gusset_shutdown(30000) == FFI_OK, "shutdown", 0);
    note(life, gusset_init() == FFI_OK, "init", 0);
    note(life, gusset_handle_close(life->handle, NULL) == FFI_OK, "close", 0);
    do
        gusset_drain_logs(log, sizeof log, &len);
    while (len > 0);
}

/* nth 0: nothing fails. Returns how many calls and jobs were refused. */
static unsigned
live_once(enum fault_kind kind, uint64_t nth, bool onwards, uint8_t panic_mode)
{
    struct life life = {.whole = nth == 0};
    char when[64];

    snprintf(when, sizeof when, "%s call %llu%s", fault_names[kind],
             (unsigned long long)nth, onwards ? " and later ones" : "");
    life.pipe = t_pipe_new();
    fault_arm(kind, nth, onwards);
    live(&life, panic_mode);
    fault_disarm();
    ck_assert_msg(life.problem == NULL, "%s: %s (%ld)", when, life.problem,
                  life.detail);
    t_pipe_drop(&life.pipe, life.handle == NULL);
    return life.refused;
}

static unsigned
live_and_check(enum fault_kind kind, uint64_t nth, bool onwards,
               uint8_t panic_mode)
{
    struct t_census before = t_census_baseline();
    unsigned refused = live_once(kind, nth, onwards, panic_mode);
    char when[64];

    snprintf(when, sizeof when, "%s call %llu%s", fault_names[kind],
             (unsigned long long)nth, onwards ? " and later ones" : "");
    t_census_expect(before, when);
    return refused;
}

static void
sweep(enum fault_kind kind, bool onwards, uint8_t panic_mode)
{
    uint64_t nth;
    uint64_t hits = 1;
    uint64_t refused = 0;

    /* Warms the C library's caches, and shows that the kind is called. */
    live_once(kind, 0, false, panic_mode);
    ck_assert_uint_gt(fault_calls(), 0);
    for (nth = 1; hits > 0; nth++) {
        refused += live_and_check(kind, nth, onwards, panic_mode);
        hits = fault_hits();
    }
    if (kind == FAULT_HEAP || kind == FAULT_THREAD)
        ck_assert_uint_gt(refused, 0);
    live_and_check(kind, 0, false, panic_mode);
}

START_TEST(every_fault_once)
{
    sweep((enum fault_kind)_i, false, 1);
}
END_TEST

START_TEST(every_fault_from_then_on)
{
    sweep((enum fault_kind)_i, true, 1);
}
END_TEST

/* Panics whose texts and payloads need memory of their own. */
START_TEST(panics_without_memory)
{
    static const uint8_t modes[] = {2, 3, 4, 12, 13, 15};

    sweep(FAULT_HEAP, _i % 2 == 1, modes[_i / 2]);
}
END_TEST

Suite *
t_suite(void)
{
    Suite *suite = suite_create("fault");
    TCase *tcase = t_case(suite, "fault");

    tcase_add_loop_test(tcase, every_fault_once, 0, FAULT_KINDS);
    tcase_add_loop_test(tcase, every_fault_from_then_on, 0, FAULT_LASTING);
    tcase_add_loop_test(tcase, panics_without_memory, 0, 12);
    return suite;
}
