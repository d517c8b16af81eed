/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The trap flag makes the processor raise SIGTRAP after each
 * instruction of this thread. The handler counts; where the call is to stand
 * still it lets the other thread run, waits for it within the handler, and
 * clears the flag in the saved context, so that the rest runs at full speed.
 */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#include "internal.h"

/* How many traps all rounds together may cost. */
#define TRAP_BUDGET UINT64_C(150000)

/*
 * How long the call stands still for another that does not end: long enough
 * for some calls, and no verdict hangs on it. After some of these waits the
 * steps grow.
 */
#define GIVE_WAY_NS UINT64_C(20000000)
enum { WAITS_AT_FULL_PACE = 150 };

static struct {
    const struct conform_steps *steps;
    uint64_t count; /* instructions of this call so far */
    uint64_t at;    /* where it stands still */
    bool went_on_first;
    bool ending;
    sem_t go;
    atomic_bool done;
} run;

static void
let_the_other_run(void)
{
    uint64_t until = conform_now_ns() + GIVE_WAY_NS;
    sem_post(&run.go);
    while (!atomic_load(&run.done)) {
        if (conform_now_ns() >= until) {
            run.went_on_first = true;
            return;
        }
        sched_yield();
    }
}

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100 };

static void
stop_stepping(ucontext_t *context)
{
    context->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
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
    if (run.count++ == run.at) {
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

/* One round; false: the call ended before its instruction `at`. */
static bool
stop_at(uint64_t at)
{
    run.count = 0;
    run.at = at;
    run.went_on_first = false;
    atomic_store(&run.done, false);
    run.steps->prepare(run.steps->argument);
    begin_stepping();
    run.steps->call(run.steps->argument);
    end_stepping();
    bool stood = run.count > at;
    if (!stood)
        sem_post(&run.go); /* after the call: one more order */
    expect(conform_eventually(other_is_done, NULL),
           "the other thread's calls return once this one's has, which stood "
           "still before its instruction %llu",
           (unsigned long long)at);
    run.steps->judge(run.steps->argument);
    return stood;
}

void
conform_step_through(const struct conform_steps *steps)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    uint64_t stride = 1, stops = 0, waits = 0;
    run.steps = steps;
    run.ending = false;
    sem_init(&run.go, 0, 0);
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTRAP, &action, &before) != 0)
        conform_broken("sigaction(SIGTRAP): %s", strerror(errno));
    struct conform_thread *other = conform_thread_start(other_thread, NULL, 0);
    (void)stop_at(UINT64_MAX);
    uint64_t length = run.count;
    if (length > 0 && length * length / 2 > TRAP_BUDGET)
        stride = 1 + length * length / 2 / TRAP_BUDGET;
    uint64_t give_up = conform_now_ns() + 3 * conform_patience_ns();
    for (uint64_t at = conform_random(stride);
         at < length && conform_now_ns() < give_up; at += stride) {
        stops += stop_at(at);
        waits += run.went_on_first;
        if (run.went_on_first && waits > WAITS_AT_FULL_PACE)
            stride += 1 + stride / 2;
    }
    run.ending = true;
    sem_post(&run.go);
    conform_thread_join(other);
    sem_destroy(&run.go);
    sigaction(SIGTRAP, &before, NULL);
    if (length == 0)
        conform_out_of_reach("needs single steps, which do not bite here");
    conform_evidence("steps",
                     "%llu instructions, stopped at %llu of them, went on "
                     "first %llu times",
                     (unsigned long long)length, (unsigned long long)stops,
                     (unsigned long long)waits);
}
