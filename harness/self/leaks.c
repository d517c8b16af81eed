/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is left behind; and the census that sees it. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "self.h"

/* A mapping that is there before the first census. */
void *spare_mapping;

__attribute__((constructor)) static void
map_spare(void)
{
    spare_mapping = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void
descriptor(void)
{
    self_checked();
    if (open("/dev/null", O_RDONLY) < 0)
        exit(2);
}

static void
closed_descriptor(void)
{
    self_checked();
    close(0);
}

static void *
stay(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Counted by its thread id; the mapping of its stack comes on top. */
static void
thread(void)
{
    pthread_t thread;
    self_checked();
    pthread_create(&thread, NULL, stay, NULL);
}

static void
mapping(void)
{
    self_checked();
    if (mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED)
        exit(2);
}

static void
live_bytes(void)
{
    self_checked();
    self_live_bytes += 24;
}

static void
disposition(void)
{
    self_checked();
    signal(SIGPIPE, SIG_IGN);
}

static void
mask(void)
{
    sigset_t set;
    self_checked();
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void
change_umask(void)
{
    self_checked();
    umask(umask(0) ^ 0077);
}

static void
change_cwd(void)
{
    self_checked();
    if (chdir("/") != 0 || chdir("proc") != 0)
        exit(2);
}

static void
grandchild(void)
{
    self_checked();
    if (fork() == 0)
        stay(NULL);
}

/* A daemon as the book has it: own session, parent gone, standard output
 * still ours. Waits until it is out of reach. */
static void
other_session(void)
{
    int ready[2];
    char byte = 0;
    self_checked();
    if (pipe(ready) != 0)
        exit(2);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            if (write(ready[1], "x", 1) == 1)
                stay(NULL);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (read(ready[0], &byte, 1) != 1)
        exit(2);
    close(ready[0]);
    close(ready[1]);
}

const struct self_case leak_cases[] = {
    {.id = "leak.descriptor", .run = descriptor},
    {.id = "leak.closed-descriptor", .run = closed_descriptor},
    {.id = "leak.thread", .run = thread},
    {.id = "leak.mapping", .run = mapping},
    {.id = "leak.live-bytes", .run = live_bytes},
    {.id = "leak.disposition", .run = disposition},
    {.id = "leak.mask", .run = mask},
    {.id = "leak.umask", .run = change_umask},
    {.id = "leak.cwd", .run = change_cwd},
    {.id = "leak.grandchild", .run = grandchild},
    {.id = "leak.grandchild-of-another-session", .run = other_session},
    {.id = "leak.no-census", .run = self_checked},
    {.id = "leak.torn-census", .run = self_checked},
    {0},
};
