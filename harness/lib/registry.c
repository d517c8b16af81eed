/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "claims_file.h"
#include "internal.h"

/* Grown by constructors, before main; freed never, it is the program's. */
static struct conform_entry *entries;
static size_t entry_count;
static size_t entry_cap;

static void
add(const struct conform_case *declared, uint32_t transport)
{
    if (entry_count == entry_cap) {
        entry_cap = entry_cap == 0 ? 256 : 2 * entry_cap;
        entries = realloc(entries, entry_cap * sizeof *entries);
        if (entries == NULL) {
            fputs("conform: no memory for the list of cases\n", stderr);
            _Exit(CONFORM_EXIT_OWN_BUG);
        }
    }
    entries[entry_count].declared = declared;
    entries[entry_count].transport = transport;
    entry_count++;
}

void
conform_register(const struct conform_case *declared)
{
    if (declared->transports == 0) {
        add(declared, 0);
        return;
    }
    if ((declared->transports & CONFORM_PIPE) != 0) {
        add(declared, CONFORM_PIPE);
    }
    if ((declared->transports & CONFORM_RING) != 0) {
        add(declared, CONFORM_RING);
    }
}

static const char *
suffix(uint32_t transport)
{
    switch (transport) {
    case CONFORM_PIPE:
        return "@pipe";
    case CONFORM_RING:
        return "@ring";
    default:
        return "";
    }
}

void
conform_entry_id(const struct conform_entry *entry, char *text, size_t cap)
{
    snprintf(text, cap, "%s%s", entry->declared->id, suffix(entry->transport));
}

static int
by_id(const void *left, const void *right)
{
    const struct conform_entry *a = left;
    const struct conform_entry *b = right;
    int order = strcmp(a->declared->id, b->declared->id);
    if (order != 0) {
        return order;
    }
    return (a->transport > b->transport) - (a->transport < b->transport);
}

static bool
complain(const struct conform_case *declared, const char *what)
{
    fprintf(stderr, "conform: %s:%d: case %s: %s\n", declared->file,
            declared->line, declared->id == NULL ? "(no id)" : declared->id,
            what);
    return false;
}

/* True when one of the clauses followed by a dot begins the id. */
static bool
id_begins_with_clause(const struct conform_case *declared)
{
    const char *clause = declared->clauses;
    while (*clause != '\0') {
        size_t len = strcspn(clause, " ");
        if (len > 0 && strncmp(declared->id, clause, len) == 0 &&
            declared->id[len] == '.' && declared->id[len + 1] != '\0') {
            return true;
        }
        clause += len;
        clause += strspn(clause, " ");
    }
    return false;
}

static bool
needs_are_known(const char *needs)
{
    while (needs != NULL && *needs != '\0') {
        size_t len = strcspn(needs, " ");
        if (!(len == 6 && strncmp(needs, "engine", 6) == 0) &&
            !(len == 11 && strncmp(needs, "test-engine", 11) == 0) &&
            !(len > 6 && strncmp(needs, "claim:", 6) == 0 &&
              claims_file_key(needs + 6, len - 6) != NULL)) {
            return false;
        }
        needs += len;
        needs += strspn(needs, " ");
    }
    return true;
}

static bool
is_sound(const struct conform_case *declared)
{
    if (declared->id == NULL || declared->clauses == NULL) {
        return complain(declared, "needs .id and .clauses");
    }
    if (strpbrk(declared->id, " \t\n@/") != NULL) {
        return complain(declared, "an id has no blank, `@` or `/`");
    }
    if (declared->why == NULL || declared->steps == NULL ||
        declared->expected == NULL) {
        return complain(declared, "needs .why, .steps and .expected");
    }
    if (!id_begins_with_clause(declared)) {
        return complain(declared, "the id begins with none of its clauses");
    }
    if (!needs_are_known(declared->needs)) {
        return complain(declared, "unknown word in .needs");
    }
    if ((declared->transports & ~CONFORM_BOTH) != 0) {
        return complain(declared, "unknown bit in .transports");
    }
    if (declared->dies_by != 0 &&
        (declared->marker == NULL ||
         conform_signal_name(declared->dies_by) == NULL)) {
        return complain(declared, ".dies_by needs a .marker and a signal");
    }
    return true;
}

bool
conform_registry(const struct conform_entry **out, size_t *count)
{
    bool sound = true;
    for (size_t i = 0; i < entry_count; i++) {
        /* The second transport of one case would only say it again. */
        if (i == 0 || entries[i].declared != entries[i - 1].declared) {
            sound = is_sound(entries[i].declared) && sound;
        }
    }
    if (!sound) {
        return false;
    }
    if (entry_count > 0) {
        qsort(entries, entry_count, sizeof *entries, by_id);
    }
    for (size_t i = 1; i < entry_count; i++) {
        if (entries[i].declared != entries[i - 1].declared &&
            strcmp(entries[i].declared->id, entries[i - 1].declared->id) == 0) {
            fprintf(stderr, "conform: %s:%d: the other one\n",
                    entries[i - 1].declared->file,
                    entries[i - 1].declared->line);
            sound = complain(entries[i].declared, "the id exists twice");
        }
    }
    *out = entries;
    *count = entry_count;
    return sound;
}

const char *
conform_signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGABRT, "SIGABRT"}, {SIGALRM, "SIGALRM"}, {SIGBUS, "SIGBUS"},
        {SIGFPE, "SIGFPE"},   {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},
        {SIGINT, "SIGINT"},   {SIGKILL, "SIGKILL"}, {SIGPIPE, "SIGPIPE"},
        {SIGQUIT, "SIGQUIT"}, {SIGSEGV, "SIGSEGV"}, {SIGSYS, "SIGSYS"},
        {SIGTERM, "SIGTERM"}, {SIGTRAP, "SIGTRAP"}, {SIGUSR1, "SIGUSR1"},
        {SIGUSR2, "SIGUSR2"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].number == number) {
            return names[i].name;
        }
    }
    return NULL;
}
