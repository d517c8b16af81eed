/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"
#include "leftovers.h"
#include "page.h"
#include "processes.h"
#include "same_file.h"
#include "spawn.h"

enum {
    HEAD_BYTES = 32768,
    TAIL_BYTES = 32768,
    BLOCKS_AT_ONCE = 16, /* so that one flood does not starve the others */
    STACKS_BYTES = 262144
};
#define STACKS_PATIENCE_NS UINT64_C(10000000000)
#define LAST_WORDS_NS UINT64_C(3000000000)

static void
output_add(struct output *output, const char *bytes, size_t len)
{
    output->bytes += len;
    size_t room = HEAD_BYTES - output->head.len;
    size_t first = len < room ? len : room;
    text_add_bytes(&output->head, bytes, first);
    text_add_bytes(&output->tail, bytes + first, len - first);
    if (output->tail.len > 4 * TAIL_BYTES) {
        size_t cut = output->tail.len - TAIL_BYTES;
        memmove(output->tail.bytes, output->tail.bytes + cut, TAIL_BYTES);
        output->tail.len = TAIL_BYTES;
    }
}

static char *
output_clean(struct output *output)
{
    struct text text = {0};
    size_t tail = output->tail.len;
    size_t cut = tail > TAIL_BYTES ? tail - TAIL_BYTES : 0;
    uint64_t lost = output->bytes - output->head.len - (tail - cut);
    text_add_clean(&text, text_get(&output->head), output->head.len);
    if (lost > 0)
        text_add(&text, "\n... %llu bytes of output are left out ...\n",
                 (unsigned long long)lost);
    text_add_clean(&text, text_get(&output->tail) + cut, tail - cut);
    return text_take(&text);
}

/* The room is taken now: later a full disk would kill the case by SIGBUS. */
static bool
make_page(struct job *job, const char *folder)
{
    struct conform_page head = {.magic = CONFORM_PAGE_MAGIC,
                                .version = CONFORM_PAGE_VERSION,
                                .bytes = sizeof head};
    job->page_path = need_format("%s/page-%s", folder, job->token);
    job->page_fd =
        open(job->page_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = job->page_fd < 0 ? errno : 0;
    if (error == 0)
        error = posix_fallocate(job->page_fd, 0, sizeof head);
    if (error == 0 && pwrite(job->page_fd, &head, 64, 0) != 64)
        error = errno;
    if (error != 0)
        job->not_started = need_format("cannot make its page %s: %s",
                                       job->page_path, strerror(error));
    return error == 0;
}

static void
execute(struct job *job, const struct plan *plan)
{
    const struct subject *subject = job->item->subject;
    const struct case_info *info = job->item->info;
    const char *program = subject_program(subject, plan->manifest, info);
    char *seed = need_format("%llu", (unsigned long long)job->seed);
    char *scale = need_format("%g", plan->timeout_scale);
    char *argv[] = {(char *)program,
                    "--run",
                    info->id,
                    "--page",
                    job->page_path,
                    "--seed",
                    seed,
                    "--effort",
                    (char *)plan->effort,
                    "--timeout-scale",
                    scale,
                    NULL,
                    NULL,
                    NULL,
                    NULL,
                    NULL,
                    NULL,
                    NULL};
    char **next = argv + 11;
    if (subject->has_artifact) {
        *next++ = "--impl";
        *next++ = subject->artifact.path;
    }
    if (plan->claims->path != NULL) {
        *next++ = "--claims";
        *next++ = plan->claims->path;
    }
    if (subject->test_engine != NULL) {
        *next++ = "--test-engine";
        *next++ = subject->test_engine->path;
    }
    struct strings environment =
        spawn_environment(job->token, info->dies_by != 0);
    pid_t pid = spawn_start(argv, environment.items, &job->output_fd, NULL);
    if (pid < 0)
        job->not_started = need_format("%s: %s", program, strerror(errno));
    else
        job->pid = job->leader = pid;
    strings_free(&environment);
    free(seed);
    free(scale);
}

void
job_start(struct job *job, const struct plan *plan, struct item *item,
          unsigned round, const char *folder)
{
    static unsigned long serial;
    *job = (struct job){.item = item,
                        .round = round,
                        .seed = plan->seed + round,
                        .output_fd = -1,
                        .stack_fd = -1,
                        .page_fd = -1};
    job->token = need_format("%ld-%lu", (long)getpid(), ++serial);
    job->started_ns = now_ns();
    job->unavailable =
        subject_unavailable(item->subject, plan->manifest, item->info);
    if (job->unavailable == NULL && make_page(job, folder))
        execute(job, plan);
    job->ended_ns = now_ns();
    job->patience_ns =
        (uint64_t)((double)item->info->timeout_ms * 1e6 * plan->hang_scale);
    job->deadline_ns = job->ended_ns + job->patience_ns;
}

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Reads up to `blocks` blocks; closes at the end of the pipe. */
static void
read_output(struct job *job, int blocks)
{
    char block[65536];
    while (job->output_fd >= 0 && blocks-- > 0) {
        ssize_t got = read(job->output_fd, block, sizeof block);
        if (got > 0)
            output_add(&job->output, block, (size_t)got);
        else if (got < 0 && errno == EINTR)
            continue;
        else if (got < 0 && errno == EAGAIN)
            return;
        else
            close_fd(&job->output_fd);
    }
}

void
job_read(struct job *job)
{
    read_output(job, BLOCKS_AT_ONCE);
    if (job->stack_fd >= 0 && !spawn_read(job->stack_fd, &job->stacks))
        close_fd(&job->stack_fd);
}

/* The stacks are taken. A program in Go has goroutines, too, and prints them
 * before it ends. */
static void
end_hanging(struct job *job)
{
    if (!job->item->info->program->go || job->pid <= 0) {
        job_kill(job);
        return;
    }
    kill(job->pid, SIGQUIT);
    job->deadline_ns = now_ns() + LAST_WORDS_NS;
}

void
job_strike(struct job *job)
{
    if (job->timed_out) {
        job_kill(job);
        return;
    }
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)job->pid);
    char *argv[] = {"eu-stack", "-p", pid, NULL};
    struct strings environment = spawn_environment("none", false);
    job->timed_out = true;
    job->deadline_ns = now_ns() + STACKS_PATIENCE_NS;
    process_threads(job->pid, &job->states);
    job->stack_pid = spawn_start(argv, environment.items, &job->stack_fd, NULL);
    strings_free(&environment);
    if (job->stack_pid < 0) {
        text_add(&job->stacks, "no stacks: cannot run eu-stack: %s\n",
                 strerror(errno));
        job->stack_pid = 0;
        end_hanging(job);
    }
}

void
job_kill(struct job *job)
{
    if (job->pid > 0)
        kill(-job->pid, SIGKILL);
    if (job->stack_pid > 0)
        kill(-job->stack_pid, SIGKILL);
}

void
job_reap(struct job *job)
{
    if (job->pid > 0 && waitpid(job->pid, &job->wait_status, WNOHANG) != 0) {
        job->ended_ns = now_ns();
        job->pid = 0;
    }
    if (job->stack_pid > 0 &&
        waitpid(job->stack_pid, NULL, WNOHANG) == job->stack_pid) {
        job->stack_pid = 0;
        end_hanging(job);
    }
}

bool
job_over(const struct job *job)
{
    return job->pid == 0 && job->stack_pid == 0;
}

/* NULL, or why the page cannot be read. */
static const char *
read_page(const struct job *job, struct conform_page *page)
{
    struct stat stat;
    if (fstat(job->page_fd, &stat) != 0 || stat.st_size != sizeof *page)
        return "its size changed";
    size_t at = 0;
    while (at < sizeof *page) {
        ssize_t got = pread(job->page_fd, (char *)page + at, sizeof *page - at,
                            (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return "it cannot be read";
        at += (size_t)got;
    }
    return NULL;
}

static char *
bounded_stacks(struct text *stacks)
{
    struct text text = {0};
    if (stacks->len == 0)
        return NULL;
    size_t len = stacks->len < STACKS_BYTES ? stacks->len : STACKS_BYTES;
    text_add_clean(&text, stacks->bytes, len);
    return text_take(&text);
}

static void
release(struct job *job)
{
    close_fd(&job->output_fd);
    close_fd(&job->stack_fd);
    close_fd(&job->page_fd);
    if (job->page_path != NULL)
        unlink(job->page_path);
    free(job->page_path);
    free(job->token);
    free(job->not_started);
    text_free(&job->output.head);
    text_free(&job->output.tail);
    text_free(&job->stacks);
    text_free(&job->states);
    *job = (struct job){.output_fd = -1, .stack_fd = -1, .page_fd = -1};
}

/* No process was there to be judged: the same word for all its cases. */
static void
finish_unavailable(const struct job *job, struct result *result)
{
    const struct unavailable *unavailable = job->unavailable;
    result->verdict = unavailable->verdict;
    result->reason = need_copy(unavailable->reason);
    if (unavailable->output != NULL && unavailable->output[0] != '\0') {
        result->output = need_copy(unavailable->output);
        result->output_bytes = strlen(unavailable->output);
    }
}

void
job_finish(struct job *job, const struct plan *plan, const pid_t *active,
           size_t count, struct result *result)
{
    static struct conform_page page;
    struct text leftovers = {0};
    *result = (struct result){.seed = job->seed, .round = job->round};
    if (job->unavailable != NULL) {
        finish_unavailable(job, result);
        release(job);
        return;
    }
    if (job->leader > 0)
        leftovers_end(job->leader, job->token, active, count, &leftovers);
    read_output(job, 1 + 2 * BLOCKS_AT_ONCE);
    if (job->stack_fd >= 0)
        spawn_read(job->stack_fd, &job->stacks);
    result->seconds = (double)(job->ended_ns - job->started_ns) / 1e9;
    result->output_bytes = job->output.bytes;
    if (job->output.bytes > 0)
        result->output = output_clean(&job->output);
    if (job->timed_out)
        result->stacks = bounded_stacks(&job->stacks);
    const char *build_id =
        subject_build_id(job->item->subject, plan->manifest, job->item->info);
    struct observation seen = {
        .info = job->item->info,
        .not_started = job->not_started,
        .wait_status = job->wait_status,
        .timed_out = job->timed_out,
        .patience_s = (double)job->patience_ns / 1e9,
        .states = text_get(&job->states),
        .page = &page,
        .page_trouble = job->not_started ? NULL : read_page(job, &page),
        .leftovers = job->timed_out ? "" : text_get(&leftovers),
        .output = result->output ? result->output : "",
        .build_id = build_id};
    judge(&seen, result);
    same_file_note(job->item->subject, build_id, result);
    if (same_file_case(job->item->info))
        same_file_check(job->item->subject, result);
    text_free(&leftovers);
    release(job);
}
