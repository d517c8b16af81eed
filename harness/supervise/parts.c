/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "parts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exit_codes.h"

char *
part_path(const char *name)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0)
        quit(EXIT_OUR_BUG, "cannot tell where this program is: %s",
             strerror(errno));
    self[len] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    return need_format("%s/%s", self, name);
}

/* A name without a slash means a file here, not something in PATH. */
static void
add_program(struct strings *programs, const char *path)
{
    char *whole = realpath(path, NULL);
    if (whole == NULL)
        quit(EXIT_USAGE, "--program %s: %s", path, strerror(errno));
    if (access(whole, X_OK) != 0)
        quit(EXIT_USAGE, "--program %s: %s", path, strerror(errno));
    strings_add(programs, whole);
    free(whole);
}

void
part_programs(const struct options *options, struct strings *programs)
{
    static const char *const defaults[] = {"bin/conform-cases", "bin/abi-check",
                                           "share/gusset-conform/go/cases"};
    for (int i = 0; options->default_programs && i < 3; i++) {
        char *path = part_path(defaults[i]);
        strings_add(programs, path);
        free(path);
    }
    for (size_t i = 0; i < options->programs.count; i++)
        add_program(programs, options->programs.items[i]);
    if (programs->count == 0)
        quit(EXIT_USAGE, "--no-default-programs leaves no case program: name "
                         "one with --program");
}
