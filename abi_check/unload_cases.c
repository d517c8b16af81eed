/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What dlclose leaves [a.unload]. This program has loaded nothing, so the
 * cases load the subject themselves, more than once. An implementation that
 * makes itself not unloadable is as good: then the next dlopen must work.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi_check/artifact.h"
#include "conform.h"

#define POOL 3
#define LAST_SIGNAL 64

static const char *const names[] = {
#define NAME(name) "gusset_" #name,
    CONFORM_EXPORTS(NAME)
#undef NAME
};

/* The subject's path; the case is over for an archive. */
static const char *
shared_subject(void)
{
    char error[1200];
    struct artifact artifact;
    const char *path = conform_impl_path();
    if (path == NULL)
        conform_broken("no artifact: --impl FILE is needed");
    bool good = artifact_read(path, &artifact, error, sizeof error);
    expect(good, "the artifact is readable: %s", good ? "yes" : error);
    enum artifact_kind kind = artifact.kind;
    artifact_free(&artifact);
    if (kind == ARTIFACT_ARCHIVE)
        conform_skip("not applicable to an archive: nothing unloads it");
    return path;
}

/* Loads the subject and points `api` at it. */
static void *
load(const char *path, int cycle)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    expect(library != NULL, "dlopen, cycle %d: %s", cycle,
           library == NULL ? dlerror() : "good");
    void **members = (void **)(void *)&api;
    _Static_assert(sizeof api ==
                       sizeof names / sizeof names[0] * sizeof(void *),
                   "a name for each member");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        members[i] = dlsym(library, names[i]);
        expect(members[i] != NULL, "%s is found, cycle %d", names[i], cycle);
    }
    return library;
}

/* True when the library stays although nobody holds it any more. */
static bool
unload(const char *path, void *library, int cycle)
{
    memset(&api, 0, sizeof api);
    expect_i64(0, dlclose(library), "dlclose, cycle %d", cycle);
    void *left = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (left != NULL)
        (void)dlclose(left);
    return left != NULL;
}

/* Which opcode a job can have that ends whatever engine there is. */
static uint32_t
opcode(void)
{
    return conform_claims("engine", "own") ? UINT32_MAX : 0;
}

static void
free_status(int32_t expected, int32_t code, FfiStatus *status, const char *what)
{
    expect_code(expected, code, "%s", what);
    api.status_free(status);
}

/* One job with the whole life of a result; reads its record from the pipe. */
static void
one_job(GussetHandle *handle, int read_fd, uint8_t mode)
{
    const uint8_t input[] = {mode, 'u', 'n'};
    CallHeader header = {.flags = DIAGNOSTIC, .reserved = opcode()};
    FfiStatus status = {0};
    struct pollfd wait = {.fd = read_fd, .events = POLLIN};
    uint64_t ticket = 0, record = 0, id = 0;
    uint8_t *bytes = NULL;
    size_t len = 0;
    free_status(
        FFI_OK,
        api.submit(handle, &header, input, sizeof input, 0, &ticket, &status),
        &status, "submit");
    while (poll(&wait, 1, -1) < 0)
        continue;
    expect_i64(sizeof record, read(read_fd, &record, sizeof record),
               "bytes of the record");
    expect_u64(ticket, record, "the ticket in the pipe");
    int32_t code = api.take(handle, ticket, &id, &bytes, &len, &status);
    int32_t wanted = header.reserved != 0 ? FFI_ERR
                     : mode == 1          ? FFI_PANIC
                                          : FFI_OK;
    if (code == FFI_OK)
        expect_bytes(input, sizeof input, bytes, len, "the echo");
    free_status(wanted, code, &status, "take");
    if (code == FFI_OK)
        free_status(FFI_OK, api.buf_free(handle, id, &status), &status,
                    "buf_free of the result");
}

/* A handle's whole life: jobs, a panic, a buffer left, a ring, the log. */
static void
use(bool ring)
{
    int ends[2];
    uint8_t log[256], *memory = NULL;
    uint64_t capacity = 0, id = 0;
    size_t written = 0;
    FfiStatus status = {0};
    GussetHandle *handle = NULL;
    const GussetRing *mapped = NULL;
    const uint8_t *shared = NULL, *slots = NULL;
    if (pipe2(ends, O_CLOEXEC) != 0)
        conform_broken("no pipe");
    free_status(FFI_OK, api.handle_open(POOL, ends[1], &handle, &status),
                &status, "handle_open");
    one_job(handle, ends[0], 0);
    free_status(FFI_OK, api.buf_alloc(handle, 70000, &id, &memory, &status),
                &status, "buf_alloc");
    one_job(handle, ends[0], 1);
    if (ring)
        free_status(FFI_OK,
                    api.handle_ring(handle, &mapped, &shared, &slots, &capacity,
                                    &status),
                    &status, "handle_ring");
    free_status(FFI_OK, api.handle_close(handle, &status), &status,
                "handle_close");
    api.ring_release(mapped);
    api.drain_logs(log, sizeof log, &written);
    (void)close(ends[0]);
}

static uint32_t
count_descriptors(void)
{
    uint32_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        conform_broken("/proc/self/fd is not readable");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static bool
no_library_thread(void *argument)
{
    int32_t ids[64];
    (void)argument;
    return conform_library_threads(ids, 64) == 0;
}

struct process {
    uint32_t descriptors;
    struct sigaction actions[LAST_SIGNAL + 1];
};

static void
look(struct process *process)
{
    memset(process, 0, sizeof *process);
    process->descriptors = count_descriptors();
    for (int number = 1; number <= LAST_SIGNAL; number++)
        (void)sigaction(number, NULL, &process->actions[number]);
}

/* A fork handler left behind would be called in the first of these. */
static void
expect_fork_works(int cycle)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    expect(child > 0, "fork after dlclose, cycle %d", cycle);
    while (waitpid(child, &status, 0) < 0)
        continue;
    expect_i64(7 << 8, status, "the child's status after dlclose, cycle %d",
               cycle);
}

/* Nothing of the subject is left in the process. */
static void
expect_nothing_left(const struct process *before, int cycle)
{
    struct process after;
    expect(conform_eventually(no_library_thread, NULL),
           "no thread of the library is left after dlclose, cycle %d", cycle);
    look(&after);
    expect_u64(before->descriptors, after.descriptors,
               "descriptors after dlclose, cycle %d", cycle);
    for (int number = 1; number <= LAST_SIGNAL; number++)
        expect(before->actions[number].sa_handler ==
                   after.actions[number].sa_handler,
               "the disposition of signal %d after dlclose, cycle %d", number,
               cycle);
}

CONFORM_CASE(unload_cycles, .id = "a.unload.cycles", .clauses = "a.unload",
             .why = "A plug-in host loads and unloads; a thread, descriptor, "
                    "signal handler or exit handler left behind runs code "
                    "that is no longer there.",
             .steps = "Several times: dlopen, init, a handle with jobs, a "
                      "panic, a buffer and a ring, close, release, dlclose, "
                      "fork; then exit().",
             .expected = "No thread, descriptor or signal handler more than "
                         "before; the next dlopen works; exit is clean. A "
                         "library may stay loaded instead, if it claims so or "
                         "nothing.",
             .mutant = "thread-outlives-unload exit-handler-outlives-unload "
                       "descriptor-outlives-unload "
                       "signal-handler-outlives-unload "
                       "fork-handler-outlives-unload")
{
    struct process before;
    const char *path = shared_subject();
    const int cycles = (int)conform_rounds(6, 40);
    bool stays = false;
    look(&before);
    for (int cycle = 0; cycle < cycles; cycle++) {
        void *library = load(path, cycle);
        expect_code(FFI_OK, api.init(), "init, cycle %d", cycle);
        use(false);
        use(true);
        /* What a last shutdown leaves must not hold it either. */
        if (cycle % 2 == 1)
            expect_code(FFI_OK, api.shutdown(0), "an idle shutdown");
        stays = unload(path, library, cycle);
        if (cycle == 0)
            conform_evidence("unload", "%s", stays ? "refused" : "supported");
        conform_marker("after dlclose");
        if (!stays)
            expect_nothing_left(&before, cycle);
        expect_fork_works(cycle);
    }
}

struct guest {
    struct conform_barrier *used, *unloaded;
};

/* Calls the library, and ends only when the library is gone. */
static void
outlive(void *argument)
{
    struct guest *guest = argument;
    AllocStats stats;
    use(false);
    api.alloc_stats(&stats);
    conform_barrier_wait(guest->used);
    conform_barrier_wait(guest->unloaded);
}

CONFORM_CASE(unload_thread, .id = "a.unload.host-thread-outlives",
             .clauses = "a.unload",
             .why = "A destructor of thread-local data that the library "
                    "registered runs when the host's thread ends, in memory "
                    "that was unmapped.",
             .steps = "A host thread opens, uses and closes a handle, waits "
                      "for dlclose, and ends.",
             .expected = "It ends; the process lives.",
             .mutant = "thread-key-outlives-unload")
{
    struct process before;
    const char *path = shared_subject();
    struct guest guest = {conform_barrier_new(2), conform_barrier_new(2)};
    look(&before);
    void *library = load(path, 0);
    struct conform_thread *thread = conform_thread_start(outlive, &guest, 0);
    conform_barrier_wait(guest.used);
    bool stays = unload(path, library, 0);
    conform_evidence("unload", "%s", stays ? "refused" : "supported");
    conform_marker("after dlclose");
    conform_barrier_wait(guest.unloaded);
    conform_thread_join(thread);
    conform_barrier_free(guest.used);
    conform_barrier_free(guest.unloaded);
    if (!stays)
        expect_nothing_left(&before, 0);
}

CONFORM_CASE(unload_claim, .id = "a.unload.as-claimed", .clauses = "a.unload",
             .why = "A host that was told it may unload the library, or that "
                    "it may not, relies on it.",
             .steps = "dlopen, use, close, dlclose; is it still loaded?",
             .expected = "What the claim `unload` says.",
             .needs = "claim:unload", .mutant = "never-unloaded")
{
    const char *path = shared_subject();
    void *library = load(path, 0);
    use(false);
    bool stays = unload(path, library, 0);
    if (conform_claims("unload", "supported"))
        expect(!stays, "claimed: unload = supported; the library stays after "
                       "the last dlclose");
    else
        expect(stays, "claimed: unload = refused; the library goes with the "
                      "last dlclose");
}
