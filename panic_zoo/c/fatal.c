/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What no firewall survives. These are declared: the process must end by
 * exactly this signal, after it was seen to get there.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../zoo.h"
#include "gusset_engine.h"

/* An address that nobody may touch; not NULL, which compilers know. */
static void *volatile nowhere;

static int32_t
aborts(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    conform_marker("in the engine");
    abort();
}

static int32_t
writes_nowhere(gse_call *call, void *user)
{
    (void)call;
    (void)user;
    conform_marker("in the engine");
    *(volatile int *)nowhere = 1;
    return GSE_OK;
}

/* ---- Stack overflows ---------------------------------------------------- */

static uint8_t *volatile stack_of_worker; /* an address in its first frame */
static uint8_t *stack_low; /* the lowest byte of the stack's mapping */
static uint8_t *guard_low; /* the lowest byte of what lies below it */

/* The mapping that holds the worker's first frame, and the one below it. */
static bool
find_guard(void)
{
    char line[512];
    unsigned long below_low = 0;
    unsigned long below_high = 0;
    char below_access[8] = "";
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return false;
    bool found = false;
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        unsigned long low, high;
        char access[8];
        if (sscanf(line, "%lx-%lx %7s", &low, &high, access) != 3)
            continue;
        uintptr_t address = (uintptr_t)stack_of_worker;
        if (address >= low && address < high) {
            found = below_high == low && below_access[0] == '-';
            stack_low = (uint8_t *)low;
            guard_low = (uint8_t *)below_low;
            break;
        }
        below_low = low;
        below_high = high;
        memcpy(below_access, access, sizeof below_access);
    }
    fclose(maps);
    return found;
}

/* The fault must lie in the guard; then it happens again, unhandled. */
static void
on_fault(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    uint8_t *at = info->si_addr;
    if (at >= guard_low && at < stack_low)
        conform_marker("in the guard");
    else
        conform_marker("beside the guard");
    signal(signal_number, SIG_DFL);
    if (at < guard_low || at >= stack_low)
        _exit(97); /* not the declared end: neighbours were overwritten */
}

static volatile uint32_t never;

__attribute__((noinline)) static uint32_t
small_frames(uint32_t depth)
{
    volatile uint8_t frame[64];
    frame[0] = (uint8_t)depth;
    if (never != 0)
        return frame[0];
    return small_frames(depth + 1) + frame[0];
}

/* Touches only the lower end of each 64 KiB, as a big local array may. */
__attribute__((noinline)) static uint32_t
large_frames(uint32_t depth)
{
    volatile uint8_t frame[65536];
    frame[0] = (uint8_t)depth;
    if (never != 0)
        return frame[0];
    return large_frames(depth + 1) + frame[0];
}

static atomic_bool guard_found;
static atomic_bool guard_sought;

static int32_t
overflows(gse_call *call, void *user)
{
    uint8_t first_frame = 0;
    (void)call;
    stack_of_worker = &first_frame;
    atomic_store(&guard_found, find_guard());
    atomic_store(&guard_sought, true);
    if (!atomic_load(&guard_found))
        return GSE_FAILED;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    return (int32_t)(user == NULL ? small_frames(0) : large_frames(0));
}

static void
die_in(gse_handler handler, void *user)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    expect(gse_register_opcode(1, handler, user) == GSE_OK, "registration");
    struct host *host = host_open(2);
    CallHeader header = zoo_header(0, 1);
    uint64_t ticket = host_submit_header(host, &header, NULL, 0);
    host_wait(host, ticket);
    expect(!atomic_load(&guard_sought) || atomic_load(&guard_found),
           "inaccessible memory lies directly below the worker's stack");
    expect_unreachable("the process outlived the engine");
}

CONFORM_CASE(
    fatal_abort, .id = "i2.contained.fatal-abort", .clauses = "i2.contained",
    .why = "A firewall that catches SIGABRT goes on with a heap that its "
           "owner declared broken.",
    .steps = "A C engine calls abort().",
    .expected = "The process ends by SIGABRT: documented as what no runtime "
                "can survive.",
    .needs = "engine", .dies_by = SIGABRT, .marker = "in the engine")
{
    die_in(aborts, NULL);
}

CONFORM_CASE(
    fatal_segv, .id = "i2.contained.fatal-segv",
    .clauses = "i2.contained i5.no-handlers",
    .why = "A library that handles SIGSEGV takes the host's own faults for "
           "an engine's.",
    .steps = "A C engine writes to an inaccessible page.",
    .expected = "The process ends by SIGSEGV: documented as what no runtime "
                "can survive.",
    .needs = "engine", .dies_by = SIGSEGV, .marker = "in the engine")
{
    nowhere = conform_fence(64);
    conform_fence_revoke(nowhere);
    /* A sanitizer's handler is the host's: the library has to leave alone
     * what it finds. */
    signal(SIGSEGV, SIG_DFL);
    die_in(writes_nowhere, NULL);
}

CONFORM_CASE(
    overflow_small, .id = "i5.stack-guard.c-small-frames",
    .clauses = "i5.stack-guard i5.altstack",
    .why = "A stack without a guard overflows into its neighbour and goes "
           "on.",
    .steps = "A C engine recurses without end in frames of 64 bytes; the "
             "host's SIGSEGV handler, on the worker's alternate stack, looks "
             "where the fault lies.",
    .expected = "In the inaccessible memory directly below the stack; the "
                "process ends by SIGSEGV.",
    .needs = "engine", .dies_by = SIGSEGV, .marker = "in the guard",
    .mutant = "no-alternate-stack no-stack-guard")
{
    if (UNDER_THREAD_SANITIZER)
        conform_skip("ThreadSanitizer's own call stack overflows first");
    die_in(overflows, NULL);
}

CONFORM_CASE(
    overflow_large, .id = "i5.stack-guard.c-large-frames",
    .clauses = "i5.stack-guard",
    .why = "A guard of one page is jumped by a frame of 64 KiB: the "
           "neighbour's memory is overwritten, silently.",
    .steps = "A C engine recurses without end in frames of 64 KiB of which it "
             "touches the lower end; the host's SIGSEGV handler looks where "
             "the fault lies.",
    .expected = "In the inaccessible memory directly below the stack; the "
                "process ends by SIGSEGV.",
    .needs = "engine", .dies_by = SIGSEGV, .marker = "in the guard",
    .mutant = "small-guard")
{
    static int large;
    die_in(overflows, &large);
}
