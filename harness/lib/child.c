/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "internal.h"

int
conform_reap(int32_t child, const char *what)
{
    int status = 0;
    uint64_t end = conform_now_ns() + conform_patience_ns();
    const struct timespec pause = {.tv_nsec = 200000};
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 &&
           conform_now_ns() < end)
        nanosleep(&pause, NULL);
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        expect_unreachable("%s: the child ends within patience", what);
    }
    if (ended != child)
        conform_broken("waitpid: %s", strerror(errno));
    return status;
}
