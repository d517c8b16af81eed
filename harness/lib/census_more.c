/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The part of the census that a host notices late: how it computes, how it is
 * scheduled, what a crash leaves, who it is. All by system calls that take no
 * time, the three files aside.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "internal.h"

/*
 * Rounding and traps, and whether subnormal numbers are zeros: an object that
 * was linked for fast arithmetic sets that for whoever loads it. The sticky
 * flags change with every inexact sum and do not count.
 */
static void
arithmetic_lines(struct census_text *text)
{
    volatile double smallest = 0x1p-1074;
    volatile double sum = smallest + 0.0;
    census_line(text, "arithmetic main\trounding=%d traps=0x%x subnormal=%d",
                fegetround(), (unsigned)fegetexcept(), sum != 0.0);
}

static uint64_t
affinity_hash(void)
{
    uint64_t hash = 0;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            hash = hash * 31 + (CPU_ISSET(cpu, &allowed) ? cpu + 1 : 0);
        }
    }
    return hash;
}

static void
scheduling_lines(struct census_text *text)
{
    struct sched_param parameters = {0};
    (void)sched_getparam(0, &parameters);
    census_line(
        text,
        "scheduling main\tpolicy=%d priority=%d nice=%d cpus=%016" PRIx64
        " slack=%d",
        sched_getscheduler(0), parameters.sched_priority,
        getpriority(PRIO_PROCESS, 0), affinity_hash(),
        prctl(PR_GET_TIMERSLACK));
}

static void
pending_line(struct census_text *text)
{
    uint64_t bits = 0;
    sigset_t pending;
    sigemptyset(&pending);
    (void)sigpending(&pending);
    for (int number = 1; number <= 64; number++) {
        if (sigismember(&pending, number) == 1) {
            bits |= UINT64_C(1) << (number - 1);
        }
    }
    census_line(text, "pending main\t%016" PRIx64, bits);
}

/* The first line of a file of /proc, `?` without one. */
static void
file_line(struct census_text *text, const char *key, const char *path)
{
    char value[64];
    if (!census_read(path, value, sizeof value)) {
        value[0] = '?';
        value[1] = '\0';
    }
    value[strcspn(value, "\n")] = '\0';
    census_clean(value);
    census_line(text, "process %s\t%s", key, value);
}

static void
attribute_lines(struct census_text *text)
{
    char name[17] = "";
    int subreaper = 0;
    int death_signal = 0;
    (void)prctl(PR_GET_NAME, name);
    (void)prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    (void)prctl(PR_GET_PDEATHSIG, &death_signal);
    census_clean(name);
    census_line(text, "process name\t%s", name);
    census_line(text, "process dumpable\t%d", prctl(PR_GET_DUMPABLE));
    census_line(text, "process no-new-privileges\t%d",
                prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    census_line(text, "process subreaper\t%d", subreaper);
    census_line(text, "process death-signal\t%d", death_signal);
    census_line(text, "process personality\t%x",
                (unsigned)personality(0xffffffff));
    file_line(text, "coredump-filter", "/proc/self/coredump_filter");
    file_line(text, "oom-score-adjustment", "/proc/self/oom_score_adj");
}

static void
identity_lines(struct census_text *text)
{
    uid_t users[3] = {0};
    gid_t groups[3] = {0};
    char root[256];
    ssize_t len = readlink("/proc/self/root", root, sizeof root - 1);
    root[len < 0 ? 0 : len] = '\0';
    census_clean(root);
    (void)getresuid(&users[0], &users[1], &users[2]);
    (void)getresgid(&groups[0], &groups[1], &groups[2]);
    census_line(text, "process root\t%s", root);
    census_line(text, "process session\tgroup=%d session=%d", (int)getpgrp(),
                (int)getsid(0));
    census_line(text, "process identity\tuser=%u,%u,%u group=%u,%u,%u",
                users[0], users[1], users[2], groups[0], groups[1], groups[2]);
}

void
census_more(struct census_text *text)
{
    arithmetic_lines(text);
    scheduling_lines(text);
    pending_line(text);
    attribute_lines(text);
    identity_lines(text);
}
