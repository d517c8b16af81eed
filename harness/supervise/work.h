/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * work.h - the folder of the reports while a run writes there: locked, with a
 * folder inside it for the pages of the cases.
 */
#ifndef SUPERVISE_WORK_H
#define SUPERVISE_WORK_H

/*
 * Locks the folder until this process ends: two runs that write the same
 * reports would mix them. Quits with EXIT_USAGE when another one has it.
 */
void work_lock(const char *folder);

/*
 * Makes FOLDER/work-PID, absolute, which the caller gives to work_remove; takes
 * away what runs that were killed left there. The folder is locked. Quits with
 * EXIT_USAGE when it cannot.
 */
char *work_make(const char *folder);
/* Removes the folder, which is empty by now, and frees its name. */
void work_remove(char *path);

#endif /* SUPERVISE_WORK_H */
