/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static json_t *
text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

/* "a b  c" as ["a", "b", "c"]; NULL as []. */
static json_t *
words(const char *text)
{
    json_t *list = json_array();
    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, " ");
        if (len > 0) {
            json_array_append_new(list, json_stringn(text, len));
        }
        text += len;
        text += strspn(text, " ");
    }
    return list;
}

static json_t *
tag_names(uint32_t tags)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {CONFORM_ALONE, "alone"}, {CONFORM_SLEEPS, "sleeps"},
        {CONFORM_COLD, "cold"},   {CONFORM_NO_CENSUS, "no-census"},
        {CONFORM_ONCE, "once"},
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if ((tags & names[i].bit) != 0) {
            json_array_append_new(list, json_string(names[i].name));
        }
    }
    return list;
}

static const char *
transport_name(uint32_t transport)
{
    switch (transport) {
    case CONFORM_PIPE:
        return "pipe";
    case CONFORM_RING:
        return "ring";
    default:
        return NULL;
    }
}

#define DEFAULT_TIMEOUT_MS 20000u

static json_t *
describe(const struct conform_entry *entry)
{
    const struct conform_case *declared = entry->declared;
    uint32_t timeout =
        declared->timeout_ms != 0 ? declared->timeout_ms : DEFAULT_TIMEOUT_MS;
    char id[512];
    conform_entry_id(entry, id, sizeof id);
    json_t *object = json_object();
    json_object_set_new(object, "id", json_string(id));
    json_object_set_new(object, "clauses", words(declared->clauses));
    json_object_set_new(object, "why", text_or_null(declared->why));
    json_object_set_new(object, "steps", text_or_null(declared->steps));
    json_object_set_new(object, "expected", text_or_null(declared->expected));
    json_object_set_new(object, "mutant", text_or_null(declared->mutant));
    json_object_set_new(object, "needs", words(declared->needs));
    json_object_set_new(object, "tags", tag_names(declared->tags));
    json_object_set_new(object, "timeout_ms", json_integer(timeout));
    json_object_set_new(object, "dies_by",
                        text_or_null(conform_signal_name(declared->dies_by)));
    json_object_set_new(object, "marker", text_or_null(declared->marker));
    json_object_set_new(object, "file", text_or_null(declared->file));
    json_object_set_new(object, "line", json_integer(declared->line));
    json_object_set_new(object, "transport",
                        text_or_null(transport_name(entry->transport)));
    return object;
}

void
conform_list(const struct conform_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_t *object = describe(&entries[i]);
        char *line = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
        if (line == NULL) {
            fprintf(stderr, "conform: case %s: a text is not UTF-8\n",
                    entries[i].declared->id);
            exit(CONFORM_EXIT_OWN_BUG);
        }
        puts(line);
        free(line);
        json_decref(object);
    }
    if (fflush(stdout) != 0) {
        fputs("conform: --list: cannot write\n", stderr);
        exit(CONFORM_EXIT_OWN_BUG);
    }
}
