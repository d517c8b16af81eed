/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "exit_codes.h"
#include "spawn.h"
#include "verdict.h"

enum { LIST_TIMEOUT_MS = 60000, CASE_TIMEOUT_MS = 20000 };

static char *
text_member(const json_t *line, const char *key)
{
    struct text clean = {0};
    const char *value = json_string_value(json_object_get(line, key));
    if (value == NULL || value[0] == '\0')
        return NULL;
    text_add_clean(&clean, value, strlen(value));
    return text_take(&clean);
}

static void
add_word(struct strings *list, const char *word)
{
    struct text clean = {0};
    text_add_clean(&clean, word, strlen(word));
    strings_add(list, text_get(&clean));
    text_free(&clean);
}

/* An array of strings, or one string of words. */
static void
words_member(const json_t *line, const char *key, struct strings *list)
{
    const json_t *value = json_object_get(line, key);
    size_t index;
    const json_t *item;
    json_array_foreach(value, index, item)
    {
        if (json_is_string(item))
            add_word(list, json_string_value(item));
    }
    if (!json_is_string(value))
        return;
    char *copy = need_copy(json_string_value(value));
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ,", &rest); word != NULL;
         word = strtok_r(NULL, " ,", &rest))
        add_word(list, word);
    free(copy);
}

static long long
number_member(const json_t *line, const char *key)
{
    return json_integer_value(json_object_get(line, key));
}

static int
signal_member(const json_t *line, const char *key)
{
    const char *name = json_string_value(json_object_get(line, key));
    return name ? signal_number(name) : (int)number_member(line, key);
}

static unsigned
tags_member(const json_t *line)
{
    static const struct {
        const char *name;
        unsigned tag;
    } known[] = {{"alone", CASE_ALONE},
                 {"sleeps", CASE_SLEEPS},
                 {"cold", CASE_COLD},
                 {"no-census", CASE_NO_CENSUS},
                 {"once", CASE_ONCE}};
    struct strings names = {0};
    unsigned tags = 0;
    words_member(line, "tags", &names);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strings_have(&names, known[i].name))
            tags |= known[i].tag;
    }
    strings_free(&names);
    return tags;
}

__attribute__((noreturn)) static void
refuse_line(const struct case_program *program, const char *what,
            const char *bytes, size_t len)
{
    struct text clean = {0};
    text_add_clean(&clean, bytes, len < 120 ? len : 120);
    quit(EXIT_OUR_BUG, "%s --list: %s: %s", program->path, what,
         text_get(&clean));
}

/* "PROGRAM (FILE:LINE)", as far as it is known. */
static char *
place_of(const struct case_info *info)
{
    struct text place = {0};
    case_place(info, &place);
    char *whole = place.len == 0 ? need_copy(info->program->path)
                                 : need_format("%s (%s)", info->program->path,
                                               text_get(&place));
    text_free(&place);
    return whole;
}

static void
read_case(struct manifest *manifest, const struct case_program *program,
          const char *bytes, size_t len)
{
    json_error_t error;
    json_t *line = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(line))
        refuse_line(program, "not a JSON object", bytes, len);
    struct case_info info = {.program = program, .declared = line};
    info.id = text_member(line, "id");
    words_member(line, "clauses", &info.clauses);
    if (info.id != NULL && info.id[strcspn(info.id, "\n\t")] != '\0')
        quit(EXIT_OUR_BUG, "%s --list: an id of several lines", program->path);
    if (info.id == NULL || info.clauses.count == 0)
        refuse_line(program,
                    info.id ? "a case without clauses" : "a case without id",
                    bytes, len);
    info.why = text_member(line, "why");
    info.steps = text_member(line, "steps");
    info.expected = text_member(line, "expected");
    info.mutant = text_member(line, "mutant");
    info.marker = text_member(line, "marker");
    info.file = text_member(line, "file");
    info.transport = text_member(line, "transport");
    words_member(line, "needs", &info.needs);
    info.tags = tags_member(line);
    info.line = (int)number_member(line, "line");
    info.dies_by = signal_member(line, "dies_by");
    long long timeout = number_member(line, "timeout_ms");
    info.timeout_ms = timeout > 0 ? (unsigned)timeout : CASE_TIMEOUT_MS;
    if (manifest_find(manifest, info.id) != NULL) {
        char *first = place_of(manifest_find(manifest, info.id));
        char *second = place_of(&info);
        quit(EXIT_OUR_BUG, "two cases are called %s (in %s and in %s)", info.id,
             first, second);
    }
    manifest->cases = need_more(manifest->cases, manifest->count + 1,
                                sizeof *manifest->cases);
    manifest->cases[manifest->count++] = info;
}

/* Runs the program with --list. */
static void
ask_program(const struct case_program *program, struct text *output)
{
    struct text errors = {0}, ending = {0};
    bool timed_out = false;
    char *argv[] = {program->path, "--list", NULL};
    int status =
        spawn_capture(argv, LIST_TIMEOUT_MS, output, &errors, &timed_out);
    if (status == -1)
        quit(EXIT_OUR_BUG,
             "cannot run the case program %s: %s (make builds it)",
             program->path, strerror(errno));
    if (status != 0) {
        if (errors.len > 0)
            complain("%s says: %.*s", program->name,
                     (int)strcspn(errors.bytes, "\n"), errors.bytes);
        if (timed_out)
            text_add(&ending, "no answer in time");
        else
            describe_ending(status, &ending);
        quit(EXIT_OUR_BUG, "%s --list failed: %s", program->path,
             text_get(&ending));
    }
    text_free(&errors);
}

static void
read_manifest(const struct case_program *program, struct text *output)
{
    char *path = need_format("%s/" MANIFEST_NAME, program->path);
    if (!text_read_file(output, path))
        quit(EXIT_USAGE, "the case program %s: cannot read its manifest: %s",
             path, strerror(errno));
    free(path);
}

static void
ask(struct manifest *manifest, const struct case_program *program)
{
    struct text output = {0};
    if (program->go)
        read_manifest(program, &output);
    else
        ask_program(program, &output);
    size_t before = manifest->count;
    for (const char *at = text_get(&output); *at != '\0';) {
        const char *end = strchrnul(at, '\n');
        if (end > at)
            read_case(manifest, program, at, (size_t)(end - at));
        at = *end ? end + 1 : end;
    }
    if (manifest->count == before)
        quit(EXIT_OUR_BUG, "%s --list names no case", program->path);
    text_free(&output);
}

static bool
is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void
manifest_read(struct manifest *manifest, const struct strings *programs)
{
    *manifest = (struct manifest){0};
    manifest->programs =
        need_memory(programs->count, sizeof *manifest->programs);
    for (size_t i = 0; i < programs->count; i++) {
        struct case_program *program = &manifest->programs[i];
        const char *slash = strrchr(programs->items[i], '/');
        program->path = programs->items[i];
        program->name = slash ? (char *)slash + 1 : program->path;
        program->go = is_folder(program->path);
        manifest->program_count++;
        ask(manifest, program);
    }
}

size_t
case_base(const struct case_info *info)
{
    size_t len = strlen(info->id);
    size_t cut = info->transport ? strlen(info->transport) + 1 : 0;
    bool ends = cut > 0 && len > cut && info->id[len - cut] == '@' &&
                strcmp(info->id + len - cut + 1, info->transport) == 0;
    return ends ? len - cut : len;
}

void
case_place(const struct case_info *info, struct text *text)
{
    if (info->file != NULL)
        text_add(text, "%s", info->file);
    if (info->file != NULL && info->line > 0)
        text_add(text, ":%d", info->line);
}

const struct case_info *
manifest_find(const struct manifest *manifest, const char *id)
{
    for (size_t i = 0; i < manifest->count; i++) {
        if (strcmp(manifest->cases[i].id, id) == 0)
            return &manifest->cases[i];
    }
    return NULL;
}
