/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * steady windows      windows for syscount, which starts it, and the
 *                     allocation checks
 * steady trips COUNT  COUNT pairs of round trips, for a counter of
 *                     instructions that runs one thread at a time
 *
 * Allocations are counted twice: by the library's own statistics, and by
 * wrapping the allocator's entry points in this program's link, which the
 * library (an archive here) cannot get round.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "samples.h"
#include "subject.h"
#include "windows.h"

#define WARM_UP 200
#define WINDOWS_NS 60e9 /* longest search for quiet windows */
#define WATCHDOG_SECONDS 240

static _Atomic uint64_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

/* Relaxed: read only after the threads that count have handed over. */
static void
count_allocation(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *
__wrap_malloc(size_t size)
{
    count_allocation();
    return __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    count_allocation();
    return __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    count_allocation();
    return __real_realloc(memory, size);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
    count_allocation();
    return __real_aligned_alloc(alignment, size);
}

int
__wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
    count_allocation();
    return __real_posix_memalign(memory, alignment, size);
}

static uint64_t
library_allocations(void)
{
    AllocStats stats;

    gusset_alloc_stats(&stats);
    return stats.alloc_count;
}

static int
judge(int good, const char *what, uint64_t expected, const char *relation,
      uint64_t actual)
{
    printf("%s %s: expected %s%llu, got %llu\n", good ? "ok    " : "not ok",
           what, relation, (unsigned long long)expected,
           (unsigned long long)actual);
    return good ? 0 : 1;
}

static void
open_window(struct bench_windows *windows, uint32_t window)
{
    atomic_store(&windows->open, window);
}

static void
host_control(struct bench_windows *windows)
{
    int i;

    open_window(windows, BENCH_HOST_CONTROL);
    for (i = 0; i < BENCH_HOST_CONTROL_CALLS; i++)
        syscall(SYS_getppid);
    open_window(windows, 0);
}

/* Mode 5 sleeps 10 ms on the worker, which no thread can do without a call. */
static void
worker_control(struct bench_windows *windows, struct bench_subject *subject)
{
    static const uint8_t sleep_once[2] = {5, 1};
    struct bench_record record;

    open_window(windows, BENCH_WORKER_CONTROL);
    bench_submit(subject, sleep_once, sizeof sleep_once);
    while (!bench_ready(subject))
        bench_pause();
    bench_take_record(subject, &record);
    open_window(windows, 0);
}

/* A buffer must move both counters, or a zero of theirs means nothing. */
static int
allocation_control(struct bench_subject *subject)
{
    uint64_t wrapped = atomic_load(&allocations);
    uint64_t library = library_allocations();
    FfiStatus status;
    uint8_t *bytes;
    uint64_t id;
    int failed = 0;

    if (gusset_buf_alloc(subject->handle, 4096, &id, &bytes, &status) !=
            FFI_OK ||
        gusset_buf_free(subject->handle, id, &status) != FFI_OK)
        bench_die("the control buffer was refused");
    wrapped = atomic_load(&allocations) - wrapped;
    library = library_allocations() - library;
    failed += judge(wrapped >= 1, "control: a buffer moves the wrapped malloc",
                    1, "at least ", wrapped);
    failed += judge(library >= 1, "control: a buffer moves alloc_count", 1,
                    "at least ", library);
    return failed;
}

/*
 * One round trip more than counted: the worker cannot answer it while the
 * tracer holds it for a call of the last counted one, so such a call is found
 * in the window where it was made.
 */
static void
steady_window(struct bench_windows *windows, struct bench_subject *subject,
              uint32_t window)
{
    int i;

    /* What came between the windows gave the worker time to go to sleep. */
    for (i = 0; i < WARM_UP; i++)
        bench_round_trip(subject);
    open_window(windows, window);
    for (i = 0; i < BENCH_STEADY_ROUND_TRIPS + 1; i++)
        bench_round_trip(subject);
    open_window(windows, 0);
    atomic_fetch_add(&windows->finished, 1);
}

static void
steady_windows(struct bench_windows *windows, struct bench_subject *subject)
{
    double start = bench_now();
    uint32_t quiet = 0;
    uint32_t window;

    for (window = BENCH_FIRST_STEADY;
         window < BENCH_WINDOWS && quiet < BENCH_QUIET_WANTED &&
         bench_now() - start < WINDOWS_NS;
         window++) {
        steady_window(windows, subject, window);
        quiet += atomic_load(&windows->host_calls[window]) == 0 &&
                 atomic_load(&windows->other_calls[window]) == 0;
    }
}

/* The tracer's page; NULL if no tracer has started this program. */
static struct bench_windows *
map_windows(void)
{
    const char *text = getenv(BENCH_WINDOWS_ENV);
    void *page;

    if (text == NULL)
        return NULL;
    page = mmap(NULL, sizeof(struct bench_windows), PROT_READ | PROT_WRITE,
                MAP_SHARED, atoi(text), 0);
    return page == MAP_FAILED ? NULL : page;
}

static int
run_windows(void)
{
    struct bench_windows *windows = map_windows();
    struct bench_subject subject;
    int host_cpu;
    int worker_cpu;
    uint64_t wrapped;
    uint64_t library;
    int failed;
    int i;

    if (windows == NULL) {
        fputs("steady: windows is for syscount to start\n", stderr);
        return 2;
    }
    if (bench_pick_cpus(&host_cpu, &worker_cpu) != 0) {
        fputs("steady: needs two CPUs, this process may use one\n", stderr);
        return 3;
    }
    bench_open(&subject, host_cpu, worker_cpu);
    host_control(windows);
    worker_control(windows, &subject);
    failed = allocation_control(&subject);
    for (i = 0; i < WARM_UP; i++)
        bench_round_trip(&subject);
    wrapped = atomic_load(&allocations);
    library = library_allocations();
    steady_windows(windows, &subject);
    wrapped = atomic_load(&allocations) - wrapped;
    library = library_allocations() - library;
    failed += judge(wrapped == 0, "steady state: wrapped allocations", 0, "",
                    wrapped);
    failed += judge(library == 0, "steady state: alloc_count", 0, "", library);
    bench_close(&subject);
    return failed == 0 ? 0 : 1;
}

static int
run_trips(const char *text)
{
    struct bench_subject subject;
    int host_cpu;
    int worker_cpu;
    char *end;
    unsigned long count;
    unsigned long i;

    errno = 0;
    count = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || count > 100000000) {
        fprintf(stderr, "steady: not a count: %s\n", text);
        return 2;
    }
    bench_pick_cpus(&host_cpu, &worker_cpu);
    bench_open(&subject, host_cpu, host_cpu);
    for (i = 0; i < count; i++)
        bench_pair(&subject);
    bench_close(&subject);
    return 0;
}

int
main(int argc, char **argv)
{
    alarm(WATCHDOG_SECONDS);
    if (argc == 2 && strcmp(argv[1], "windows") == 0)
        return run_windows();
    if (argc == 3 && strcmp(argv[1], "trips") == 0)
        return run_trips(argv[2]);
    fputs("usage: steady windows | steady trips COUNT\n", stderr);
    return 2;
}
