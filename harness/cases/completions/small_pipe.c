/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A pipe that cannot grow. Linux lets a user without privileges resize pipes
 * until together they hold fs.pipe-user-pages-soft pages: the case lays its
 * privileges down for a while and uses that room up.
 */

#include "raw.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/*
 * Pipes beyond the limit: other processes of the user may give room back while
 * the case runs. The system gives each of them two pages in any case.
 */
enum {
    MOST_PIPES = 1024,
    PIPES_BEYOND = 300,
    LARGE_PIPE = 1 << 20,
    SMALL_PIPE = 4096
};

static int used[MOST_PIPES][2];
static uint32_t used_count;

static bool
make_small_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) != 0)
        conform_broken("pipe2: %s", strerror(errno));
    return fcntl(fds[1], F_SETPIPE_SZ, SMALL_PIPE) == SMALL_PIPE;
}

/* Sets the thread's effective capabilities to none, or back to what it may. */
static void
set_privileges(bool all)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) != 0)
        conform_broken("capget: %s", strerror(errno));
    for (int i = 0; i < 2; i++)
        data[i].effective = all ? data[i].permitted : 0;
    if (syscall(SYS_capset, &head, data) != 0)
        conform_broken("capset: %s", strerror(errno));
}

/* One more pipe that takes as much room as it may; false: not one more. */
static bool
use_room(void)
{
    int *fds = used[used_count];
    if (used_count == MOST_PIPES || pipe2(fds, O_CLOEXEC) != 0)
        return false;
    used_count++;
    (void)fcntl(fds[1], F_SETPIPE_SZ, LARGE_PIPE);
    return true;
}

static bool
can_grow(int write_fd)
{
    bool grew = fcntl(write_fd, F_SETPIPE_SZ, 2 * SMALL_PIPE) != -1;
    (void)fcntl(write_fd, F_SETPIPE_SZ, SMALL_PIPE);
    return grew;
}

/* Uses up the user's room for pipes; false: a small pipe still grows. */
static bool
use_up_the_room(void)
{
    int probe[2];
    if (!make_small_pipe(probe))
        conform_out_of_reach("needs pipes that can be resized");
    set_privileges(false);
    while (can_grow(probe[1]) && use_room())
        continue;
    for (int i = 0; i < PIPES_BEYOND && use_room(); i++)
        continue;
    bool used_up = !can_grow(probe[1]);
    close(probe[0]);
    close(probe[1]);
    conform_evidence("pipes-that-use-up-the-room", "%u", used_count);
    return used_up;
}

static void
give_the_room_back(void)
{
    while (used_count > 0) {
        used_count--;
        close(used[used_count][0]);
        close(used[used_count][1]);
    }
    set_privileges(true);
}

/* A one-page pipe, and a handle of `pool` on it. */
static GussetHandle *
open_on_small_pipe(uint32_t pool, int *read_fd)
{
    int fds[2];
    GussetHandle *handle = NULL;
    (void)make_small_pipe(fds);
    FfiStatus status = conform_dirty_status();
    struct outcome opened = conform_settle(
        api.handle_open(pool, fds[1], &handle, &status), &status);
    expect_code(FFI_OK, opened.code,
                "a pool of %u, whose %u bytes of bare tickets fit a pipe of "
                "%d bytes: %s",
                pool, pool * 8, SMALL_PIPE, opened.msg);
    if (fcntl(fds[1], F_GETPIPE_SZ) != SMALL_PIPE)
        conform_skip("other processes gave room for pipes back meanwhile");
    *read_fd = fds[0];
    return handle;
}

static void
expect_open_is_refused(uint32_t pool)
{
    int fds[2];
    GussetHandle *handle = NULL;
    (void)make_small_pipe(fds);
    int flags = fcntl(fds[1], F_GETFL);
    FfiStatus status = conform_dirty_status();
    struct outcome opened = conform_settle(
        api.handle_open(pool, fds[1], &handle, &status), &status);
    expect_code(FFI_ERR, opened.code,
                "a pool of %u, whose %u bytes of bare tickets do not fit a "
                "pipe of %d bytes",
                pool, pool * 8, SMALL_PIPE);
    expect_ptr(NULL, handle, "no handle");
    expect_i64(flags, fcntl(fds[1], F_GETFL), "the refused pipe's flags");
    close(fds[0]);
    close(fds[1]);
}

/* Echoes of every inline size with bit 1 set: bare tickets, right results. */
static void
expect_bare_only(GussetHandle *handle, int read_fd)
{
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    for (size_t len = 1; len <= GUSSET_INLINE_RESULT_MAX; len++) {
        uint8_t *input = conform_pattern(len, MODE_ECHO, len);
        uint64_t ticket = raw_submit(handle, &header, input, len);
        struct completion done;
        raw_await(read_fd);
        expect_i64(1, pipe_read_record(read_fd, &done), "a completion");
        expect_u64(ticket, done.ticket, "its ticket");
        expect(!done.inlined,
               "%zu bytes come as a bare ticket: the pipe "
               "cannot hold pool x 64 bytes",
               len);
        uint64_t id = 0;
        uint8_t *bytes = NULL;
        size_t got = 0;
        expect_code(FFI_OK, api.take(handle, ticket, &id, &bytes, &got, NULL),
                    "take");
        expect_bytes(input, len, bytes, got, "the result");
        expect_code(FFI_OK,
                    api.buf_free(handle, id & ~GUSSET_TAKE_OWNED_FLAG, NULL),
                    "buf_free");
    }
}

CONFORM_CASE(cannot_grow, .id = "i4.pipe-capacity.cannot-grow",
             .clauses = "i4.pipe-capacity i4.bare-always-allowed "
                        "i4.open-refusal-clean",
             .why = "an inline record that a small pipe holds only now and "
                    "then, or a pool whose tickets alone do not fit it",
             .steps = "Without privileges, with all the room for pipes in "
                      "use: on a pipe of one page, pools of 100 and 512 with "
                      "echoes of 1 to 48 bytes and bit 1 set; pools of 513 "
                      "and 1024.",
             .expected = "Pool x 8 bytes fit: FFI_OK, and bare tickets only. "
                         "They do not: FFI_ERR, the descriptor as it was.",
             .mutant = "inline-in-a-small-pipe pipe-too-small-accepted",
             .tags = CONFORM_ALONE)
{
    static const uint32_t pools[] = {100, SMALL_PIPE / 8};
    if (!use_up_the_room()) {
        give_the_room_back();
        conform_out_of_reach("needs a system that limits the room for pipes");
    }
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++) {
        int read_fd;
        GussetHandle *handle = open_on_small_pipe(pools[i], &read_fd);
        expect_bare_only(handle, read_fd);
        expect_code(FFI_OK, api.handle_close(handle, NULL), "close");
        close(read_fd);
    }
    expect_open_is_refused(SMALL_PIPE / 8 + 1);
    expect_open_is_refused(GUSSET_MAX_POOL_SIZE);
    give_the_room_back();
}
