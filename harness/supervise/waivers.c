/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "waivers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exit_codes.h"

/* Days are compared as text: the form makes their order that of time. */
static bool
is_day(const char *word)
{
    int year = 0, month = 0, day = 0, end = 0;
    return strlen(word) == 10 &&
           sscanf(word, "%4d-%2d-%2d%n", &year, &month, &day, &end) == 3 &&
           end == 10 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static void
read_line(struct waivers *waivers, char *text, int line, const char *today)
{
    char *rest = NULL;
    char *pattern = strtok_r(text, " \t\n", &rest);
    if (pattern == NULL || pattern[0] == '#')
        return;
    char *until = strtok_r(NULL, " \t\n", &rest);
    char *reason = strtok_r(NULL, "\n", &rest);
    if (until == NULL || !is_day(until))
        quit(EXIT_USAGE, "--waive %s:%d: no day (YYYY-MM-DD) after %s",
             waivers->path, line, pattern);
    if (reason == NULL || reason[strspn(reason, " \t")] == '\0')
        quit(EXIT_USAGE, "--waive %s:%d: no reason after %s", waivers->path,
             line, until);
    struct text clean = {0};
    reason += strspn(reason, " \t");
    text_add_clean(&clean, reason, strlen(reason));
    waivers->items =
        need_more(waivers->items, waivers->count + 1, sizeof *waivers->items);
    waivers->items[waivers->count++] =
        (struct waiver){.pattern = need_copy(pattern),
                        .until = need_copy(until),
                        .reason = text_take(&clean),
                        .line = line,
                        .expired = strcmp(until, today) < 0};
}

void
waivers_read(struct waivers *waivers, const char *path)
{
    char *text = NULL;
    size_t room = 0;
    char today[16];
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(today, sizeof today, "%Y-%m-%d", &utc);
    *waivers = (struct waivers){.path = path};
    FILE *file = fopen(path, "re");
    if (file == NULL)
        quit(EXIT_USAGE, "--waive %s: %s", path, strerror(errno));
    errno = 0;
    for (int line = 1; getline(&text, &room, file) >= 0; line++)
        read_line(waivers, text, line, today);
    if (ferror(file))
        quit(EXIT_USAGE, "--waive %s: %s", path, strerror(errno));
    free(text);
    fclose(file);
}
