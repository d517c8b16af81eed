/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which engine runs: registration, precedence, and what poison leaves of it.
 */
#include <stdatomic.h>
#include <string.h>

#include "../zoo.h"
#include "gusset_engine.h"

/* Answers with the mark it was registered with, then the input. */
static int32_t
marked(gse_call *call, void *user)
{
    uint8_t answer[64];
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    answer[0] = *(const uint8_t *)user;
    if (len > sizeof answer - 1)
        len = sizeof answer - 1;
    if (len != 0)
        memcpy(answer + 1, input, len);
    return gse_output_bytes(call, answer, len + 1);
}

static atomic_uint entered;

static int32_t
gated(gse_call *call, void *user)
{
    atomic_fetch_add(&entered, 1);
    zoo_gate_wait();
    return marked(call, user);
}

static int32_t
panics(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    GSE_PANIC("from the registry's engine");
}

static uint8_t marks[] = {'a', 'b', 'c', 'd'};

static void
expect_answer(struct host *host, uint32_t flags, uint32_t opcode, char mark,
              const char *what)
{
    CallHeader header = zoo_header(flags, opcode);
    struct outcome o = host_call_header(host, &header, "\1x", 2);
    expect_code(FFI_OK, o.code, "%s", what);
    const uint8_t right[] = {(uint8_t)mark, 1, 'x'};
    expect_bytes(right, sizeof right, o.bytes, o.len, "%s", what);
}

static void
expect_none(struct host *host, uint32_t flags, uint32_t opcode,
            const char *what)
{
    CallHeader header = zoo_header(flags, opcode);
    struct outcome o = host_call_header(host, &header, "\1x", 2);
    expect_code(FFI_ERR, o.code, "%s", what);
    expect_text(TEXT_BEGINS, "gusset: no engine handler registered", o.msg,
                o.msg_len, "%s", what);
}

CONFORM_CASE(
    opcode_engines, .id = "i2.opcode-closed.c-two-opcodes",
    .clauses = "i2.opcode-closed i2.closed-by-default",
    .why = "An opcode that falls back to another engine runs the wrong code.",
    .steps = "Engines for opcodes 1 and 2^32-1: opcode 0 with and without "
             "flag bit 0, opcodes 1, 2, 2^32-1; then with a global engine as "
             "well.",
    .expected = "Each opcode its own engine; unknown ones none, whatever else "
                "is registered; opcode 0 is not served by an opcode engine.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "unknown-opcode-runs-global")
{
    struct host *host = host_open(1);
    expect(gse_register_opcode(1, marked, &marks[1]) == GSE_OK, "opcode 1");
    expect(gse_register_opcode(UINT32_MAX, marked, &marks[2]) == GSE_OK,
           "opcode 2^32-1");
    expect_none(host, 0, 0, "opcode 0 beside opcode engines");
    zoo_expect_healthy(host, "opcode 0 with flag bit 0");
    for (uint32_t global = 0; global < 2; global++) {
        expect_answer(host, 0, 1, 'b', "opcode 1");
        expect_answer(host, DIAGNOSTIC, UINT32_MAX, 'c', "opcode 2^32-1");
        expect_none(host, 0, 2, "an unknown opcode");
        expect_none(host, DIAGNOSTIC, 2, "an unknown opcode with bit 0");
        if (global == 0)
            expect(gse_register_global(marked, &marks[3]) == GSE_OK,
                   "a global engine");
    }
    expect_answer(host, 0, 0, 'd', "the global engine");
    host_close(host);
    gse_clear();
}

CONFORM_CASE(
    registered_twice, .id = "i2.engine-outranks-flag.registered-twice",
    .clauses = "i2.engine-outranks-flag i2.opcode-closed",
    .why = "A second registration that silently replaces the first hands one "
           "component's work to another.",
    .steps = "Register opcode 7 twice, a global engine twice, opcode 0; use "
             "both; clear; register the other way round.",
    .expected = "The second and opcode 0 are refused and the first stays; "
                "after the clear the others are accepted.",
    .needs = "engine", .mutant = "global-registered-twice")
{
    struct host *host = host_open(1);
    expect(gse_register_opcode(0, marked, &marks[0]) == GSE_FAILED,
           "opcode 0 is refused");
    expect_none(host, 0, 0, "opcode 0 after its refusal");
    expect(gse_register_opcode(7, marked, &marks[0]) == GSE_OK, "opcode 7");
    expect(gse_register_opcode(7, marked, &marks[1]) == GSE_FAILED,
           "opcode 7 a second time");
    expect(gse_register_opcode(7, gated, &marks[0]) == GSE_FAILED,
           "opcode 7 with another handler");
    expect(gse_register_global(marked, &marks[2]) == GSE_OK, "global");
    expect(gse_register_global(marked, &marks[3]) == GSE_FAILED,
           "a second global engine");
    expect_answer(host, 0, 7, 'a', "the first engine of opcode 7");
    expect_answer(host, 0, 0, 'c', "the first global engine");
    gse_clear();
    expect_none(host, 0, 7, "opcode 7 after the clear");
    expect_none(host, 0, 0, "opcode 0 after the clear");
    expect(gse_register_opcode(7, marked, &marks[1]) == GSE_OK, "opcode 7");
    expect(gse_register_global(marked, &marks[3]) == GSE_OK, "global");
    expect_answer(host, 0, 7, 'b', "the next engine of opcode 7");
    expect_answer(host, 0, 0, 'd', "the next global engine");
    gse_clear();
    host_close(host);
}

static bool
somebody_entered(void *argument)
{
    return atomic_load(&entered) == *(const uint32_t *)argument;
}

CONFORM_CASE(
    looked_up_late, .id = "i2.opcode-closed.c-looked-up-when-run",
    .clauses = "i2.opcode-closed",
    .why = "An engine that is fixed at submit runs after it was removed.",
    .steps = "Pool 1 held at the gate by opcode 1: queue opcode 2 (not "
             "registered) and register it; open the gate. Then queue opcode "
             "2 again behind the gate, clear, open.",
    .expected = "The first is served, the second finds no engine; a running "
                "job ends as it would have.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "engine-opcode-ignores-clear")
{
    struct host *host = host_open(1);
    CallHeader one = zoo_header(0, 1);
    CallHeader two = zoo_header(0, 2);
    expect(gse_register_opcode(1, gated, &marks[0]) == GSE_OK, "opcode 1");
    for (uint32_t cleared = 0; cleared < 2; cleared++) {
        uint32_t turn = cleared + 1;
        zoo_gate_close();
        uint64_t holder = host_submit_header(host, &one, "\1x", 2);
        uint64_t queued = host_submit_header(host, &two, "\1x", 2);
        expect(conform_eventually(somebody_entered, &turn),
               "the first unit runs");
        if (cleared)
            gse_clear();
        else
            expect(gse_register_opcode(2, marked, &marks[1]) == GSE_OK,
                   "opcode 2, while a job runs");
        zoo_gate_open();
        struct completion done = host_wait(host, holder);
        struct outcome o = host_outcome(host, &done);
        expect_code(FFI_OK, o.code, "the job that ran meanwhile");
        expect_bytes("a\1x", 3, o.bytes, o.len, "its answer");
        done = host_wait(host, queued);
        o = host_outcome(host, &done);
        expect_code(cleared ? FFI_ERR : FFI_OK, o.code,
                    "a unit that was queued when its engine %s",
                    cleared ? "was removed" : "was registered");
    }
    host_close(host);
}

/* ---- The pool's width, counted by a meeting ----------------------------- */

#define WIDTH 4u

static atomic_uint inside;
static atomic_uint met;
static atomic_uint most;

/* Waits until WIDTH units are inside at once. */
static int32_t
meets(gse_call *call, void *user)
{
    (void)user;
    uint64_t end = conform_now_ns() + conform_patience_ns();
    uint32_t now = atomic_fetch_add(&inside, 1) + 1;
    uint32_t seen = atomic_load(&most);
    while (seen < now && !atomic_compare_exchange_weak(&most, &seen, now))
        ;
    while (atomic_load(&met) == 0 && conform_now_ns() < end) {
        if (atomic_load(&inside) == WIDTH)
            atomic_store(&met, 1);
    }
    atomic_fetch_sub(&inside, 1);
    if (atomic_load(&met) != 0)
        return gse_output_bytes(call, "met", 3);
    gse_output_errorf(call, "only %u of %u met", atomic_load(&most), WIDTH);
    return GSE_FAILED;
}

static int32_t
gated_panic(gse_call *call, void *user)
{
    zoo_gate_wait();
    return panics(call, user);
}

CONFORM_CASE(
    width, .id = "i2.pool-survives.c-width",
    .clauses = "i2.pool-survives i4.width",
    .why = "Each panic costs the pool a worker until nobody is left.",
    .steps = "Pool 4: four units wait at the gate and panic; four more in the "
             "queue behind them only end when all four are inside at once.",
    .expected = "All four meet: FFI_OK each; never more than four inside.",
    .needs = "engine", .transports = CONFORM_BOTH,
    .mutant = "pool-narrows-on-panic")
{
    expect(gse_register_opcode(1, gated_panic, NULL) == GSE_OK, "opcode 1");
    expect(gse_register_opcode(2, meets, NULL) == GSE_OK, "opcode 2");
    struct host *host = host_open(WIDTH);
    CallHeader panic = zoo_header(0, 1);
    CallHeader meet = zoo_header(0, 2);
    uint64_t tickets[2][WIDTH];
    zoo_gate_close();
    for (uint32_t i = 0; i < WIDTH; i++)
        tickets[0][i] = host_submit_patiently(host, &panic, NULL, 0);
    for (uint32_t i = 0; i < WIDTH; i++)
        tickets[1][i] = host_submit_patiently(host, &meet, NULL, 0);
    zoo_gate_open();
    for (uint32_t i = 0; i < WIDTH; i++) {
        host_wait(host, tickets[0][i]);
        expect_code(FFI_PANIC, host_take(host, tickets[0][i]).code, "panic %u",
                    i);
    }
    for (uint32_t i = 0; i < WIDTH; i++) {
        struct completion done = host_wait(host, tickets[1][i]);
        struct outcome o = host_outcome(host, &done);
        expect_code(FFI_OK, o.code, "unit %u of the meeting: %s", i,
                    o.msg ? o.msg : "met");
    }
    expect_u64(WIDTH, atomic_load(&most), "units inside at once");
    host_close(host);
    gse_clear();
}
