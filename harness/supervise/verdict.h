/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * verdict.h - the words a case can end with, and names for how a process
 * ended.
 */
#ifndef SUPERVISE_VERDICT_H
#define SUPERVISE_VERDICT_H

#include <stdbool.h>

#include "text.h"

/* Name, word, and whether the word speaks against the implementation. */
#define VERDICTS(X)                                \
    X(VERDICT_PASS, "PASS", false)                 \
    X(VERDICT_FAIL, "FAIL", true)                  \
    X(VERDICT_CRASH, "CRASH", true)                \
    X(VERDICT_HANG, "HANG", true)                  \
    X(VERDICT_LEAK, "LEAK", true)                  \
    X(VERDICT_SKIP, "SKIP", false)                 \
    X(VERDICT_OUT_OF_REACH, "OUT-OF-REACH", false) \
    X(VERDICT_WAIVED, "WAIVED", false)             \
    X(VERDICT_FLAKY, "FLAKY", false)               \
    X(VERDICT_BROKEN, "BROKEN", false)

enum verdict {
#define VERDICT_ENUM(name, word, against) name,
    VERDICTS(VERDICT_ENUM)
#undef VERDICT_ENUM
        VERDICT_COUNT
};

const char *verdict_word(enum verdict verdict);
/* FAIL, CRASH, HANG, LEAK: the implementation does not conform. */
bool verdict_against(enum verdict verdict);
/* BROKEN and FLAKY: nothing can be said. */
bool verdict_unclear(enum verdict verdict);

/* "SIGSEGV", "SIGRTMIN+3"; valid until the next call. */
const char *signal_name(int number);
/* The number of "SIGSEGV" or "SEGV"; 0 when there is no such signal. */
int signal_number(const char *name);
/* "exit 3" or "killed by SIGSEGV (Segmentation fault)". */
void describe_ending(int wait_status, struct text *text);

#endif /* SUPERVISE_VERDICT_H */
