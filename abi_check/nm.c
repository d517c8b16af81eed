/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "abi_check/nm.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi_check/command.h"

struct entry {
    const char *name;
    size_t name_len;
    char letter;
};

struct entries {
    struct entry *at;
    size_t count;
};

bool
nm_path(char *path, size_t size)
{
    const char *wanted = getenv("NM");
    if (wanted == NULL || wanted[0] == '\0')
        wanted = "nm";
    if (command_find(wanted, path, size))
        return true;
    snprintf(path, size, "%s", wanted);
    return false;
}

static int
by_name(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    size_t common = a->name_len < b->name_len ? a->name_len : b->name_len;
    int order = memcmp(a->name, b->name, common);
    if (order != 0)
        return order;
    if (a->name_len != b->name_len)
        return a->name_len < b->name_len ? -1 : 1;
    return a->letter - b->letter;
}

static bool
push(struct entries *to, struct entry added)
{
    if ((to->count & (to->count + 1)) == 0) {
        struct entry *grown =
            realloc(to->at, (2 * to->count + 1) * sizeof *grown);
        if (grown == NULL)
            return false;
        to->at = grown;
    }
    to->at[to->count++] = added;
    return true;
}

/*
 * Kinds as both sides can tell them: w weak, T a function of our own name
 * space, else g. nm tells a hidden function from an exported one no more than
 * it tells data from code in every format, so nothing else is compared here.
 */
static char
common_letter(const char *name, bool weak, bool function)
{
    if (weak)
        return 'w';
    return strncmp(name, "gusset_", 7) == 0 && function ? 'T' : 'g';
}

/* One line of `nm -P`: NAME TYPE VALUE [SIZE], the last two hexadecimal. */
static bool
parse_line(const char *line, size_t len, struct entry *parsed)
{
    size_t name = strcspn(line, " \n");
    if (name == 0 || name + 3 >= len || line[name + 2] != ' ')
        return false;
    char type = line[name + 1];
    if (strspn(line + name + 2, " 0123456789abcdefABCDEF") < len - name - 2)
        return false;
    const char *version = memchr(line, '@', name);
    parsed->name = line;
    parsed->name_len = version == NULL ? name : (size_t)(version - line);
    parsed->letter = common_letter(line, strchr("wWvV", type) != NULL,
                                   type == 'T' || type == 't');
    return true;
}

static bool
parse_output(const char *nm, const struct command_result *ran,
             struct entries *list, struct findings *found)
{
    const char *at = ran->out == NULL ? "" : ran->out;
    while (*at != '\0') {
        size_t len = strcspn(at, "\n");
        struct entry parsed;
        bool heading =
            len == 0 || (at[len - 1] == ':' && memchr(at, ' ', len) == NULL);
        if (!heading && !parse_line(at, len, &parsed)) {
            findings_fault(found, "%s printed a line that is no symbol: %.*s",
                           nm, (int)len, at);
            return false;
        }
        if (!heading && !push(list, parsed)) {
            findings_broken(found, "out of memory");
            return false;
        }
        at += len + (at[len] == '\n');
    }
    if (list->count == 0)
        findings_fault(found, "%s lists no symbol", nm);
    return list->count != 0;
}

static bool
own_entries(const struct artifact *artifact, struct entries *list)
{
    for (size_t i = 0; i < artifact->count; i++) {
        const struct symbol *symbol = &artifact->symbols[i];
        struct entry own = {symbol->name, strlen(symbol->name),
                            common_letter(symbol->name,
                                          symbol->binding == STB_WEAK,
                                          symbol->type == STT_FUNC)};
        if (!push(list, own))
            return false;
    }
    return true;
}

/* Walks both sorted lists and names what only one of them has. */
static void
compare_sorted(const char *nm, const struct entries *own,
               const struct entries *other, struct findings *found)
{
    size_t i = 0, j = 0;
    while (i < own->count || j < other->count) {
        int order = i == own->count     ? 1
                    : j == other->count ? -1
                                        : by_name(&own->at[i], &other->at[j]);
        if (order < 0)
            findings_fault(found,
                           "libelf and nm disagree: only libelf has %s "
                           "(%c)",
                           own->at[i].name, own->at[i].letter);
        if (order > 0)
            findings_fault(found,
                           "libelf and nm disagree: only %s has %.*s "
                           "(%c)",
                           nm, (int)other->at[j].name_len, other->at[j].name,
                           other->at[j].letter);
        i += order <= 0;
        j += order >= 0;
        found->judged++;
    }
}

static void
compare_output(const char *nm, const struct artifact *artifact,
               const struct command_result *ran, struct findings *found)
{
    struct entries own = {0}, other = {0};
    if (!parse_output(nm, ran, &other, found))
        goto out;
    if (!own_entries(artifact, &own)) {
        findings_broken(found, "out of memory");
        goto out;
    }
    qsort(own.at, own.count, sizeof *own.at, by_name);
    qsort(other.at, other.count, sizeof *other.at, by_name);
    compare_sorted(nm, &own, &other, found);
out:
    free(own.at);
    free(other.at);
}

/*
 * nm says on standard error which members have no symbols, as an archive of
 * Rust or assembly may well have; if it were wrong the lists would differ.
 * Any other line is a complaint.
 */
static const char *
find_complaint(const char *said)
{
    static const char harmless[] = ": no symbols";
    const size_t tail = sizeof harmless - 1;
    while (said != NULL && *said != '\0') {
        size_t len = strcspn(said, "\n");
        if (len < tail || memcmp(said + len - tail, harmless, tail) != 0)
            return said;
        said += len + (said[len] == '\n');
    }
    return NULL;
}

/*
 * GNU nm lets an LTO plugin look at every object before it reads it, and the
 * plugin complains on standard output about bitcode that a Rust archive
 * carries beside its machine code. With a target named nm reads the ELF symbol
 * table and nothing else. The first target that --help lists is nm's own; an
 * nm that lists none has no such plugin.
 */
static bool
find_target(const char *nm, char *option, size_t size)
{
    static const char heading[] = "supported targets: ";
    const char *const argv[] = {nm, "--help", NULL};
    struct command_result ran;
    if (command_run(argv, &ran) != 0)
        return false;
    const char *at = ran.out == NULL ? NULL : strstr(ran.out, heading);
    if (at != NULL) {
        at += sizeof heading - 1;
        snprintf(option, size, "--target=%.*s", (int)strcspn(at, " \n"), at);
    }
    command_free(&ran);
    return at != NULL;
}

void
nm_compare(const char *nm, const char *path, const struct artifact *artifact,
           struct findings *found)
{
    const char *table = artifact->kind == ARTIFACT_SHARED ? "-D" : "-g";
    const char *argv[] = {nm, table, "-P", "--defined-only", path, NULL, NULL};
    char target[128], how[64];
    struct command_result ran;
    if (find_target(nm, target, sizeof target))
        argv[5] = target;
    int failed = command_run(argv, &ran);
    if (failed != 0) {
        findings_broken(found, "cannot run %s: %s", nm, strerror(failed));
        return;
    }
    command_describe(&ran, how, sizeof how);
    if (!command_succeeded(&ran))
        findings_fault(found, "%s failed on the artifact: %s: %.300s", nm, how,
                       ran.err == NULL ? "" : ran.err);
    else if (find_complaint(ran.err) != NULL)
        findings_fault(found, "%s complained: %.300s", nm,
                       find_complaint(ran.err));
    else
        compare_output(nm, artifact, &ran, found);
    command_free(&ran);
}
