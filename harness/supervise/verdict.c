/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct {
    const char *word;
    bool against;
} verdicts[] = {
#define VERDICT_ROW(name, word, against) {word, against},
    VERDICTS(VERDICT_ROW)
#undef VERDICT_ROW
};

const char *
verdict_word(enum verdict verdict)
{
    return verdicts[verdict].word;
}

bool
verdict_against(enum verdict verdict)
{
    return verdicts[verdict].against;
}

bool
verdict_unclear(enum verdict verdict)
{
    return verdict == VERDICT_BROKEN || verdict == VERDICT_FLAKY;
}

#define NAMED(name)            \
    {                          \
        SIG##name, "SIG" #name \
    }

static const struct {
    int number;
    const char *name;
} signals[] = {
    NAMED(HUP),  NAMED(INT),   NAMED(QUIT), NAMED(ILL),  NAMED(TRAP),
    NAMED(ABRT), NAMED(BUS),   NAMED(FPE),  NAMED(KILL), NAMED(USR1),
    NAMED(SEGV), NAMED(USR2),  NAMED(PIPE), NAMED(ALRM), NAMED(TERM),
    NAMED(CHLD), NAMED(CONT),  NAMED(STOP), NAMED(TSTP), NAMED(TTIN),
    NAMED(TTOU), NAMED(URG),   NAMED(XCPU), NAMED(XFSZ), NAMED(VTALRM),
    NAMED(PROF), NAMED(WINCH), NAMED(IO),   NAMED(PWR),  NAMED(SYS),
};

const char *
signal_name(int number)
{
    static char name[32];
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    if (number >= SIGRTMIN && number <= SIGRTMAX)
        snprintf(name, sizeof name, "SIGRTMIN+%d", number - SIGRTMIN);
    else
        snprintf(name, sizeof name, "signal %d", number);
    return name;
}

int
signal_number(const char *name)
{
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        if (strcmp(signals[i].name + 3, name) == 0)
            return signals[i].number;
    }
    return 0;
}

void
describe_ending(int wait_status, struct text *text)
{
    if (WIFSIGNALED(wait_status)) {
        int number = WTERMSIG(wait_status);
        text_add(text, "killed by %s (%s)", signal_name(number),
                 strsignal(number));
    } else {
        text_add(text, "exit %d", WEXITSTATUS(wait_status));
    }
}
