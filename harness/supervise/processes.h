/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * processes.h - what /proc says about processes and their threads.
 */
#ifndef SUPERVISE_PROCESSES_H
#define SUPERVISE_PROCESSES_H

#include <sys/types.h>

#include "text.h"

struct process {
    pid_t pid, parent, group, session;
    char state;
    char name[64];
};

/* False when there is no such process any more. */
bool process_read(pid_t pid, struct process *process);
/* The content of /proc/PID/FILE; nothing when it cannot be read. */
void process_file(pid_t pid, const char *file, struct text *text);
/* "sleeping" for 'S'. */
const char *process_state_word(char state);
/*
 * Our children into *children (caller frees). `thorough` looks through all
 * processes: slow, but misses none that begins or ends meanwhile.
 */
size_t process_children(pid_t **children, bool thorough);
/* Adds "3 threads: gusset-w0 sleeping, ..." on one line. */
void process_threads(pid_t pid, struct text *text);

#endif /* SUPERVISE_PROCESSES_H */
