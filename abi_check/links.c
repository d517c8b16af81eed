/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "abi_check/links.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi_check/command.h"
#include "abi_check/embed.h"
#include "abi_check/hardened.h"

/* Flags of the sanitizer that this program, hence the artifact, has. */
#ifndef ABI_CHECK_SAN
#define ABI_CHECK_SAN ""
#endif

#define MAX_WORDS 64

struct links {
    char folder[512];
    char cc[4096], cxx[4096], ar[4096], rustc[4096];
    const char *artifact;
    bool with_rust;
    const char *job; /* the program's argument */
    struct findings *found;
};

/* A command line in the making; words beyond the room are a bug. */
struct words {
    const char *at[MAX_WORDS + 1];
    size_t count;
    char san[512];
};

static void
add(struct words *words, const char *word)
{
    if (words->count == MAX_WORDS)
        abort();
    words->at[words->count++] = word;
    words->at[words->count] = NULL;
}

static void
add_san(struct words *words)
{
    char *rest = NULL;
    snprintf(words->san, sizeof words->san, "%s", ABI_CHECK_SAN);
    for (char *word = strtok_r(words->san, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest))
        add(words, word);
}

/* The environment's choice when it is a program, else the first of `names`. */
static bool
find_tool(struct links *links, const char *variable, const char *const *names,
          char *path, size_t size)
{
    const char *chosen = getenv(variable);
    if (chosen != NULL && chosen[0] != '\0' && command_find(chosen, path, size))
        return true;
    for (size_t i = 0; names[i] != NULL; i++)
        if (command_find(names[i], path, size))
            return true;
    findings_lacks(links->found, "needs %s: no such program", names[0]);
    return false;
}

static bool
find_tools(struct links *links)
{
    static const char *const cc[] = {"cc", "gcc", "clang", NULL};
    static const char *const cxx[] = {"c++", "g++", "clang++", NULL};
    static const char *const ar[] = {"ar", "llvm-ar", NULL};
    static const char *const rustc[] = {"rustc", NULL};
    return find_tool(links, "CC", cc, links->cc, sizeof links->cc) &&
           find_tool(links, "AR", ar, links->ar, sizeof links->ar) &&
           find_tool(links, "CXX", cxx, links->cxx, sizeof links->cxx) &&
           (!links->with_rust || find_tool(links, "RUSTC", rustc, links->rustc,
                                           sizeof links->rustc));
}

static bool
write_file(struct links *links, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", links->folder, name);
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fputs(text, file) >= 0;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good)
        findings_broken(links->found, "cannot write %s", path);
    return good;
}

static bool
open_folder(struct links *links)
{
    const char *temp = getenv("TMPDIR");
    if (temp == NULL || temp[0] == '\0')
        temp = "/tmp";
    snprintf(links->folder, sizeof links->folder, "%.480s/abi-links-XXXXXX",
             temp);
    if (mkdtemp(links->folder) == NULL) {
        findings_broken(links->found, "cannot make a folder in %s", temp);
        links->folder[0] = '\0';
        return false;
    }
    return write_file(links, "gusset.h", embed_gusset_h) &&
           write_file(links, "program.c", embed_others_program) &&
           write_file(links, "neighbour.c", embed_others_neighbour) &&
           write_file(links, "thrower.cc", embed_others_thrower) &&
           write_file(links, "panicker.rs", embed_others_panicker);
}

static void
close_folder(const struct links *links)
{
    DIR *folder = links->folder[0] == '\0' ? NULL : opendir(links->folder);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(links->folder);
}

/* A path in the folder; `path` has 1024 bytes. */
static const char *
inside(const struct links *links, const char *name, char *path)
{
    snprintf(path, 1024, "%s/%s", links->folder, name);
    return path;
}

/* A step of our own: what fails here says nothing about the artifact. */
static bool
prepare(struct links *links, const struct words *words)
{
    struct command_result ran;
    char how[64];
    int failed = command_run(words->at, &ran);
    if (failed != 0) {
        findings_broken(links->found, "cannot run %s: %s", words->at[0],
                        strerror(failed));
        return false;
    }
    bool good = command_succeeded(&ran);
    command_describe(&ran, how, sizeof how);
    if (!good)
        findings_broken(links->found, "%s: %s: %.300s", words->at[0], how,
                        ran.err == NULL ? "" : ran.err);
    command_free(&ran);
    return good;
}

static bool
compile(struct links *links, const char *compiler, const char *standard,
        const char *source, const char *object)
{
    char from[1024], to[1024];
    struct words words = {.count = 0};
    add(&words, compiler);
    add(&words, standard);
    add(&words, "-O1");
    add_san(&words);
    if (links->with_rust)
        add(&words, "-DWITH_RUST");
    add(&words, "-I");
    add(&words, links->folder);
    add(&words, "-c");
    add(&words, "-o");
    add(&words, inside(links, object, to));
    add(&words, inside(links, source, from));
    return prepare(links, &words);
}

static bool
make_rust(struct links *links)
{
    char from[1024], to[1024];
    struct words words = {.count = 0};
    if (!links->with_rust)
        return true;
    add(&words, links->rustc);
    add(&words, "--edition=2021");
    add(&words, "--crate-type=staticlib");
    add(&words, "-Cpanic=unwind");
    add(&words, "-o");
    add(&words, inside(links, "libpanicker.a", to));
    add(&words, inside(links, "panicker.rs", from));
    return prepare(links, &words);
}

static bool
make_archive(struct links *links)
{
    char archive[1024], object[1024];
    struct words words = {.count = 0};
    add(&words, links->ar);
    add(&words, "rcs");
    add(&words, inside(links, "libneighbour.a", archive));
    add(&words, inside(links, "neighbour.o", object));
    return prepare(links, &words);
}

/* The loader looks for the soname, whatever the file is called. */
static void
provide_soname(struct links *links)
{
    char name[256], path[1024];
    if (hardened_soname(links->artifact, name, sizeof name) &&
        symlink(links->artifact, inside(links, name, path)) != 0)
        findings_broken(links->found, "cannot make the link %s", path);
}

/* Lines of a program, or of the link editor, in one. */
static void
one_line(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == '\n')
            *text = text[1] == '\0' ? '\0' : ';';
}

static bool
link_program(struct links *links, bool first, const char *program)
{
    char paths[5][1024], rpath[600], how[64];
    struct words words = {.count = 0};
    struct command_result ran;
    add(&words, links->cxx);
    add_san(&words);
    add(&words, "-o");
    add(&words, program);
    add(&words, inside(links, "program.o", paths[0]));
    if (first)
        add(&words, links->artifact);
    add(&words, inside(links, "thrower.o", paths[1]));
    add(&words, inside(links, "libneighbour.a", paths[2]));
    if (links->with_rust)
        add(&words, inside(links, "libpanicker.a", paths[3]));
    if (!first)
        add(&words, links->artifact);
    snprintf(rpath, sizeof rpath, "-Wl,-rpath,%s", links->folder);
    add(&words, rpath);
    add(&words, "-pthread");
    add(&words, "-ldl");
    add(&words, "-lm");
    int failed = command_run(words.at, &ran);
    if (failed != 0) {
        findings_broken(links->found, "cannot run %s: %s", words.at[0],
                        strerror(failed));
        return false;
    }
    links->found->judged++;
    bool good = command_succeeded(&ran);
    command_describe(&ran, how, sizeof how);
    if (ran.err != NULL)
        one_line(ran.err);
    if (!good)
        findings_fault(
            links->found, "does not link %s the others' code: %s: %.1200s",
            first ? "before" : "behind", how, ran.err == NULL ? "" : ran.err);
    command_free(&ran);
    return good;
}

static void
run_program(struct links *links, bool first, const char *program)
{
    const char *const argv[] = {program, links->job, NULL};
    struct command_result ran;
    char how[64];
    int failed = command_run(argv, &ran);
    if (failed != 0) {
        findings_broken(links->found, "cannot run %s: %s", program,
                        strerror(failed));
        return;
    }
    command_describe(&ran, how, sizeof how);
    const char *said = ran.out == NULL ? "" : ran.out;
    links->found->judged++;
    if (!command_succeeded(&ran)) {
        char *broken = strstr(said, "BROKEN: ");
        if (ran.out != NULL && broken == NULL)
            one_line(ran.out);
        findings_fault(links->found,
                       "linked %s the others' code, the program ends with "
                       "%s: %.*s%s%.600s",
                       first ? "before" : "behind", how,
                       broken != NULL ? (int)strcspn(broken, "\n") : 400,
                       broken != NULL ? broken : said,
                       ran.err_len > 0 ? "; " : "",
                       ran.err == NULL ? "" : ran.err);
    }
    command_free(&ran);
}

static void
try_order(struct links *links, bool first)
{
    char program[1024];
    inside(links, first ? "program-first" : "program-last", program);
    if (link_program(links, first, program))
        run_program(links, first, program);
}

void
links_check(const char *artifact, enum artifact_kind kind, bool with_rust,
            bool own_engine, struct findings *found)
{
    char whole[PATH_MAX];
    struct links links = {.artifact = realpath(artifact, whole),
                          .with_rust = with_rust,
                          .job = own_engine ? "opcode" : "echo",
                          .found = found};
    if (links.artifact == NULL) {
        findings_fault(found, "%s cannot be read", artifact);
        return;
    }
    if (!find_tools(&links))
        return;
    if (open_folder(&links) &&
        compile(&links, links.cc, "-std=gnu11", "program.c", "program.o") &&
        compile(&links, links.cc, "-std=gnu11", "neighbour.c", "neighbour.o") &&
        compile(&links, links.cxx, "-std=c++11", "thrower.cc", "thrower.o") &&
        make_archive(&links) && make_rust(&links)) {
        if (kind == ARTIFACT_SHARED)
            provide_soname(&links);
        try_order(&links, true);
        try_order(&links, false);
    }
    close_folder(&links);
}
