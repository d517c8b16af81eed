/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Worker stacks: how large, how deep, and what lies below them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "workers.h"

#define STACK_AT_LEAST UINT64_C(8388608)
#define POOL 4u

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
/* Of <asm/signal.h>; the C library's own name may be a system call. */
#define MINSIGSTKSZ_OF_OLD UINT64_C(2048)

static uint64_t
reported_stack(struct host *host)
{
    struct outcome o = host_call(host, DIAGNOSTIC, "\10", 1);
    expect_code(FFI_OK, o.code, "mode 8");
    expect_u64(8, o.len, "length of mode 8's answer");
    return get_u64le(o.bytes);
}

/*
 * Opens while new threads would get 256 KiB and the soft stack limit is 1 MiB.
 * A C library may refuse the former (musl has less by itself).
 */
static struct host *
open_with_low_defaults(uint32_t pool)
{
    struct rlimit limit, before;
    pthread_attr_t attributes, default_before;
    if (getrlimit(RLIMIT_STACK, &before) != 0)
        conform_broken("no stack limit to be read");
    limit = before;
    limit.rlim_cur = 1 << 20;
    setrlimit(RLIMIT_STACK, &limit);
    pthread_getattr_default_np(&default_before);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    int refused = pthread_setattr_default_np(&attributes);

    struct host *host = host_open(pool);
    pthread_setattr_default_np(&default_before);
    setrlimit(RLIMIT_STACK, &before);
    pthread_attr_destroy(&attributes);
    pthread_attr_destroy(&default_before);
    conform_evidence("thread default", "%s", refused ? "as it was" : "256 KiB");
    return host;
}

CONFORM_CASE(
    stack_reported, .id = "i5.stack-size.mode-8", .clauses = "i5.stack-size",
    .why = "A worker on the C library's default stack has 128 KiB here and 8 "
           "MiB there, and dies by SIGSEGV in the first deep engine.",
    .steps = "Lower the soft stack limit to 1 MiB and the default of new "
             "threads to 256 KiB; open; mode 8 twice for each worker.",
    .expected = "At least 8 388 608 bytes, each time.",
    .mutant = "default-thread-stack", .transports = CONFORM_BOTH)
{
    struct host *host = open_with_low_defaults(POOL);
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < 2 * POOL; i++) {
        uint64_t bytes = reported_stack(host);
        expect_u64_at_least(STACK_AT_LEAST, bytes,
                            "stack of a worker, by mode 8");
        least = bytes < least ? bytes : least;
    }
    conform_evidence("stack bytes", "%llu", (unsigned long long)least);
    host_close(host);
}

CONFORM_CASE(
    stack_mapped, .id = "i5.stack-size.mapped",
    .clauses = "i5.stack-size i5.stack-guard",
    .why = "A stack that is promised but not mapped, or that ends in its "
           "neighbour, is found out by the deepest engine.",
    .steps = "A host's signal handler on each worker's own stack notes where "
             "it is; the mappings say what is there and below.",
    .expected = "A writable mapping of at least 8 MiB for each worker, no two "
                "the same, directly below it a mapping without any access.",
    .mutant = "default-thread-stack stack-not-mapped")
{
    struct sight sights[WORKERS_MAX];
    struct host *host = open_with_low_defaults(POOL);
    workers_await(POOL);
    for (uint32_t i = 0; i < POOL; i++)
        reported_stack(host);
    uint32_t count = workers_look(sights, false);
    expect_u64(POOL, count, "workers that were looked at");
    for (uint32_t i = 0; i < count; i++) {
        struct surroundings s = workers_surroundings(sights[i].frame);
        expect(s.mapped && s.writable, "the stack of worker %u is mapped", i);
        expect_u64_at_least(STACK_AT_LEAST, s.high - s.low,
                            "mapped stack of worker %u", i);
        expect(s.below_mapped && !s.below_accessible,
               "a mapping without access lies directly below the stack of "
               "worker %u",
               i);
        for (uint32_t j = 0; j < i; j++)
            expect(workers_surroundings(sights[j].frame).low != s.low,
                   "workers %u and %u have stacks of their own", j, i);
        if (i == 0)
            conform_evidence("guard bytes", "%llu",
                             (unsigned long long)(s.low - s.below_low));
    }
    host_close(host);
}

/* ---- Depth -------------------------------------------------------------- */

static uint32_t
recurse(struct host *host, uint32_t depth, size_t len)
{
    uint8_t input[5] = {6};
    put_u32le(input + 1, depth);
    struct outcome o = host_call(host, DIAGNOSTIC, input, len);
    expect_code(FFI_OK, o.code, "mode 6, depth %u", depth);
    expect_u64(4, o.len, "length of mode 6's answer");
    return get_u32le(o.bytes);
}

CONFORM_CASE(
    deep_recursion, .id = "i5.deep-recursion.depths",
    .clauses = "i5.deep-recursion i5.stack-size",
    .why = "A depth from the input that is not capped overflows the stack; "
           "one that is not recursed proves nothing about it.",
    .steps = "Mode 6 with depth 2^32-1 to learn the cap; then 0, 1, 100, "
             "cap-1, cap, cap+1, and without a depth; several at once.",
    .expected = "The cap lies in 30 000..100 000; depths up to it are "
                "reported as they are, larger ones as the cap, none as "
                "50 000 or the cap.",
    .mutant = "default-thread-stack recursion-uncounted",
    .transports = CONFORM_BOTH)
{
    struct host *host = open_with_low_defaults(2);
    uint32_t cap = recurse(host, UINT32_MAX, 5);
    conform_evidence("cap", "%u", cap);
    expect_u64_at_least(30000, cap, "the cap of mode 6");
    expect_u64_at_most(100000, cap, "the cap of mode 6");
    const uint32_t depths[] = {0, 1, 100, cap - 1, cap};
    for (size_t i = 0; i < 5; i++)
        expect_u64(depths[i], recurse(host, depths[i], 5), "depth %u",
                   depths[i]);
    expect_u64(cap, recurse(host, cap + 1, 5), "depth over the cap");
    expect_u64(cap < 50000 ? cap : 50000, recurse(host, 0, 1),
               "no depth given");
    uint8_t input[5] = {6};
    put_u32le(input + 1, cap);
    uint64_t tickets[4];
    for (int i = 0; i < 4; i++)
        tickets[i] = host_submit(host, DIAGNOSTIC, input, 5);
    for (int i = 0; i < 4; i++) {
        host_wait(host, tickets[i]);
        struct outcome o = host_take(host, tickets[i]);
        expect_code(FFI_OK, o.code, "one of several at once");
        expect_u64(cap, get_u32le(o.bytes), "its depth");
    }
    host_close(host);
}

/* ---- The alternate signal stack ----------------------------------------- */

static uint64_t
altstack_at_least(void)
{
    uint64_t minimum = getauxval(AT_MINSIGSTKSZ);
    if (minimum == 0)
        minimum = MINSIGSTKSZ_OF_OLD;
    uint64_t least = 65536;
    if (4 * minimum > least)
        least = 4 * minimum;
    if (minimum + 32768 > least)
        least = minimum + 32768;
    return least;
}

/* All workers have their alternate stack: asked again until each has had the
 * time to set it up. */
struct look {
    struct sight sights[WORKERS_MAX];
    uint32_t count;
};

static bool
all_on_alternate(void *argument)
{
    struct look *look = argument;
    look->count = workers_look(look->sights, true);
    for (uint32_t i = 0; i < look->count; i++) {
        if (look->sights[i].alt_bytes == 0)
            return false;
    }
    return look->count == POOL;
}

static void
expect_guarded(const struct sight *sight, uint32_t i)
{
    uintptr_t low = sight->alt_low;
    expect(sight->on_alt,
           "the kernel runs worker %u's handler on the "
           "alternate stack",
           i);
    expect(sight->frame >= low && sight->frame < low + sight->alt_bytes,
           "worker %u's handler lies within its alternate stack", i);
    expect_u64_at_least(altstack_at_least(), sight->alt_bytes,
                        "alternate stack of worker %u", i);
    struct surroundings s = workers_surroundings(low);
    expect(s.mapped && s.writable && s.high >= low + sight->alt_bytes,
           "worker %u's alternate stack is mapped as a whole", i);
    expect(s.low == low && s.below_mapped && !s.below_accessible,
           "a page without access lies directly below worker %u's alternate "
           "stack",
           i);
}

/* An alternate stack with its guard, of the geometry that was seen. */
static bool
still_there(const struct sight *sight)
{
    struct surroundings s = workers_surroundings(sight->alt_low);
    return s.mapped && s.low == sight->alt_low && s.below_mapped &&
           !s.below_accessible && s.high >= s.low + sight->alt_bytes &&
           s.high - s.low < STACK_AT_LEAST;
}

CONFORM_CASE(
    altstack, .id = "i5.altstack.handler-runs-on-it", .clauses = "i5.altstack",
    .why = "A signal that arrives when the stack is used up, or with a frame "
           "larger than the alternate stack, takes the process with it.",
    .steps = "A host's SA_ONSTACK handler is sent to each of 4 workers, "
             "idle and while it runs a unit; the mappings are read; close.",
    .expected = "Each handler runs within an alternate stack of its own, of "
                "at least max(64 KiB, 4 x AT_MINSIGSTKSZ, AT_MINSIGSTKSZ + "
                "32 KiB), a page without access directly below; gone after "
                "close.",
    .mutant = "no-alternate-stack altstack-leak small-alternate-stack")
{
    struct look idle, busy;
    struct host *host = host_open(POOL);
    workers_await(POOL);
    for (uint32_t i = 0; i < POOL; i++)
        reported_stack(host);
    expect(conform_eventually(all_on_alternate, &idle),
           "each of %u workers has an alternate stack", POOL);
    for (uint32_t i = 0; i < POOL; i++)
        host_submit(host, DIAGNOSTIC, "\5\377", 2);
    expect(all_on_alternate(&busy), "the same while units run");
    expect_code(FFI_OK, api.cancel_all(host_handle(host), NULL), "cancel_all");
    for (uint32_t i = 0; i < POOL; i++) {
        expect_guarded(&idle.sights[i], i);
        expect_guarded(&busy.sights[i], i);
        for (uint32_t j = 0; j < i; j++)
            expect(idle.sights[i].alt_low != idle.sights[j].alt_low,
                   "workers %u and %u have alternate stacks of their own", i,
                   j);
    }
    conform_evidence("alternate stack", "%llu bytes, at least %llu asked",
                     (unsigned long long)idle.sights[0].alt_bytes,
                     (unsigned long long)altstack_at_least());
    host_close(host);
    for (uint32_t i = 0; i < POOL; i++)
        expect(!still_there(&idle.sights[i]),
               "worker %u's alternate stack is unmapped after close", i);
}

/* glibc makes an arena for a thread when it feels like it and keeps it. */
static void
pin_arenas(void)
{
    int (*option)(int, int) = NULL;
    *(void **)(void *)&option = dlsym(RTLD_DEFAULT, "mallopt");
    if (option != NULL)
        option(-8, 1); /* M_ARENA_MAX of <malloc.h>, which musl lacks */
}

CONFORM_CASE(
    altstack_cycles, .id = "i5.altstack.gone-after-close",
    .clauses = "i5.altstack i1.close-releases-all",
    .why = "A signal stack that outlives its thread adds up to gigabytes in "
           "a host that opens a handle per request.",
    .steps = "Mapped bytes outside the heap after 2 and after 22 lives of a "
             "handle of 8 workers that each ran a unit.",
    .expected = "Not above.", .mutant = "altstack-leak")
{
    pin_arenas();
    struct conform_census before = {0};
    struct conform_census first = conform_census_now(0);
    for (int cycle = 0; cycle < 22; cycle++) {
        if (cycle == 2)
            before = conform_census_now(first.threads);
        struct host *host = host_open(8);
        for (int i = 0; i < 8; i++)
            host_call(host, DIAGNOSTIC, "\0", 1);
        host_close(host);
    }
    struct conform_census after = conform_census_now(first.threads);
    expect_u64(before.threads, after.threads, "threads after 20 more lives");
    expect_u64_at_most(before.mapped_bytes, after.mapped_bytes,
                       "mapped bytes after 20 more lives");
}
