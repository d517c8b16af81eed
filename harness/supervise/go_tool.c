/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "go_tool.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_codes.h"
#include "go_sources.h"
#include "parts.h"
#include "spawn.h"

enum { VERSION_TIMEOUT_MS = 60000, NOT_EXECUTED = 126 };

/* Three numbers of "1.26.8"; what is missing counts as 0. */
struct version {
    int numbers[3];
};

static struct version
version_of(const char *text)
{
    struct version version = {{0}};
    sscanf(text, "%d.%d.%d", &version.numbers[0], &version.numbers[1],
           &version.numbers[2]);
    return version;
}

static bool
older(struct version left, struct version right)
{
    for (int i = 0; i < 3; i++) {
        if (left.numbers[i] != right.numbers[i])
            return left.numbers[i] < right.numbers[i];
    }
    return false;
}

/* "1.26": the go line of the package's go.mod. Quits when there is none. */
static char *
wanted_version(const char *package)
{
    struct text text = {0};
    char *path = need_format("%s/go.mod", package);
    if (!text_read_file(&text, path))
        quit(EXIT_USAGE, "the Go package %s: cannot read go.mod: %s", package,
             strerror(errno));
    const char *line = strstr(text_get(&text), "\ngo ");
    if (line == NULL)
        quit(EXIT_USAGE, "the Go package %s: its go.mod has no go line",
             package);
    char *wanted = need_format("%.*s", (int)strcspn(line + 4, " \n"), line + 4);
    text_free(&text);
    free(path);
    return wanted;
}

/* "go1.26.8" out of "go version go1.26.8 linux/amd64", or NULL. */
static char *
version_in(const char *said)
{
    for (const char *at = said; (at = strstr(at, "go")) != NULL; at += 2) {
        if ((at == said || at[-1] == ' ') && isdigit((unsigned char)at[2]))
            return need_format("%.*s", (int)strcspn(at, " \n"), at);
    }
    return NULL;
}

/* Asks the command for its version; NULL and why when it is no Go. */
static char *
ask_version(const struct go_tool *go, char **why)
{
    struct strings words = {0};
    struct text said = {0};
    bool timed_out = false;
    strings_add(&words, "env");
    strings_add(&words, "GOTOOLCHAIN=local");
    strings_add(&words, go->command);
    strings_add(&words, "version");
    int status = spawn_capture(strings_argv(&words), VERSION_TIMEOUT_MS, &said,
                               &said, &timed_out);
    char *version = status == 0 ? version_in(text_get(&said)) : NULL;
    if (version == NULL && WIFEXITED(status) &&
        WEXITSTATUS(status) >= NOT_EXECUTED)
        *why = need_format("there is no %s", go->command);
    else if (version == NULL)
        *why =
            need_format("it does not say which version it is%s%.*s",
                        said.len > 0 ? ": " : "",
                        (int)strcspn(text_get(&said), "\n"), text_get(&said));
    strings_free(&words);
    text_free(&said);
    return version;
}

/* NULL when none is named and the one of this release is not installed. */
static char *
package_folder(const struct options *options)
{
    char *built_in = part_path("share/gusset-conform/go");
    const char *named = options->go_package;
    char *whole = realpath(named != NULL ? named : built_in, NULL);
    if (whole == NULL && named != NULL)
        quit(EXIT_USAGE, "--go-package %s: %s", named, strerror(errno));
    free(built_in);
    return whole;
}

/* A sanitizer's runtime has to come first, and Go programs have no place. */
static bool
sanitized(void)
{
    struct text flags = {0};
    char *path = part_path("lib/conform-link.flags");
    bool found = text_read_file(&flags, path) &&
                 strstr(text_get(&flags), "-fsanitize") != NULL;
    text_free(&flags);
    free(path);
    return found;
}

static void
look(struct go_tool *go)
{
    const char *named = getenv("GO");
    char *why = NULL;
    char *wanted = wanted_version(go->package);
    bool chosen = named != NULL && named[0] != '\0';
    go->command = chosen ? named : "go";
    go->version = ask_version(go, &why);
    if (go->version == NULL && chosen)
        quit(EXIT_USAGE, "GO=%s: cannot be used: %s", named, why);
    if (go->version == NULL)
        go->missing =
            need_format("needs Go %s or later: %s in PATH", wanted, why);
    else if (older(version_of(go->version + 2), version_of(wanted)))
        go->missing = need_format("needs Go %s or later: %s is %s", wanted,
                                  go->command, go->version);
    else if (sanitized())
        go->missing = need_copy("needs Go, and a build without a sanitizer");
    free(why);
    free(wanted);
}

static void
hash_package(struct go_tool *go)
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_init(&state);
    go_sources_hash(&state, go->package);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(go->sha256, sizeof go->sha256, hash, sizeof hash);
}

void
go_tool_find(struct go_tool *go, const struct options *options)
{
    *go = (struct go_tool){0};
    if (options->go == GO_NEVER) {
        go->missing = need_copy("needs Go, which --go=never leaves out");
        return;
    }
    go->package = package_folder(options);
    if (go->package != NULL)
        look(go);
    else
        go->missing = need_copy("needs Go sources that are not installed");
    if (options->go == GO_REQUIRE && go->missing != NULL)
        quit(EXIT_INCONCLUSIVE, "--go=require: %s", go->missing);
    if (go->missing == NULL)
        hash_package(go);
}

void
go_tool_words(const struct go_tool *go, const char *cgo_ldflags,
              struct strings *words)
{
    static const char *const settings[] = {
        "GOTOOLCHAIN=local", "GOWORK=off",    "GOPROXY=off",
        "GOSUMDB=off",       "CGO_ENABLED=1", "GO111MODULE=on"};
    const char *own = getenv("CGO_LDFLAGS");
    strings_add(words, "env");
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        strings_add(words, settings[i]);
    if (cgo_ldflags != NULL) {
        char *flags = need_format("CGO_LDFLAGS=%s%s%s", cgo_ldflags,
                                  own != NULL ? " " : "", own ? own : "");
        strings_add(words, flags);
        free(flags);
    }
    strings_add(words, go->command);
}
