/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "subject.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_facts.h"
#include "exit_codes.h"
#include "go_program.h"
#include "spawn.h"

enum { LINK_TIMEOUT_MS = 120000 };

/* The inputs of one link, in the order of the command line. */
struct parts {
    char *object, *linked, *bundled, *absent, *flags_file;
    char *flags;
};

static char *
read_line_file(const char *path)
{
    struct text text = {0};
    char block[4096];
    size_t got = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    while ((got = fread(block, 1, sizeof block, file)) > 0)
        text_add_bytes(&text, block, got);
    fclose(file);
    return text_take(&text);
}

/* False when this program is not made to be linked with an archive. */
static bool
find_parts(struct parts *parts, const struct case_program *program)
{
    const char *slash = strrchr(program->path, '/');
    int folder = slash ? (int)(slash - program->path) : 1;
    const char *from = slash ? program->path : ".";
    parts->object =
        need_format("%.*s/../lib/%s.o", folder, from, program->name);
    if (access(parts->object, R_OK) != 0)
        return false;
    parts->linked = need_format("%.*s/../lib/subject_linked.o", folder, from);
    parts->bundled =
        need_format("%.*s/../lib/libconform_test_engine.a", folder, from);
    parts->absent =
        need_format("%.*s/../lib/libconform_engine_absent.a", folder, from);
    parts->flags_file =
        need_format("%.*s/../lib/conform-link.flags", folder, from);
    parts->flags = read_line_file(parts->flags_file);
    if (parts->flags == NULL)
        quit(EXIT_OUR_BUG, "cannot read %s: %s (make builds it)",
             parts->flags_file, strerror(errno));
    return true;
}

static void
hash_text(crypto_hash_sha256_state *state, const char *text)
{
    crypto_hash_sha256_update(state, (const unsigned char *)text,
                              strlen(text) + 1);
}

static void
hash_inputs(const struct strings *command, const struct artifact *artifact,
            char hex[65])
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char file[65];
    crypto_hash_sha256_init(&state);
    for (size_t i = 0; i < command->count; i++) {
        const char *word = command->items[i];
        hash_text(&state, word);
        if (strcmp(word, artifact->path) == 0)
            hash_text(&state, artifact->sha256);
        else if (word[0] != '-' && file_sha256(word, file))
            hash_text(&state, file);
    }
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(hex, 65, hash, sizeof hash);
}

static void
add_words(struct strings *list, const char *words)
{
    char *copy = need_copy(words);
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t\n", &rest); word != NULL;
         word = strtok_r(NULL, " \t\n", &rest))
        strings_add(list, word);
    free(copy);
}

/* True when it links; what the linker says goes to output. */
static bool
links(struct strings *command, struct text *output, bool *timed_out)
{
    int status = spawn_capture(strings_argv(command), LINK_TIMEOUT_MS, output,
                               output, timed_out);
    if (status == -1)
        quit(EXIT_OUR_BUG, "cannot run the compiler %s: %s", command->items[0],
             strerror(errno));
    return status == 0;
}

/* An archive is not to blame for a test engine that does not fit it. */
static bool
links_without(const struct strings *command, const char *left_out)
{
    struct strings others = {0};
    struct text output = {0};
    bool timed_out = false;
    for (size_t i = 0; i < command->count; i++) {
        if (strcmp(command->items[i], left_out) != 0)
            strings_add(&others, command->items[i]);
    }
    return links(&others, &output, &timed_out);
}

static void
run_linker(struct strings *command, const struct subject *subject)
{
    struct text output = {0}, said = {0};
    bool timed_out = false;
    int code = EXIT_NOT_CONFORMING;
    if (links(command, &output, &timed_out))
        return;
    text_add_clean(&said, text_get(&output), output.len);
    if (subject->test_engine != NULL && !timed_out &&
        links_without(command, subject->test_engine->path)) {
        code = EXIT_USAGE;
        complain("--test-engine %s: %s does not link with it, and does "
                 "without; the linker says:",
                 subject->test_engine->path, subject->label);
    } else {
        complain("%s: not conforming: does not link into a program; the "
                 "linker says:",
                 subject->artifact.path);
    }
    for (const char *at = text_get(&said); *at != '\0';) {
        const char *end = strchrnul(at, '\n');
        fprintf(stderr, "| %.*s\n", (int)(end - at), at);
        at = *end ? end + 1 : end;
    }
    exit(timed_out ? EXIT_INCONCLUSIVE : code);
}

/* What the program is now, to be told from what it may become. */
static void
mark_linked(struct linked *linked, const char *path)
{
    struct elf_facts facts = {0};
    linked->path = path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !file_mark(path, &linked->mark) ||
        !file_sha256(path, linked->sha256))
        quit(EXIT_INCONCLUSIVE, "cannot read the linked program %s: %s", path,
             strerror(errno));
    elf_facts_read(&facts, fd);
    close(fd);
    linked->build_id = facts.build_id;
    strings_free(&facts.exports);
}

static const char *
link_program(struct subject *subject, const struct case_program *program,
             const struct parts *parts, const char *cache)
{
    struct strings command = {0};
    struct text line = {0};
    char hex[65];
    const char *cc = getenv("CC");
    add_words(&command, cc && cc[0] ? cc : "cc");
    strings_add(&command, parts->object);
    strings_add(&command, parts->linked);
    /* The first gte_register counts, and it may call what comes later. */
    if (subject->test_engine != NULL)
        strings_add(&command, subject->test_engine->path);
    strings_add(&command, subject->artifact.path);
    if (access(parts->bundled, R_OK) == 0)
        strings_add(&command, parts->bundled);
    if (access(parts->absent, R_OK) == 0)
        strings_add(&command, parts->absent);
    add_words(&command, parts->flags);
    strings_add(&command, "-Wl,--build-id");
    hash_inputs(&command, &subject->artifact, hex);
    char *target = need_format("%s/%s-%.16s", cache, program->name, hex);
    char *fresh = need_format("%s.%ld", target, (long)getpid());
    for (size_t i = 0; i < command.count; i++) {
        text_add_shell(&line, command.items[i]);
        text_add(&line, " ");
    }
    text_add(&line, "-o ");
    text_add_shell(&line, target);
    strings_add(&command, "-o");
    strings_add(&command, fresh);
    if (access(target, X_OK) != 0) {
        run_linker(&command, subject);
        if (rename(fresh, target) != 0)
            quit(EXIT_INCONCLUSIVE, "cannot keep the linked program %s: %s",
                 target, strerror(errno));
    }
    subject->link_line = text_take(&line);
    strings_free(&command);
    free(fresh);
    return target;
}

/* Programs in Go are built for either kind of artifact, and for none. */
static void
prepare_go(struct subject *subject, size_t i,
           const struct case_program *program,
           const struct preparation *preparation)
{
    struct unavailable *unavailable = &subject->unavailable[i];
    struct go_program built;
    if (preparation->go->missing != NULL) {
        *unavailable =
            (struct unavailable){.verdict = VERDICT_OUT_OF_REACH,
                                 .reason = need_copy(preparation->go->missing)};
        return;
    }
    subject->go = preparation->go;
    go_program_build(&built, preparation->go, program,
                     subject->has_artifact ? &subject->artifact : NULL,
                     preparation->cache);
    free(subject->go_line);
    subject->go_line = built.line;
    if (built.path == NULL) {
        *unavailable = (struct unavailable){.verdict = VERDICT_BROKEN,
                                            .reason = built.reason,
                                            .output = built.said};
        return;
    }
    subject->programs[i] = built.path;
    mark_linked(&subject->linked[i], built.path);
}

void
subject_prepare(struct subject *subject, const struct manifest *manifest,
                const bool *needed, const struct preparation *preparation)
{
    size_t count = manifest->program_count;
    subject->programs = need_memory(count, sizeof *subject->programs);
    subject->linked = need_memory(count, sizeof *subject->linked);
    subject->unavailable = need_memory(count, sizeof *subject->unavailable);
    subject->program_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct case_program *program = &manifest->programs[i];
        struct parts parts = {0};
        subject->programs[i] = program->path;
        if (program->go && needed[i] && !subject->is_header)
            prepare_go(subject, i, program, preparation);
        if (!program->go && subject->has_artifact && needed[i] &&
            subject->artifact.kind == ARTIFACT_ARCHIVE &&
            find_parts(&parts, program)) {
            subject->programs[i] =
                link_program(subject, program, &parts, preparation->cache);
            mark_linked(&subject->linked[i], subject->programs[i]);
        }
    }
}

void
subject_header(struct subject *subject, const char *path)
{
    *subject = (struct subject){.label = "gusset.h", .is_header = true};
    unsetenv("CONFORM_HEADER");
    if (path == NULL)
        return;
    struct stat st;
    subject->header = realpath(path, NULL);
    if (subject->header == NULL || stat(subject->header, &st) != 0)
        quit(EXIT_USAGE, "--header %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        quit(EXIT_USAGE, "--header %s: %s", path,
             S_ISREG(st.st_mode) ? "is empty" : "is not a regular file");
    if (!file_sha256(subject->header, subject->header_sha256))
        quit(EXIT_USAGE, "--header %s: %s", path, strerror(errno));
    setenv("CONFORM_HEADER", subject->header, 1);
}

bool
subject_header_unchanged(const struct subject *subject)
{
    char now[65];
    return subject->header == NULL ||
           (file_sha256(subject->header, now) &&
            strcmp(now, subject->header_sha256) == 0);
}

/* Only a shared object is mapped as the file it is. */
const char *
subject_build_id(const struct subject *subject, const struct manifest *manifest,
                 const struct case_info *info)
{
    if (!subject->has_artifact)
        return NULL;
    return subject->artifact.kind == ARTIFACT_SHARED
               ? subject->artifact.build_id
               : subject->linked[info->program - manifest->programs].build_id;
}

const char *
subject_program(const struct subject *subject, const struct manifest *manifest,
                const struct case_info *info)
{
    return subject->programs[info->program - manifest->programs];
}

const struct unavailable *
subject_unavailable(const struct subject *subject,
                    const struct manifest *manifest,
                    const struct case_info *info)
{
    const struct unavailable *unavailable =
        &subject->unavailable[info->program - manifest->programs];
    return unavailable->reason != NULL ? unavailable : NULL;
}
