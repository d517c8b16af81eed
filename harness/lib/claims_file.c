/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#define _GNU_SOURCE
#include "claims_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MOST (1 << 20)

const struct claim_key claim_keys[CLAIM_KEYS] = {
    {"oom", CLAIM_WORD, {"error", "abort"}},
    {"stack_overflow", CLAIM_WORD, {"signal", "report"}},
    {"fork_child", CLAIM_WORD, {"refuses", "returns"}},
    {"pthread_exit", CLAIM_WORD, {"replaced", "undefined"}},
    {"engine", CLAIM_WORD, {"none", "own"}},
    {"api_panics", CLAIM_WORD, {"impossible", "hook"}},
    {"unload", CLAIM_WORD, {"supported", "refused"}},
    {"engine_prefix", CLAIM_PREFIX, {NULL, NULL}},
    {"needed", CLAIM_LIST, {NULL, NULL}},
    {"symbol_versions", CLAIM_VERSIONS, {NULL, NULL}},
};

static const char digits[] = "0123456789";
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz";
static const char name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz"
                                   "0123456789_";

/* Where the trouble goes, and what it is about. */
struct reading {
    const char *path;
    char *error;
    size_t cap;
};

/* Whatever the file held, the answer stays one line that a terminal bears. */
__attribute__((format(printf, 2, 3))) static bool
refuse(const struct reading *reading, const char *format, ...)
{
    int used = snprintf(reading->error, reading->cap, "%s: ", reading->path);
    if (used >= 0 && (size_t)used < reading->cap) {
        va_list args;
        va_start(args, format);
        vsnprintf(reading->error + used, reading->cap - (size_t)used, format,
                  args);
        va_end(args);
    }
    for (char *at = reading->error; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
    return false;
}

const struct claim_key *
claims_file_key(const char *name, size_t len)
{
    for (size_t i = 0; i < CLAIM_KEYS; i++) {
        if (strlen(claim_keys[i].name) == len &&
            memcmp(claim_keys[i].name, name, len) == 0) {
            return &claim_keys[i];
        }
    }
    return NULL;
}

static bool
check_word(const struct reading *reading, const struct claim_key *key,
           const json_t *value)
{
    const char *word = json_string_value(value);
    if (word != NULL && (strcmp(word, key->words[0]) == 0 ||
                         strcmp(word, key->words[1]) == 0)) {
        return true;
    }
    return refuse(reading, "%s must be \"%s\" or \"%s\"%s%.40s%s", key->name,
                  key->words[0], key->words[1], word == NULL ? "" : ", not \"",
                  word == NULL ? ", a text" : word, word == NULL ? "" : "\"");
}

/* Of the engine API alone: neither everything nor the 17 functions. */
static bool
check_prefix(const struct reading *reading, const struct claim_key *key,
             const json_t *value)
{
    const char *prefix = json_string_value(value);
    size_t len = prefix == NULL ? 0 : strlen(prefix);
    if (len >= 2 && len <= 64 && prefix[len - 1] == '_' &&
        strchr(digits, prefix[0]) == NULL &&
        prefix[strspn(prefix, "_")] != '\0' &&
        strspn(prefix, name_letters) == len &&
        strncmp(prefix, "gusset_", 7) != 0) {
        return true;
    }
    return refuse(reading,
                  "%s must be the beginning of a C name that ends in _, and "
                  "not gusset_%s%.40s",
                  key->name, prefix == NULL ? "" : ": ",
                  prefix == NULL ? "" : prefix);
}

static bool
check_list(const struct reading *reading, const struct claim_key *key,
           const json_t *value)
{
    if (!json_is_array(value)) {
        return refuse(reading, "%s must be an array of library names",
                      key->name);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *name = json_string_value(json_array_get(value, i));
        if (name == NULL || name[0] == '\0' ||
            strpbrk(name, "/ \t\n\r") != NULL) {
            return refuse(reading, "%s: item %zu is no library name", key->name,
                          i + 1);
        }
        for (size_t j = 0; j < i; j++) {
            const char *other = json_string_value(json_array_get(value, j));
            if (strcmp(name, other) == 0) {
                return refuse(reading, "%s names %.60s twice", key->name, name);
            }
        }
    }
    return true;
}

/* "2.34", "2.2.5": numbers with single dots between them. */
static bool
is_version(const char *text)
{
    for (;;) {
        size_t len = strspn(text, digits);
        if (len == 0 || len > 9) {
            return false;
        }
        text += len;
        if (*text == '\0') {
            return true;
        }
        if (*text++ != '.') {
            return false;
        }
    }
}

static bool
check_versions(const struct reading *reading, const struct claim_key *key,
               json_t *value)
{
    const char *name = NULL;
    json_t *version = NULL;
    if (!json_is_object(value)) {
        return refuse(reading, "%s must be an object, as {\"GLIBC\": \"2.34\"}",
                      key->name);
    }
    json_object_foreach(value, name, version)
    {
        const char *text = json_string_value(version);
        if (name[0] == '\0' || strchr(letters, name[0]) == NULL ||
            strspn(name, name_letters) != strlen(name)) {
            return refuse(reading, "%s: %.40s is no name of a version",
                          key->name, name);
        }
        if (text == NULL || !is_version(text)) {
            return refuse(reading, "%s: %.40s must have a version, as \"2.34\"",
                          key->name, name);
        }
    }
    return true;
}

static bool
check_member(const struct reading *reading, const char *name, json_t *value)
{
    const struct claim_key *key = claims_file_key(name, strlen(name));
    if (key == NULL) {
        char known[256] = "";
        for (size_t i = 0; i < CLAIM_KEYS; i++) {
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s",
                     i == 0 ? "" : ", ", claim_keys[i].name);
        }
        return refuse(reading, "unknown key \"%.40s\" (known: %s)", name,
                      known);
    }
    switch (key->kind) {
    case CLAIM_WORD:
        return check_word(reading, key, value);
    case CLAIM_PREFIX:
        return check_prefix(reading, key, value);
    case CLAIM_LIST:
        return check_list(reading, key, value);
    default:
        return check_versions(reading, key, value);
    }
}

static bool
check_all(const struct reading *reading, json_t *root)
{
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(root)) {
        return refuse(reading, "must be a JSON object");
    }
    json_object_foreach(root, name, value)
    {
        if (!check_member(reading, name, value)) {
            return false;
        }
    }
    return true;
}

/* A descriptor of a regular file of a sensible size, or -1. */
static int
open_file(const struct reading *reading)
{
    struct stat facts;
    int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        refuse(reading, "%s", strerror(errno));
    } else if (!S_ISREG(facts.st_mode)) {
        refuse(reading, "is not a regular file");
    } else if (facts.st_size > BYTES_MOST) {
        refuse(reading, "is over 1 MiB");
    } else {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

json_t *
claims_file_read(const char *path, char *error, size_t cap)
{
    const struct reading reading = {path, error, cap};
    json_error_t trouble;
    int fd = open_file(&reading);
    if (fd < 0) {
        return NULL;
    }
    json_t *root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &trouble);
    close(fd);
    if (root == NULL) {
        refuse(&reading, "line %d: %s", trouble.line, trouble.text);
    } else if (!check_all(&reading, root)) {
        json_decref(root);
        root = NULL;
    }
    return root;
}
