/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * breakpoint.h - one breakpoint of the processor, for the calling thread
 * alone: SIGTRAP before the instruction at an address is executed. No code is
 * changed, so the other threads of the process run on.
 */
#ifndef CONFORM_BREAKPOINT_H
#define CONFORM_BREAKPOINT_H

#include <stdbool.h>
#include <stdint.h>

/* False where the system gives none (containers often do not). */
bool conform_breakpoint_open(void);
void conform_breakpoint_close(void);

/* False: not at this address. Moves it when it is set already. */
bool conform_breakpoint_set(uintptr_t address);
/* From a signal handler, too. */
void conform_breakpoint_clear(void);

#endif /* CONFORM_BREAKPOINT_H */
