/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Says in words what a fault in guarded memory was. Installed before anything
 * of the subject is looked at, and only where nobody else handles SIGSEGV; any
 * other fault ends the process by the signal, as if nothing were here.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>

#include "guard.h"
#include "internal.h"

static void
on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    const char *what =
        info->si_code > 0 ? guard_describe((uintptr_t)info->si_addr) : NULL;
    if (what != NULL) {
        expect_unreachable("the library touched %s", what);
    }
    /* Back to the instruction, which faults again; a sent signal does not. */
    (void)signal(number, SIG_DFL);
    if (info->si_code <= 0) {
        (void)raise(number);
    }
}

void
conform_guard_faults(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    if (sigaction(SIGSEGV, NULL, &action) != 0 ||
        action.sa_handler != SIG_DFL) {
        return;
    }
    action.sa_sigaction = on_fault;
    /* Not on the alternate stack: an overflow is to end by the signal. */
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    (void)sigaction(SIGSEGV, &action, NULL);
}
