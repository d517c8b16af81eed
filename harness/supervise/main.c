/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gusset-conform: judges builds of the Gusset runtime. */
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "exit_codes.h"
#include "options.h"
#include "run.h"

int
main(int argc, char **argv)
{
    static struct options options;
    options_read(&options, argc, argv);
    /* A reader that goes away is a report that could not be written; where
     * nothing is judged it has read enough, and that ends the program. */
    bool judges =
        options.command == COMMAND_RUN || options.command == COMMAND_SELF;
    signal(SIGPIPE, judges ? SIG_IGN : SIG_DFL);
    if (sodium_init() < 0)
        quit(EXIT_OUR_BUG, "libsodium does not start");
    switch (options.command) {
    case COMMAND_RUN:
        return run_command(&options);
    case COMMAND_LIST:
        return list_command(&options);
    case COMMAND_EXPLAIN:
        return explain_command(&options);
    case COMMAND_SELF:
        return self_command(&options);
    case COMMAND_VERSION:
        printf("gusset-conform %s (Gusset ABI version 2)\n", CONFORM_VERSION);
        return EXIT_CONFORMING;
    default:
        options_help(options.help_on);
        return EXIT_CONFORMING;
    }
}
