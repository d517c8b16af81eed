/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The trap flag makes the processor raise SIGTRAP after each
 * instruction of this thread: one call is walked through like that, and the
 * addresses are kept. Every further call runs at full speed up to a breakpoint
 * at one of them; where the system gives no breakpoint it is stepped again up
 * to there. In the handler the other thread runs, and this one waits for it.
 */
#define _GNU_SOURCE
#include "step.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "breakpoint.h"
#include "internal.h"

/* How many traps all rounds together may cost where each call is stepped. */
#define TRAP_BUDGET UINT64_C(150000)

/* How many stops a call may have, and how often a loop is gone through. */
enum { MOST_STOPS = 1500, MOST_PASSES = 16 };

/* The part of a long call whose addresses are kept. */
enum { MOST_ADDRESSES = 65536 };
static uintptr_t addresses[MOST_ADDRESSES];

/*
 * How long the call stands still for another that does not end: long enough
 * for some calls, and no verdict hangs on it. After some of these waits the
 * steps grow.
 */
#define GIVE_WAY_NS UINT64_C(10000000)
enum { WAITS_AT_FULL_PACE = 150, YIELDS_FIRST = 100 };

static struct {
    const struct conform_steps *steps;
    bool by_breakpoint; /* else by the trap flag */
    uint64_t count;     /* traps of this call so far */
    uint64_t at;        /* the one at which it stands still */
    bool went_on_first;
    bool ending;
    sem_t go;
    atomic_bool done;
} run;

static void
let_the_other_run(void)
{
    const struct timespec slice = {.tv_nsec = 100000};
    uint64_t until = conform_now_ns() + GIVE_WAY_NS;
    sem_post(&run.go);
    for (uint32_t looks = 0; !atomic_load(&run.done); looks++) {
        if (conform_now_ns() >= until) {
            run.went_on_first = true;
            return;
        }
        if (looks < YIELDS_FIRST)
            sched_yield();
        else
            nanosleep(&slice, NULL); /* pause: the other has the core */
    }
}

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100 };

static void
stop_stepping(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static uintptr_t
address_of(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* The red zone below the stack pointer is the compiler's. */
static inline void
begin_stepping(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "orq $0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static inline void
end_stepping(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushfq\n\t"
                     "andq $~0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "leaq 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

#else

static void
stop_stepping(ucontext_t *context)
{
    (void)context;
}

static uintptr_t
address_of(const ucontext_t *context)
{
    (void)context;
    return 0;
}

static inline void
begin_stepping(void)
{
}

static inline void
end_stepping(void)
{
}

#endif

static void
on_trap(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)signal;
    (void)info;
    if (run.at == UINT64_MAX && run.count < MOST_ADDRESSES)
        addresses[run.count] = address_of(context);
    if (run.count++ == run.at) {
        if (run.by_breakpoint)
            conform_breakpoint_clear();
        else
            stop_stepping(context);
        let_the_other_run();
    }
    errno = saved;
}

static void
other_thread(void *unused)
{
    (void)unused;
    for (;;) {
        while (sem_wait(&run.go) != 0)
            continue;
        if (run.ending)
            return;
        run.steps->meanwhile(run.steps->argument);
        atomic_store(&run.done, true);
    }
}

static bool
other_is_done(void *unused)
{
    (void)unused;
    return atomic_load(&run.done);
}

/* How often a call has been at its at-th address before. */
static uint64_t
passes_before(uint64_t at)
{
    uint64_t passes = 0;
    for (uint64_t i = 0; i < at; i++)
        passes += addresses[i] == addresses[at];
    return passes;
}

static void
call_up_to(uint64_t at)
{
    run.count = 0;
    run.at = at;
    if (run.by_breakpoint) {
        run.at = passes_before(at);
        if (!conform_breakpoint_set(addresses[at]))
            run.at = UINT64_MAX - 1;
        run.steps->call(run.steps->argument);
        conform_breakpoint_clear();
        return;
    }
    begin_stepping();
    run.steps->call(run.steps->argument);
    end_stepping();
}

/* One round; false: the call ended before its instruction `at`. */
static bool
stop_at(uint64_t at)
{
    run.went_on_first = false;
    atomic_store(&run.done, false);
    run.steps->prepare(run.steps->argument);
    call_up_to(at);
    bool stood = run.count > run.at;
    if (!stood)
        sem_post(&run.go); /* after the call: one more order */
    expect(conform_eventually(other_is_done, NULL),
           "the other thread's calls return once this one's has, which stood "
           "still before its instruction %llu",
           (unsigned long long)at);
    run.steps->judge(run.steps->argument);
    return stood;
}

/*
 * The C library's instructions are left out: its allocator has locks of its
 * own, and what it does is not what is judged.
 */
static bool
is_the_subjects(uint64_t at)
{
    Dl_info here, subject;
    return dladdr((void *)addresses[at], &here) != 0 &&
           dladdr(*(void **)(void *)&api_raw.submit, &subject) != 0 &&
           here.dli_fbase == subject.dli_fbase;
}

/* Every how many instructions a call of this length is stopped. */
static uint64_t
stride_for(uint64_t length)
{
    if (run.by_breakpoint)
        return 1 + length / MOST_STOPS;
    return 1 + length * length / 2 / TRAP_BUDGET;
}

void
conform_step_through(const struct conform_steps *steps)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    uint64_t stops = 0, waits = 0;
    run.steps = steps;
    run.ending = false;
    sem_init(&run.go, 0, 0);
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTRAP, &action, &before) != 0)
        conform_broken("sigaction(SIGTRAP): %s", strerror(errno));
    struct conform_thread *other = conform_thread_start(other_thread, NULL, 0);
    run.by_breakpoint = false;
    (void)stop_at(UINT64_MAX);
    uint64_t length = run.count;
    run.by_breakpoint =
        length > 0 && length <= MOST_ADDRESSES && conform_breakpoint_open();
    uint64_t stride = stride_for(length);
    uint64_t give_up = conform_now_ns() + 3 * conform_patience_ns();
    for (uint64_t at = conform_random(stride);
         at < length && conform_now_ns() < give_up; at += stride) {
        if (at < MOST_ADDRESSES && !is_the_subjects(at))
            continue;
        if (run.by_breakpoint && passes_before(at) > MOST_PASSES)
            continue;
        stops += stop_at(at);
        waits += run.went_on_first;
        if (run.went_on_first && waits > WAITS_AT_FULL_PACE)
            stride += 1 + stride / 2;
    }
    conform_breakpoint_close();
    run.ending = true;
    sem_post(&run.go);
    conform_thread_join(other);
    sem_destroy(&run.go);
    sigaction(SIGTRAP, &before, NULL);
    if (length == 0)
        conform_out_of_reach("needs single steps, which do not bite here");
    if (stops == 0)
        conform_broken("of %llu instructions none was stopped at",
                       (unsigned long long)length);
    conform_evidence("steps",
                     "%llu instructions, stopped at %llu of them by %s, went "
                     "on first %llu times",
                     (unsigned long long)length, (unsigned long long)stops,
                     run.by_breakpoint ? "breakpoint" : "single steps",
                     (unsigned long long)waits);
}
