/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "schedule.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "exit_codes.h"
#include "job.h"
#include "leftovers.h"

enum { SLEEPERS = 8, TICK_MS = 100 };

/* The state of one schedule_run. */
struct loop {
    struct schedule *schedule;
    struct job *jobs;
    size_t slots;   /* of jobs */
    size_t working; /* jobs that cost a slot */
    size_t sleeping;
    size_t next; /* in plan->order */
    bool *taken; /* of plan->order: started before its turn */
    int signals; /* signalfd */
    struct pollfd *polled;
    pid_t *active;
};

static bool
sleeps(const struct item *item)
{
    return (item->info->tags & CASE_SLEEPS) != 0;
}

static void
open_signals(struct loop *loop, sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, before);
    loop->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signals < 0)
        quit(EXIT_OUR_BUG, "cannot watch for signals: %s", strerror(errno));
}

static void
read_signals(struct loop *loop)
{
    struct signalfd_siginfo info;
    while (read(loop->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo != SIGCHLD)
            loop->schedule->interrupted = (int)info.ssi_signo;
    }
}

static struct job *
free_slot(struct loop *loop)
{
    for (size_t i = 0; i < loop->slots; i++) {
        if (loop->jobs[i].item == NULL)
            return &loop->jobs[i];
    }
    return NULL;
}

/* Whether the run at `at` of the order may begin beside those that run. */
static bool
may_start(const struct loop *loop, size_t at)
{
    const struct plan *plan = loop->schedule->plan;
    if (at >= plan->together)
        return loop->working + loop->sleeping == 0;
    if (sleeps(&plan->items[plan->order[at]]))
        return loop->sleeping < SLEEPERS;
    return loop->working < loop->schedule->jobs;
}

static void
start_one(struct loop *loop, size_t at)
{
    struct plan *plan = loop->schedule->plan;
    struct item *item = &plan->items[plan->order[at]];
    size_t place = at < plan->together ? at : at - plan->together;
    size_t width = at < plan->together
                       ? plan->together / plan->rounds
                       : plan->count - plan->together / plan->rounds;
    loop->taken[at] = true;
    if (sleeps(item))
        loop->sleeping++;
    else
        loop->working++;
    job_start(free_slot(loop), plan, item, (unsigned)(place / width),
              loop->schedule->folder);
}

/*
 * Starts what may start. The order is kept but for one thing: a case that
 * only sleeps need not wait for a core, and one that needs a core need not
 * wait for a sleeper to end.
 */
static void
start_some(struct loop *loop)
{
    const struct plan *plan = loop->schedule->plan;
    size_t total = plan->count * plan->rounds;
    while (loop->next < total && loop->taken[loop->next])
        loop->next++;
    size_t end = loop->next < plan->together ? plan->together : total;
    for (size_t at = loop->next; at < end; at++) {
        bool full =
            loop->working >= loop->schedule->jobs && loop->sleeping >= SLEEPERS;
        if (full ||
            (at >= plan->together && loop->working + loop->sleeping > 0))
            return;
        if (!loop->taken[at] && may_start(loop, at))
            start_one(loop, at);
    }
}

static size_t
list_active(const struct loop *loop, const struct job *but)
{
    size_t count = 0;
    for (size_t i = 0; i < loop->slots; i++) {
        const struct job *job = &loop->jobs[i];
        if (job->item == NULL || job == but)
            continue;
        if (job->pid > 0)
            loop->active[count++] = job->pid;
        if (job->stack_pid > 0)
            loop->active[count++] = job->stack_pid;
    }
    return count;
}

static void
finish_one(struct loop *loop, struct job *job)
{
    struct schedule *schedule = loop->schedule;
    struct item *item = job->item;
    struct result result;
    size_t count = list_active(loop, job);
    job_finish(job, schedule->plan, loop->active, count, &result);
    if (sleeps(item))
        loop->sleeping--;
    else
        loop->working--;
    if (schedule->interrupted != 0) {
        result_free(&result);
        return;
    }
    schedule->seen(schedule->context, item, &result);
    plan_book(schedule->plan, item, &result);
    if (item->done == schedule->plan->rounds)
        schedule->settled(schedule->context, item);
}

static int
time_left_ms(const struct loop *loop, uint64_t now)
{
    uint64_t least = TICK_MS;
    for (size_t i = 0; i < loop->slots; i++) {
        const struct job *job = &loop->jobs[i];
        if (job->item == NULL)
            continue;
        uint64_t left =
            job->deadline_ns > now ? (job->deadline_ns - now) / 1000000 + 1 : 0;
        least = left < least ? left : least;
    }
    return (int)least;
}

static void
wait_for_news(struct loop *loop)
{
    nfds_t count = 0;
    loop->polled[count++] = (struct pollfd){loop->signals, POLLIN, 0};
    for (size_t i = 0; i < loop->slots; i++) {
        const struct job *job = &loop->jobs[i];
        if (job->item == NULL)
            continue;
        loop->polled[count++] = (struct pollfd){job->output_fd, POLLIN, 0};
        loop->polled[count++] = (struct pollfd){job->stack_fd, POLLIN, 0};
    }
    poll(loop->polled, count, time_left_ms(loop, now_ns()));
    read_signals(loop);
}

/* Brings each running job up to date; ends those that are over. */
static void
tend(struct loop *loop)
{
    uint64_t now = now_ns();
    for (size_t i = 0; i < loop->slots; i++) {
        struct job *job = &loop->jobs[i];
        if (job->item == NULL)
            continue;
        job_read(job);
        job_reap(job);
        if (!job_over(job) && loop->schedule->interrupted != 0)
            job_kill(job);
        else if (!job_over(job) && now >= job->deadline_ns)
            job_strike(job);
        if (job_over(job))
            finish_one(loop, job);
    }
}

void
schedule_run(struct schedule *schedule)
{
    struct plan *plan = schedule->plan;
    size_t total = plan->count * plan->rounds;
    sigset_t before;
    struct loop loop = {.schedule = schedule,
                        .slots = schedule->jobs + SLEEPERS};
    loop.jobs = need_memory(loop.slots, sizeof *loop.jobs);
    loop.taken = need_memory(total, sizeof *loop.taken);
    loop.polled = need_memory(1 + 2 * loop.slots, sizeof *loop.polled);
    loop.active = need_memory(2 * loop.slots, sizeof *loop.active);
    schedule->interrupted = 0;
    open_signals(&loop, &before);
    for (;;) {
        if (schedule->interrupted == 0)
            start_some(&loop);
        if (loop.working + loop.sleeping == 0)
            break;
        wait_for_news(&loop);
        tend(&loop);
        schedule->tick(schedule->context, loop.working + loop.sleeping);
    }
    leftovers_end_strays(NULL, 0, &schedule->strays);
    close(loop.signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(loop.jobs);
    free(loop.taken);
    free(loop.polled);
    free(loop.active);
}
