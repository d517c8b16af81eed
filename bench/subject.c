/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "subject.h"

#include <dirent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
void
bench_pause(void)
{
    __builtin_ia32_pause();
}
#elif defined(__aarch64__)
void
bench_pause(void)
{
    __asm__ __volatile__("yield");
}
#else
void
bench_pause(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}
#endif

void
bench_die(const char *format, ...)
{
    va_list args;

    fputs("bench: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

int
bench_pick_cpus(int *host_cpu, int *partner_cpu)
{
    cpu_set_t allowed;
    int found = 0;
    int cpu;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        bench_die("sched_getaffinity failed");
    for (cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        *(found == 0 ? host_cpu : partner_cpu) = cpu;
        found++;
    }
    return found == 2 ? 0 : -1;
}

/* thread 0: the calling one. */
static void
pin_thread(pid_t thread, int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(thread, sizeof one, &one) != 0)
        bench_die("cannot pin a thread to CPU %d", cpu);
}

void
bench_pin(int cpu)
{
    pin_thread(0, cpu);
}

/* The worker is the one thread besides the caller. */
static void
pin_worker(int cpu)
{
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *entry;
    int pinned = 0;

    if (tasks == NULL)
        bench_die("cannot read /proc/self/task");
    while ((entry = readdir(tasks)) != NULL) {
        pid_t thread = (pid_t)atoi(entry->d_name);

        if (thread <= 0 || thread == getpid())
            continue;
        pin_thread(thread, cpu);
        pinned++;
    }
    closedir(tasks);
    if (pinned != 1)
        bench_die("expected one worker thread, found %d", pinned);
}

static void
expect_ok(int32_t code, const char *call, FfiStatus *status)
{
    if (code == FFI_OK)
        return;
    bench_die("%s returned %d: %.*s", call, (int)code, (int)status->msg_len,
              status->msg_len > 0 ? (const char *)status->msg : "");
}

void
bench_open(struct bench_subject *subject, int host_cpu, int worker_cpu)
{
    const uint8_t *shared;
    const uint8_t *slots;
    FfiStatus status;
    int ends[2];

    memset(subject, 0, sizeof *subject);
    if (pipe(ends) != 0)
        bench_die("pipe failed");
    /* Pinned afterwards: a library may look at the CPUs that it is given when
     * it decides how its workers wait. */
    expect_ok(gusset_handle_open(1, ends[1], &subject->handle, &status),
              "gusset_handle_open", &status);
    pin_worker(worker_cpu);
    bench_pin(host_cpu);
    subject->pipe_read = ends[0];
    expect_ok(gusset_handle_ring(subject->handle, &subject->ring, &shared,
                                 &slots, &subject->capacity, &status),
              "gusset_handle_ring", &status);
    /* The ring's memory is the reader's to write, whatever the const says. */
    subject->shared = (uint8_t *)(uintptr_t)shared;
    subject->slots = (uint8_t *)(uintptr_t)slots;
}

void
bench_close(struct bench_subject *subject)
{
    FfiStatus status;

    expect_ok(gusset_handle_close(subject->handle, &status),
              "gusset_handle_close", &status);
    gusset_ring_release(subject->ring);
    close(subject->pipe_read);
}

uint64_t
bench_submit(struct bench_subject *subject, const uint8_t *input, size_t len)
{
    CallHeader header = {.flags = GUSSET_FLAG_DIAGNOSTIC_ENGINE |
                                  GUSSET_FLAG_INLINE_COMPLETION};
    FfiStatus status;
    uint64_t ticket;

    expect_ok(gusset_submit(subject->handle, &header, input, len, 0, &ticket,
                            &status),
              "gusset_submit", &status);
    return ticket;
}

static _Atomic uint64_t *
sequence_word(const struct bench_subject *subject)
{
    uint64_t slot = subject->position & (subject->capacity - 1);

    return (_Atomic uint64_t *)(void *)(subject->slots +
                                        slot * GUSSET_RING_SLOT_BYTES);
}

int
bench_ready(const struct bench_subject *subject)
{
    /* Acquire: pairs with the writer's store after the record's words. */
    return atomic_load_explicit(sequence_word(subject), memory_order_acquire) ==
           subject->position + 1;
}

__attribute__((noinline)) void
bench_take_record(struct bench_subject *subject, struct bench_record *record)
{
    _Atomic uint64_t *sequence = sequence_word(subject);

    memcpy(record->words,
           (const uint8_t *)sequence + GUSSET_RING_SLOT_OFF_RECORD,
           sizeof record->words);
    /* Release: the copy is done before a writer may reuse the slot. */
    atomic_store_explicit(sequence, subject->position + subject->capacity,
                          memory_order_release);
    subject->position++;
}

static void
check_echo(const struct bench_record *record, uint64_t ticket,
           const uint8_t *input, size_t len)
{
    if (record->words[0] != (ticket | GUSSET_INLINE_RECORD_FLAG))
        bench_die("expected an inline record of ticket %llu, got word %llx",
                  (unsigned long long)ticket,
                  (unsigned long long)record->words[0]);
    if (record->words[1] != len || memcmp(&record->words[2], input, len) != 0)
        bench_die("the echo of ticket %llu differs from its input",
                  (unsigned long long)ticket);
}

void
bench_round_trip(struct bench_subject *subject)
{
    static const uint8_t input[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct bench_record record;
    uint64_t ticket = bench_submit(subject, input, sizeof input);

    while (!bench_ready(subject))
        bench_pause();
    bench_take_record(subject, &record);
    check_echo(&record, ticket, input, sizeof input);
}

__attribute__((noinline)) uint64_t
bench_counted_submit(struct bench_subject *subject, const uint8_t *input,
                     size_t len)
{
    return bench_submit(subject, input, len);
}

void
bench_pair(struct bench_subject *subject)
{
    static const uint8_t input[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct bench_record record;
    uint64_t tickets[2];
    int i;

    tickets[0] = bench_submit(subject, input, sizeof input);
    tickets[1] = bench_counted_submit(subject, input, sizeof input);
    for (i = 0; i < 2; i++) {
        while (!bench_ready(subject))
            sched_yield();
        bench_take_record(subject, &record);
        check_echo(&record, tickets[i], input, sizeof input);
    }
}
