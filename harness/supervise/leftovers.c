/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exit_codes.h"
#include "processes.h"
#include "spawn.h"

enum { PASSES = 1000 };

/* Children from before our time, inherited over an exec. */
static pid_t *inherited;
static size_t inherited_count;

void
leftovers_adopt(void)
{
    inherited_count = process_children(&inherited, true);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        quit(EXIT_OUR_BUG,
             "cannot become the reaper of left-over processes: "
             "%s",
             strerror(errno));
}

/* True when the environment the process was started with has the token; any
 * token for NULL. */
static bool
carries(pid_t pid, const char *token)
{
    struct text environment = {0};
    char wanted[128];
    process_file(pid, "environ", &environment);
    size_t len = (size_t)snprintf(wanted, sizeof wanted, "%s=%s", SPAWN_TOKEN,
                                  token ? token : "");
    bool found = false;
    for (size_t at = 0; at < environment.len && !found;) {
        const char *setting = environment.bytes + at;
        size_t size = strnlen(setting, environment.len - at);
        found = (token == NULL ? size >= len : size == len) &&
                memcmp(setting, wanted, len) == 0;
        at += size + 1;
    }
    text_free(&environment);
    return found;
}

/* Whether the process is what the ended case left; or, without a token,
 * whether it can only come from a case. */
static bool
is_left(const struct process *process, pid_t leader, const char *token)
{
    if (token == NULL)
        return inherited_count == 0 || carries(process->pid, NULL);
    return process->group == leader || process->session == leader ||
           carries(process->pid, token);
}

static bool
is_active(pid_t pid, const pid_t *active, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (active[i] == pid)
            return true;
    }
    return false;
}

static void
end_one(const struct process *process, struct text *names)
{
    const struct timespec pause = {0, 1000000};
    text_add(names, "left-over process %d (", (int)process->pid);
    text_add_clean(names, process->name, strlen(process->name));
    text_add(names, ", %s)\n", process_state_word(process->state));
    kill(process->pid, SIGKILL);
    for (int i = 0; i < 2000; i++) {
        if (waitpid(process->pid, NULL, WNOHANG) != 0)
            return;
        nanosleep(&pause, NULL);
    }
}

/* One look at our children; true when one was ended. */
static bool
pass(pid_t leader, const char *token, const pid_t *active, size_t count,
     struct text *names)
{
    pid_t *children = NULL;
    bool found = false;
    size_t number = process_children(&children, token == NULL);
    for (size_t i = 0; i < number; i++) {
        struct process process;
        if (is_active(children[i], active, count) ||
            is_active(children[i], inherited, inherited_count) ||
            !process_read(children[i], &process))
            continue;
        if (process.state == 'Z') {
            waitpid(children[i], NULL, WNOHANG);
            continue;
        }
        if (!is_left(&process, leader, token))
            continue;
        end_one(&process, names);
        found = true;
    }
    free(children);
    return found;
}

void
leftovers_end(pid_t leader, const char *token, const pid_t *active,
              size_t count, struct text *names)
{
    /* Ending one hands its own children to us: look again. */
    for (int i = 0; i < PASSES; i++) {
        if (!pass(leader, token, active, count, names))
            break;
    }
    kill(-leader, SIGKILL);
}

void
leftovers_end_strays(const pid_t *active, size_t count, struct text *names)
{
    for (int i = 0; i < PASSES; i++) {
        if (!pass(0, NULL, active, count, names))
            break;
    }
}
