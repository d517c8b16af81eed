/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_facts.h"
#include "exit_codes.h"

static const char *const contract_exports[] = {
    "gusset_abi_fields",   "gusset_abi_layout",  "gusset_alloc_stats",
    "gusset_buf_alloc",    "gusset_buf_free",    "gusset_cancel",
    "gusset_cancel_all",   "gusset_drain_logs",  "gusset_handle_close",
    "gusset_handle_open",  "gusset_handle_ring", "gusset_init",
    "gusset_ring_release", "gusset_shutdown",    "gusset_status_free",
    "gusset_submit",       "gusset_take"};
enum { EXPORTS = sizeof contract_exports / sizeof contract_exports[0] };
_Static_assert(EXPORTS == 17, "the contract has 17 exports");

bool
file_sha256(const char *path, char hex[65])
{
    unsigned char block[65536];
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    crypto_hash_sha256_init(&state);
    ssize_t got = 0;
    while ((got = read(fd, block, sizeof block)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        crypto_hash_sha256_update(&state, block, (unsigned long long)got);
    }
    int error = errno;
    close(fd);
    errno = error;
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(hex, 65, hash, sizeof hash);
    return got == 0;
}

bool
file_mark(const char *path, struct file_mark *mark)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    *mark = (struct file_mark){.device = st.st_dev,
                               .inode = st.st_ino,
                               .bytes = st.st_size,
                               .written = st.st_mtim,
                               .changed = st.st_ctim};
    return true;
}

static bool
same_time(const struct timespec *left, const struct timespec *right)
{
    return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

bool
file_mark_same(const struct file_mark *left, const struct file_mark *right)
{
    return left->device == right->device && left->inode == right->inode &&
           left->bytes == right->bytes &&
           same_time(&left->written, &right->written) &&
           same_time(&left->changed, &right->changed);
}

const char *
artifact_kind_word(const struct artifact *artifact)
{
    return artifact->kind == ARTIFACT_SHARED ? "shared" : "static";
}

bool
artifact_unchanged(const struct artifact *artifact)
{
    char now[65];
    struct file_mark mark;
    return file_sha256(artifact->path, now) &&
           strcmp(now, artifact->sha256) == 0 &&
           file_mark(artifact->path, &mark) &&
           file_mark_same(&artifact->mark, &mark);
}

/* Opens what can be read at all; quits on the rest. */
static int
open_regular(const char *path, unsigned long long *bytes)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        quit(EXIT_USAGE, "%s: %s", path, strerror(errno));
    if (fstat(fd, &stat) != 0)
        quit(EXIT_USAGE, "%s: %s", path, strerror(errno));
    if (S_ISDIR(stat.st_mode))
        quit(EXIT_USAGE, "%s: is a directory, not a .so or .a", path);
    if (!S_ISREG(stat.st_mode))
        quit(EXIT_USAGE, "%s: is not a regular file", path);
    if (stat.st_size == 0)
        quit(EXIT_USAGE, "%s: is empty", path);
    *bytes = (unsigned long long)stat.st_size;
    return fd;
}

static void
refuse_strangers(const char *path, const struct elf_facts *facts)
{
    if (facts->thin)
        quit(EXIT_USAGE, "%s: is a thin archive, it does not hold its objects",
             path);
    if (facts->error != NULL)
        quit(EXIT_USAGE, "%s: %s", path, facts->error);
    if (facts->foreign_machine != NULL)
        quit(EXIT_USAGE, "%s: is built for %s, this machine is %s", path,
             facts->foreign_machine, elf_own_machine());
    if (facts->bitcode > 0)
        quit(EXIT_USAGE,
             "%s: holds compiler bitcode (LTO) without a symbol table; build "
             "it without -flto or with -ffat-lto-objects",
             path);
    if (facts->objects == 0)
        quit(EXIT_USAGE, "%s: is an archive without a single object", path);
    if (facts->program)
        quit(EXIT_USAGE, "%s: is a program, not a .so or .a", path);
    if (facts->plain_object)
        quit(EXIT_USAGE, "%s: is an object file; put it into an archive", path);
}

static int
by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void
compare_exports(struct artifact *artifact)
{
    struct strings *exports = &artifact->exports;
    if (exports->count > 0)
        qsort(exports->items, exports->count, sizeof(char *), by_name);
    for (int i = 0; i < EXPORTS; i++) {
        if (!strings_have(exports, contract_exports[i]))
            strings_add(&artifact->missing, contract_exports[i]);
    }
    for (size_t i = 0; i < exports->count; i++) {
        bool known = false;
        for (int j = 0; j < EXPORTS; j++)
            known =
                known || strcmp(exports->items[i], contract_exports[j]) == 0;
        if (!known)
            strings_add(&artifact->strays, exports->items[i]);
    }
}

static unsigned long long
read_facts(struct elf_facts *facts, const char *path)
{
    unsigned long long bytes = 0;
    int fd = open_regular(path, &bytes);
    elf_facts_read(facts, fd);
    close(fd);
    refuse_strangers(path, facts);
    return bytes;
}

void
artifact_facts(struct elf_facts *facts, const char *path)
{
    (void)read_facts(facts, path);
}

void
artifact_read(struct artifact *artifact, const char *path)
{
    struct elf_facts facts;
    *artifact = (struct artifact){0};
    file_mark(path, &artifact->mark);
    artifact->bytes = read_facts(&facts, path);
    artifact->kind = facts.archive ? ARTIFACT_ARCHIVE : ARTIFACT_SHARED;
    artifact->build_id = facts.build_id;
    artifact->soname = facts.soname;
    artifact->machine = need_copy(elf_own_machine());
    artifact->libc = facts.libc;
    artifact->exports = facts.exports;
    artifact->path = realpath(path, NULL);
    if (artifact->path == NULL || !file_sha256(path, artifact->sha256))
        quit(EXIT_USAGE, "%s: %s", path, strerror(errno));
    const char *slash = strrchr(path, '/');
    artifact->name = need_copy(slash ? slash + 1 : path);
    compare_exports(artifact);
    if (artifact->missing.count == EXPORTS) {
        struct text names = {0};
        strings_join(&artifact->missing, ", ", &names);
        quit(EXIT_NOT_CONFORMING,
             "%s: not conforming: i6.exports-exact: exports none of the 17 "
             "functions, missing: %s",
             path, text_get(&names));
    }
}
