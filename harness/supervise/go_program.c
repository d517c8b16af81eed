/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The folder that -L names has the hash in its name, because Go
 * caches what it learned from the library under the flags it was given, and
 * knows nothing of the file behind them.
 */
#include "go_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact.h"
#include "exit_codes.h"
#include "go_sources.h"
#include "spawn.h"
#include "verdict.h"

/* The first build of a user also compiles the standard library. */
enum { BUILD_TIMEOUT_MS = 1200000, LIST_TIMEOUT_MS = 60000 };

/* One build at work. */
struct build {
    const struct go_tool *go;
    const struct case_program *program;
    const struct artifact *artifact; /* or NULL */
    char *name;                      /* "go-NAME" */
    char *folder;
    char *target;
    char *map; /* the linker's, of what went into the program */
    char *module;
};

static void
hash_text(crypto_hash_sha256_state *state, const char *text)
{
    if (text == NULL)
        text = "";
    crypto_hash_sha256_update(state, (const unsigned char *)text,
                              strlen(text) + 1);
}

/* What Go heeds of the environment, and what is written into the program. */
static void
hash_settings(crypto_hash_sha256_state *state)
{
    static const char *const names[] = {
        "CC",           "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS", "GOAMD64",
        "GOEXPERIMENT", "GOFLAGS",    "GOROOT",       "GOARCH",      "GOARM64"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        hash_text(state, getenv(names[i]));
}

static char *
key_of(const struct build *build, const char *root)
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof hash + 1];
    crypto_hash_sha256_init(&state);
    hash_text(&state, build->go->version);
    hash_text(&state, build->program->path);
    if (build->artifact != NULL) {
        hash_text(&state, build->artifact->path);
        hash_text(&state, build->artifact->sha256);
    }
    hash_settings(&state);
    go_sources_hash(&state, root);
    hash_text(&state, build->go->package);
    hash_text(&state, build->go->sha256);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
    return need_format("%.16s", hex);
}

static void
make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        quit(EXIT_USAGE, "cannot make %s: %s", path, strerror(errno));
}

static void
make_link(const char *folder, const char *name, const char *artifact)
{
    char *path = need_format("%s/lib/%s", folder, name);
    unlink(path);
    if (symlink(artifact, path) != 0)
        quit(EXIT_USAGE, "cannot make %s: %s", path, strerror(errno));
    free(path);
}

/* The only library that -lgusset, and later the loader, can find. */
static void
make_links(const struct build *build)
{
    const struct artifact *artifact = build->artifact;
    char *lib = need_format("%s/lib", build->folder);
    make_folder(lib);
    if (artifact != NULL && artifact->kind == ARTIFACT_ARCHIVE)
        make_link(build->folder, "libgusset.a", artifact->path);
    if (artifact != NULL && artifact->kind == ARTIFACT_SHARED)
        make_link(build->folder, "libgusset.so", artifact->path);
    if (artifact != NULL && artifact->soname != NULL &&
        artifact->soname[0] != '\0' && artifact->soname[0] != '.' &&
        strchr(artifact->soname, '/') == NULL)
        make_link(build->folder, artifact->soname, artifact->path);
    free(lib);
}

/* A word among others, as Go and its linker split them. */
static char *
quoted(const char *word)
{
    const char *quote = strchr(word, '\'') != NULL ? "\"" : "'";
    return need_format("%s%s%s", quote, word, quote);
}

/* The rpath comes before LD_LIBRARY_PATH only as the old kind of tag. */
static char *
linker_flags(const struct build *build)
{
    char *map_word = need_format("-Wl,-Map=%s", build->map);
    char *map = quoted(map_word);
    char *flags =
        need_format("-ldflags=-B none -extldflags \"-Wl,--build-id=sha1 "
                    "-Wl,-rpath,$ORIGIN/lib -Wl,--disable-new-dtags %s\"",
                    map);
    free(map_word);
    free(map);
    return flags;
}

static void
add_owned(struct strings *list, char *word)
{
    strings_add(list, word);
    free(word);
}

static void
build_words(const struct build *build, const char *target,
            struct strings *words)
{
    char *search = need_format("-L%s/lib", build->folder);
    char *ldflags = quoted(search);
    go_tool_words(build->go, build->artifact ? ldflags : NULL, words);
    strings_add(words, "-C");
    strings_add(words, build->program->path);
    strings_add(words, "build");
    strings_add(words, "-trimpath");
    strings_add(words, "-buildvcs=false");
    add_owned(words, need_format("-modfile=%s", build->module));
    if (build->artifact != NULL)
        add_owned(words, linker_flags(build));
    strings_add(words, "-o");
    strings_add(words, target);
    strings_add(words, ".");
    free(search);
    free(ldflags);
}

/* The commands, for people and for the check of what was linked. */
static char *
line_of(const struct build *build)
{
    struct strings words = {0};
    struct text line = {0};
    if (build->artifact != NULL) {
        text_add(&line, "ln -s ");
        text_add_shell(&line, build->artifact->path);
        text_add(&line, " ");
        char *link =
            need_format("%s/lib/libgusset.%s", build->folder,
                        build->artifact->kind == ARTIFACT_ARCHIVE ? "a" : "so");
        text_add_shell(&line, link);
        text_add(&line, " && ");
        free(link);
    }
    build_words(build, build->target, &words);
    for (size_t i = 0; i < words.count; i++) {
        text_add(&line, "%s", i > 0 ? " " : "");
        text_add_shell(&line, words.items[i]);
    }
    strings_free(&words);
    return text_take(&line);
}

/* The first line that says what is wrong, not where. */
static char *
telling_line(const char *said)
{
    const char *found = said;
    for (const char *at = said; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (len > 0 && at[0] != '#' && at[0] != ' ' && at[0] != '\t') {
            found = at;
            break;
        }
        at += len + (at[len] == '\n');
    }
    return need_format("%.*s", (int)strcspn(found, "\n"), found);
}

static void
give_up(const struct build *build, struct go_program *built, struct text *said,
        const char *what)
{
    struct text clean = {0};
    text_add_clean(&clean, text_get(said), said->len);
    char *first = telling_line(text_get(&clean));
    built->reason = need_format("%s %s: %s", build->name, what, first);
    built->said = text_take(&clean);
    free(first);
}

/* True when the program is there and holds the artifact. */
static bool
compile(const struct build *build, struct go_program *built)
{
    struct strings words = {0};
    struct text said = {0}, map = {0};
    bool timed_out = false, holds = true;
    char *fresh = need_format("%s.%ld", build->target, (long)getpid());
    build_words(build, fresh, &words);
    int status = spawn_capture(strings_argv(&words), BUILD_TIMEOUT_MS, &said,
                               &said, &timed_out);
    strings_free(&words);
    if (status == 0 && build->artifact != NULL &&
        build->artifact->kind == ARTIFACT_ARCHIVE) {
        char *archive = need_format("%s/lib/libgusset.a(", build->folder);
        holds = text_read_file(&map, build->map) &&
                strstr(text_get(&map), archive) != NULL;
        free(archive);
    }
    if (timed_out)
        give_up(build, built, &said, "was not built in time");
    else if (status != 0)
        give_up(build, built, &said, "does not build");
    else if (!holds)
        give_up(build, built, &said,
                "holds nothing of the archive, says its linker's map");
    else if (rename(fresh, build->target) != 0)
        quit(EXIT_INCONCLUSIVE, "cannot keep %s: %s", build->target,
             strerror(errno));
    unlink(fresh);
    text_free(&said);
    text_free(&map);
    free(fresh);
    return built->reason == NULL;
}

/* Where two lists of cases differ first, in words. */
static char *
difference(const char *listed, const char *kept)
{
    while (*listed != '\0' || *kept != '\0') {
        size_t left = strcspn(listed, "\n"), right = strcspn(kept, "\n");
        if (left != right || strncmp(listed, kept, left) != 0)
            return need_format("the program says %.*s, the manifest %.*s",
                               left > 60 ? 60 : (int)left, listed,
                               right > 60 ? 60 : (int)right, kept);
        listed += left + (listed[left] == '\n');
        kept += right + (kept[right] == '\n');
    }
    return NULL;
}

/*
 * The manifest must be the program's own list. A program that dies before it
 * can say anything (package gusset refuses the library) is left to its cases,
 * which die in the same way and are judged by that.
 */
static void
check_manifest(const struct build *build)
{
    struct text listed = {0}, kept = {0}, errors = {0};
    bool timed_out = false;
    char *path = need_format("%s/" MANIFEST_NAME, build->program->path);
    char *argv[] = {build->target, "--list", NULL};
    int status =
        spawn_capture(argv, LIST_TIMEOUT_MS, &listed, &errors, &timed_out);
    if (!text_read_file(&kept, path))
        quit(EXIT_OUR_BUG, "cannot read %s: %s", path, strerror(errno));
    char *where =
        status == 0 ? difference(text_get(&listed), text_get(&kept)) : NULL;
    if (where != NULL)
        quit(EXIT_OUR_BUG, "%s is stale (make go-manifest writes it): %s", path,
             where);
    text_free(&listed);
    text_free(&kept);
    text_free(&errors);
    free(path);
}

void
go_program_build(struct go_program *built, const struct go_tool *go,
                 const struct case_program *program,
                 const struct artifact *artifact, const char *cache)
{
    struct build build = {.go = go, .program = program, .artifact = artifact};
    char *root = go_sources_root(program->path);
    *built = (struct go_program){0};
    char *key = key_of(&build, root);
    build.name = need_format("go-%s", program->name);
    build.folder = need_format("%s/%s-%s", cache, build.name, key);
    build.target = need_format("%s/%s", build.folder, build.name);
    build.map = need_format("%s/map", build.folder);
    build.module = need_format("%s/go.mod", build.folder);
    built->line = line_of(&build);
    bool there = access(build.target, X_OK) == 0;
    if (!there) {
        make_folder(build.folder);
        make_links(&build);
        go_sources_module(root, go->package, build.module);
        there = compile(&build, built);
    }
    if (there) {
        check_manifest(&build);
        built->path = need_copy(build.target);
    }
    free(root);
    free(key);
    free(build.name);
    free(build.folder);
    free(build.target);
    free(build.map);
    free(build.module);
}
