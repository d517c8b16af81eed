/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A check without memory for its own words cannot say anything true. */
static void *
must(void *memory)
{
    if (memory == NULL) {
        fputs("abi-check: out of memory\n", stderr);
        exit(70);
    }
    return memory;
}

static void
append_line(char **text, const char *format, va_list arguments)
{
    char line[2048];
    vsnprintf(line, sizeof line, format, arguments);
    size_t had = *text == NULL ? 0 : strlen(*text);
    size_t more = strlen(line);
    *text = must(realloc(*text, had + more + 2));
    memcpy(*text + had, line, more);
    memcpy(*text + had + more, "\n", 2);
}

void
findings_fault(struct findings *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_line(&found->faults, format, arguments);
    va_end(arguments);
    found->fault_count++;
}

void
findings_note(struct findings *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_line(&found->notes, format, arguments);
    va_end(arguments);
}

void
findings_skip(struct findings *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->skip, sizeof found->skip, format, arguments);
    va_end(arguments);
}

void
findings_lacks(struct findings *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->lacks, sizeof found->lacks, format, arguments);
    va_end(arguments);
}

void
findings_broken(struct findings *found, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->broken, sizeof found->broken, format, arguments);
    va_end(arguments);
}

bool
findings_refuses(struct findings *found)
{
    if (found->fault_count == 0 && found->judged == 0 &&
        found->skip[0] == '\0' && found->lacks[0] == '\0' &&
        found->broken[0] == '\0')
        findings_fault(found, "nothing was compared");
    return found->fault_count != 0;
}

void
findings_free(struct findings *found)
{
    free(found->faults);
    free(found->notes);
    memset(found, 0, sizeof *found);
}
