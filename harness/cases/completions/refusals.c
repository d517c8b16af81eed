/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of submissions that are refused, and of what a refusal leaves. */

#include "../jobs.h"

#include <stdlib.h>

static const uint8_t panic_job[1] = {MODE_PANIC};

CONFORM_CASE(unknown_flags, .id = "i4.unknown-flags.each-bit",
             .clauses = "i4.unknown-flags i1.out-only-on-ok",
             .why = "reserved bits that are ignored: the day one gets a "
                    "meaning, old libraries silently do something else",
             .steps = "Submit a panic with each of the bits 2 to 31 set "
                      "alone, beside bits 0 and 1, and all at once.",
             .expected = "FFI_ERR or FFI_BAD_ARG, text contains unknown "
                         "CallHeader flag, out_ticket untouched, nothing "
                         "runs, nothing is in flight.",
             .mutant = "unknown-flags-accepted", .transports = CONFORM_BOTH)
{
    struct host *host = host_open(1);
    for (uint32_t i = 0; i < 3 * 30 + 1; i++) {
        static const uint32_t known[3] = {0, DIAGNOSTIC, DIAGNOSTIC | INLINE};
        uint32_t bit = i == 90 ? ~3u : 1u << (2 + i % 30);
        CallHeader header = job_header(bit | known[i / 30 % 3], 0);
        uint64_t ticket = 0x1122334455667788;
        FfiStatus status = conform_dirty_status();
        struct outcome refused =
            conform_settle(api.submit(host_handle(host), &header, panic_job, 1,
                                      0, &ticket, &status),
                           &status);
        expect(refused.code == FFI_ERR || refused.code == FFI_BAD_ARG,
               "flags %#x: refused, got %s", header.flags,
               conform_code_name(refused.code));
        expect_text(TEXT_CONTAINS, "unknown CallHeader flag", refused.msg,
                    refused.msg_len, "flags %#x: the text", header.flags);
        expect_u64(0x1122334455667788, ticket, "out_ticket of a refusal");
        expect_code(refused.code,
                    api.submit(host_handle(host), &header, panic_job, 1, 0,
                               &ticket, NULL),
                    "flags %#x without a status", header.flags);
    }
    expect_handle_healthy(host, "an echo after 182 refused panics");
    host_close(host);
}

CONFORM_CASE(known_flags, .id = "i4.unknown-flags.known-accepted",
             .clauses = "i4.unknown-flags", .why = "a mask that is too strict",
             .steps = "Submit echoes with flags 0, 1, 2 and 3.",
             .expected = "All four are accepted and complete.",
             .mutant = "inline-flag-refused", .transports = CONFORM_BOTH)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    struct host *host = host_open(1);
    for (uint32_t flags = 0; flags <= 3; flags++) {
        struct outcome outcome = host_call(host, flags, echo, sizeof echo);
        expect_code(flags & DIAGNOSTIC ? FFI_OK : FFI_ERR, outcome.code,
                    "an echo with flags %u", flags);
    }
    host_close(host);
}

struct acceptance {
    uint32_t accepted;
    uint64_t slowest_accepted_ns;
    uint64_t fastest_refused_ns;
    bool in_time; /* all of it happened before the first job could end */
    uint32_t tries;
};

/*
 * Offers sleepers of `steps` x 10 ms until `wanted` + 1 are accepted, or the
 * first of them may be over. Once `wanted` are in, a burst of 20 more tries
 * shows that none is let through. A refusal that stands for a second (scaled)
 * is final.
 */
static struct acceptance
offer_sleepers(struct host *host, uint32_t wanted, uint8_t steps)
{
    const uint8_t sleeper[2] = {MODE_SLEEP, steps};
    CallHeader header = job_header(DIAGNOSTIC, 0);
    struct acceptance result = {.fastest_refused_ns = UINT64_MAX};
    const uint64_t one_second_scaled = conform_patience_ns() / 5;
    uint64_t earliest_end = conform_now_ns() + steps * 10 * MS;
    uint64_t refused_since = 0; /* 0: the last one was accepted */
    uint32_t tries_when_full = 0;
    while (tries_when_full < 20 && result.accepted <= wanted) {
        uint64_t before = conform_now_ns();
        struct outcome tried =
            host_try_submit(host, &header, sleeper, sizeof sleeper, 0);
        uint64_t after = conform_now_ns();
        result.tries++;
        if (after >= earliest_end)
            return result;
        if (tried.code == FFI_OK) {
            result.accepted++;
            if (after - before > result.slowest_accepted_ns)
                result.slowest_accepted_ns = after - before;
            refused_since = 0;
            continue;
        }
        expect_code(FFI_ERR, tried.code, "a submit that found no room");
        expect_text(TEXT_CONTAINS, "full", tried.msg, tried.msg_len,
                    "the text of that refusal");
        if (after - before < result.fastest_refused_ns)
            result.fastest_refused_ns = after - before;
        if (result.accepted == wanted)
            tries_when_full++;
        if (refused_since == 0)
            refused_since = before;
        if (after - refused_since >= one_second_scaled)
            break;
        job_pause_us(300);
    }
    result.in_time = true;
    return result;
}

/*
 * How many long jobs a pool takes before the first ends. A machine that keeps
 * this thread away longer than the jobs last gets longer jobs, up to 2.4 s.
 */
static void
expect_accepts(uint32_t pool_argument, uint32_t pool)
{
    struct acceptance result = {0};
    for (uint32_t steps = 30; steps <= 240; steps *= 2) {
        struct host *host = host_open(pool_argument);
        result = offer_sleepers(host, 3 * pool, (uint8_t)steps);
        expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL),
                    "cancel_all");
        host_close(host);
        if (result.in_time || result.tries > 100)
            break;
    }
    if (result.accepted < 3 * pool && !result.in_time)
        conform_evidence("accepted", "%u, then the jobs ended",
                         result.accepted);
    expect_u64(3 * pool, result.accepted,
               "long jobs accepted by a pool of %u before the first ended",
               pool);
    expect_u64_at_most(result.slowest_accepted_ns + conform_noise_ns(),
                       result.fastest_refused_ns,
                       "ns of a refusal, against an accepted submit");
    conform_evidence("accepted", "pool %u: %u", pool, result.accepted);
}

CONFORM_CASE(full_refuses, .id = "i4.full-refuses.three-times-pool",
             .clauses = "i4.full-refuses",
             .why = "a queue that blocks the caller, is longer than said (and "
                    "so hides overload), or shorter (and so refuses work it "
                    "has room for)",
             .steps = "Pools of 1 to 4: offer non-cooperative jobs, each "
                      "refusal retried, until 3 x pool are in; then 20 more "
                      "tries before the first ends.",
             .expected = "Exactly 3 x pool are accepted; a refusal is "
                         "FFI_ERR, contains full, and is as quick as an "
                         "accepted submit.",
             .mutant = "queue-too-long", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    for (uint32_t pool = 1; pool <= 4; pool++)
        expect_accepts(pool, pool);
}

CONFORM_CASE(full_refuses_largest, .id = "i4.full-refuses.largest-pool",
             .clauses = "i4.full-refuses i4.pool-ceiling",
             .why = "a queue with a ceiling of its own, below or above what "
                    "the largest pool is owed",
             .steps = "A pool of 1024: offer jobs of 2.4 s that never check, "
                      "until 3072 are in; then 20 more tries; cancel_all.",
             .expected = "Exactly 3072 are accepted before the first ends; "
                         "each completes once.",
             .mutant = "queue-ceiling", .tags = CONFORM_SLEEPS,
             .timeout_ms = 60000)
{
    int fds[2];
    GussetHandle *probe = NULL;
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    if (api.handle_open(GUSSET_MAX_POOL_SIZE, fds[1], &probe, NULL) != FFI_OK)
        conform_skip("the system denies a pool of 1024");
    expect_code(FFI_OK, api.handle_close(probe, NULL), "close");
    close(fds[0]);
    struct host *host = host_open(GUSSET_MAX_POOL_SIZE);
    struct acceptance result =
        offer_sleepers(host, 3 * GUSSET_MAX_POOL_SIZE, 240);
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    host_close(host);
    if (!result.in_time)
        conform_skip("%u were in when the first might have ended: this "
                     "machine is too busy",
                     result.accepted);
    expect_u64(3 * GUSSET_MAX_POOL_SIZE, result.accepted,
               "long jobs accepted by a pool of 1024 before the first ended");
}

CONFORM_CASE(pool_zero, .id = "i4.pool-ceiling.zero-means-four",
             .clauses = "i4.pool-ceiling i4.full-refuses",
             .why = "a default pool that differs from build to build",
             .steps = "Open with pool 0 and offer long jobs.",
             .expected = "Exactly 12 are accepted before the first ends.",
             .mutant = "queue-too-long", .tags = CONFORM_SLEEPS)
{
    expect_accepts(0, 4);
}

/* True once nothing is in flight; the latch is lifted again. */
static bool
shutdown_is_clean(void *unused)
{
    (void)unused;
    int32_t code = api.shutdown(0);
    expect_code(FFI_OK, api.init(), "gusset_init");
    return code == FFI_OK;
}

static void
refuse_everything(struct host *host)
{
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    CallHeader good = job_header(DIAGNOSTIC, 0);
    CallHeader bad = job_header(DIAGNOSTIC | 0x40, 0);
    GussetHandle *handle = host_handle(host);
    uint64_t ticket;
    expect_code(FFI_BAD_ARG,
                api.submit(handle, NULL, echo, 2, 0, &ticket, NULL),
                "submit without a header");
    expect_code(FFI_BAD_ARG, api.submit(handle, &good, echo, 2, 0, NULL, NULL),
                "submit without out_ticket");
    expect_code(FFI_BAD_ARG,
                api.submit(handle, &good, NULL, 2, 0, &ticket, NULL),
                "submit of NULL with a length");
    expect_code(FFI_BAD_ARG,
                api.submit(handle, &good, echo, 4097, 0, &ticket, NULL),
                "submit of 4097 bytes");
    expect_code(
        FFI_ERR,
        api.submit(handle, &good, echo, 2, UINT64_C(1) << 60, &ticket, NULL),
        "submit of an unknown buffer");
    expect(api.submit(handle, &bad, echo, 2, 0, &ticket, NULL) != FFI_OK,
           "submit of an unknown flag is refused");
}

CONFORM_CASE(refusal_nothing, .id = "i4.refusal-leaves-nothing.shutdown-clean",
             .clauses = "i4.refusal-leaves-nothing i4.full-refuses",
             .why = "an in-flight mark set before the refusal and left there: "
                    "every later shutdown eats its budget",
             .steps = "Refusals of every kind, 200 of them for a full queue; "
                      "when all accepted jobs are read, shutdown(0), asked "
                      "again until it says FFI_OK.",
             .expected = "It does, within patience; then the queue takes 3 x "
                         "pool units as before.",
             .mutant = "refusal-stays-in-flight", .transports = CONFORM_BOTH,
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t sleeper[2] = {MODE_SLEEP, 5};
    struct host *host = host_open(1);
    CallHeader header = job_header(DIAGNOSTIC, 0);
    uint64_t tickets[256];
    uint32_t accepted = 0, refused = 0;
    while (refused < 200 && accepted < 256) {
        struct outcome tried =
            host_try_submit(host, &header, sleeper, sizeof sleeper, 0);
        if (tried.code == FFI_OK)
            tickets[accepted++] = tried.ticket;
        else
            refused++;
        if (refused % 50 == 25)
            refuse_everything(host);
    }
    expect_u64(200, refused, "submits refused because the queue is full");
    for (uint32_t i = 0; i < accepted; i++)
        (void)job_finish(host, tickets[i]);
    expect(conform_eventually(shutdown_is_clean, NULL),
           "shutdown finds nothing in flight after %u refusals", refused);
    job_occupy(host, 1, MODE_SLEEP, 1, tickets);
    host_close(host);
}

static int
compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

CONFORM_CASE(tickets_unique, .id = "i4.tickets.unique-in-the-process",
             .clauses = "i4.tickets",
             .why = "a counter per handle: handle B then answers for handle "
                    "A's ticket, without an error",
             .steps = "Three generations of three handles, each used in turn "
                      "and closed; 1 800 tickets in all, some refused in "
                      "between.",
             .expected = "Every ticket is non-zero, below 2^63 and new.",
             .mutant = "ticket-counter-per-handle", .transports = CONFORM_BOTH)
{
    enum { EACH = 200, ALL = 9 * EACH };
    static const uint8_t echo[2] = {MODE_ECHO, 1};
    static uint64_t tickets[ALL];
    uint32_t count = 0;
    CallHeader bad = job_header(DIAGNOSTIC | 0x80, 0);
    for (int generation = 0; generation < 3; generation++) {
        struct host *hosts[3];
        for (int i = 0; i < 3; i++)
            hosts[i] = host_open(1 + (uint32_t)i);
        for (int n = 0; n < 3 * EACH; n++) {
            uint64_t unused;
            (void)api.submit(host_handle(hosts[n % 3]), &bad, echo, 2, 0,
                             &unused, NULL);
            struct outcome outcome = host_call(
                hosts[n % 3], n % 2 ? DIAGNOSTIC : DIAGNOSTIC | INLINE, echo,
                sizeof echo);
            tickets[count++] = outcome.ticket;
        }
        for (int i = 0; i < 3; i++)
            host_close(hosts[i]);
    }
    qsort(tickets, count, sizeof *tickets, compare_u64);
    for (uint32_t i = 0; i < count; i++) {
        expect(tickets[i] != 0, "ticket %u of the sorted ones is not 0", i);
        expect(tickets[i] < UINT64_C(1) << 63, "ticket %#llx is below 2^63",
               (unsigned long long)tickets[i]);
        expect(i == 0 || tickets[i] != tickets[i - 1],
               "ticket %llu was given out once",
               (unsigned long long)tickets[i]);
    }
}
