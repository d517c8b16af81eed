/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * job.h - one run of one case, from its page and its process to its result.
 *
 * A job is driven by the scheduler: job_start, then job_read and job_ended as
 * the system reports, job_strike when its time is up, job_finish when nothing
 * of it runs any more.
 */
#ifndef SUPERVISE_JOB_H
#define SUPERVISE_JOB_H

#include "plan.h"

/* Output of a process: the beginning and the end of it. */
struct output {
    struct text head, tail;
    uint64_t bytes;
};

struct job {
    struct item *item;
    unsigned round;
    uint64_t seed;
    uint64_t started_ns, ended_ns;
    uint64_t patience_ns; /* from the start of the process */
    uint64_t deadline_ns; /* of the process, later of eu-stack */
    pid_t pid;            /* 0: there is none (any more) */
    pid_t leader;         /* what pid was; names the process group */
    int wait_status;
    int output_fd; /* -1: closed */
    struct output output;
    int page_fd;
    char *page_path;
    char *token;
    char *not_started;
    const struct unavailable *unavailable; /* there is no program, or NULL */
    bool timed_out;
    /* eu-stack at work on the process, once the time is up. */
    pid_t stack_pid;
    int stack_fd;
    struct text stacks;
    struct text states;
};

/* Starts the process; a job that could not start ends at once. */
void job_start(struct job *job, const struct plan *plan, struct item *item,
               unsigned round, const char *folder);

/* Reads what waits on the descriptors. */
void job_read(struct job *job);

/* Its time is up: asks for stacks the first time, kills the second time. */
void job_strike(struct job *job);

/* Takes the ends of its processes from the system, without waiting. */
void job_reap(struct job *job);

/* Ends its processes now. */
void job_kill(struct job *job);

/* True when neither its process nor eu-stack runs. */
bool job_over(const struct job *job);

/*
 * Ends what the job left behind, judges and fills in result. active[count]:
 * the children that belong to other jobs. Frees all that the job holds.
 */
void job_finish(struct job *job, const struct plan *plan, const pid_t *active,
                size_t count, struct result *result);

#endif /* SUPERVISE_JOB_H */
