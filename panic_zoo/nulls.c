/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every set of NULLs in the pointers of every export that requires them
 * [i2.exports-contained, i1.check-order].
 */
#include <string.h>
#include <unistd.h>

#include "zoo.h"

static const char junk_byte = 0x5a;

/* Every out-parameter there is, full of junk. */
struct outs {
    GussetHandle *handle;
    const GussetRing *ring;
    const uint8_t *shared;
    const uint8_t *slots;
    uint64_t capacity;
    uint64_t ticket;
    uint64_t id;
    uint8_t *ptr;
    size_t len;
};

struct room {
    struct host *host;
    uint64_t result; /* a ticket that waits to be taken */
    uint64_t buffer;
};

/* One export: with the pointers that are named in `nulls` left out. */
struct export
{
    const char *name;
    uint32_t pointers; /* how many are required */
    int32_t (*call)(const struct room *room, struct outs *o, uint32_t nulls,
                    FfiStatus *status);
};

#define UNLESS(bit, pointer) ((nulls & 1u << (bit)) != 0 ? NULL : (pointer))
#define HANDLE(bit) UNLESS(bit, host_handle(room->host))
#define EXPORT(name, ...)                                        \
    static int32_t name(const struct room *room, struct outs *o, \
                        uint32_t nulls, FfiStatus *status)       \
    {                                                            \
        static const CallHeader header = {.flags = DIAGNOSTIC};  \
        (void)room, (void)o, (void)header;                       \
        return __VA_ARGS__;                                      \
    }

EXPORT(open_, api.handle_open(1, host_write_fd(room->host),
                              UNLESS(0, &o->handle), status))
EXPORT(close_, api.handle_close(HANDLE(0), status))
EXPORT(ring,
       api.handle_ring(HANDLE(0), UNLESS(1, &o->ring), UNLESS(2, &o->shared),
                       UNLESS(3, &o->slots), UNLESS(4, &o->capacity), status))
EXPORT(submit, api.submit(HANDLE(0), UNLESS(1, &header), NULL, 0, 0,
                          UNLESS(2, &o->ticket), status))
EXPORT(submit_buffer, api.submit(HANDLE(0), UNLESS(1, &header), NULL, 77,
                                 room->buffer, UNLESS(2, &o->ticket), status))
EXPORT(submit_null_input, api.submit(HANDLE(0), UNLESS(1, &header), NULL, 1, 0,
                                     UNLESS(2, &o->ticket), status))
EXPORT(take, api.take(HANDLE(0), room->result, UNLESS(1, &o->id),
                      UNLESS(2, &o->ptr), UNLESS(3, &o->len), status))
EXPORT(cancel, api.cancel(HANDLE(0), 1, status))
EXPORT(cancel_all, api.cancel_all(HANDLE(0), status))
EXPORT(buf_alloc, api.buf_alloc(HANDLE(0), 64, UNLESS(1, &o->id),
                                UNLESS(2, &o->ptr), status))
EXPORT(buf_free, api.buf_free(HANDLE(0), room->buffer, status))

static const struct export exports[] = {
    {"handle_open", 1, open_},
    {"handle_close", 1, close_},
    {"handle_ring", 5, ring},
    {"submit", 3, submit},
    {"submit of a buffer", 3, submit_buffer},
    {"submit of no input with a length", 3, submit_null_input},
    {"take", 4, take},
    {"cancel", 1, cancel},
    {"cancel_all", 1, cancel_all},
    {"buf_alloc", 3, buf_alloc},
    {"buf_free", 1, buf_free},
};

static void
leave_out(const struct export *export, const struct room *room, uint32_t nulls,
          const char *state)
{
    struct outs outs;
    struct outs untouched;
    memset(&outs, junk_byte, sizeof outs);
    untouched = outs;
    FfiStatus status = conform_dirty_status();
    int32_t code = export->call(room, &outs, nulls, &status);
    expect_code(FFI_BAD_ARG, code, "%s, %s handle, NULLs %#x", export->name,
                state, nulls);
    struct outcome o = conform_settle(code, &status);
    zoo_expect_no_place(&o, export->name);
    code = export->call(room, &outs, nulls, NULL);
    expect_code(FFI_BAD_ARG, code, "%s, %s handle, NULLs %#x, no status",
                export->name, state, nulls);
    expect_bytes(&untouched, sizeof outs, &outs, sizeof outs,
                 "%s, %s handle, NULLs %#x: out-parameters", export->name,
                 state, nulls);
}

static void
leave_out_each(const struct room *room, const char *state)
{
    AllocStats before, after;
    api.alloc_stats(&before);
    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
        for (uint32_t nulls = 1; nulls < 1u << exports[i].pointers; nulls++)
            leave_out(&exports[i], room, nulls, state);
    }
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "live_bytes after the NULLs, %s handle", state);
}

static struct room
furnish(void)
{
    struct room room = {.host = host_open_with(1, CONFORM_PIPE)};
    room.buffer =
        host_buffer(room.host, conform_pattern(5000, 0, 2), 5000, NULL);
    room.result = host_submit(room.host, DIAGNOSTIC, "\0kept", 5);
    host_wait(room.host, room.result);
    return room;
}

CONFORM_CASE(
    null_subsets, .id = "i2.exports-contained.every-set-of-nulls",
    .clauses = "i2.exports-contained i1.check-order i1.out-only-on-ok "
               "i1.null-status-same-code i1.take-once",
    .why = "Two NULLs together are taken for a wish: out pointers that are "
           "not wanted, a handle that is not needed; or the second is "
           "written through before it is looked at.",
    .steps = "For each export every set of its required pointers NULL, with "
             "and without a status, on a healthy handle, during a shutdown "
             "and on a poisoned one; then the result is taken, the buffer "
             "read, a ring attached.",
    .expected = "FFI_BAD_ARG, nothing written, nothing consumed.",
    .mutant = "take-without-outs-discards")
{
    struct room rooms[2] = {furnish(), furnish()};
    zoo_poison(rooms[1].host);
    leave_out_each(&rooms[0], "healthy");
    leave_out_each(&rooms[1], "poisoned");
    expect_code(FFI_OK, api.shutdown(5000), "shutdown, nothing in flight");
    leave_out_each(&rooms[0], "shut-down");
    leave_out_each(&rooms[1], "shut-down poisoned");
    expect_code(FFI_OK, api.init(), "init");
    zoo_expect_healthy(rooms[0].host, "after all the NULLs");
    for (int i = 0; i < 2; i++) {
        struct outcome o = host_take(rooms[i].host, rooms[i].result);
        expect_code(FFI_OK, o.code, "the result that waited");
        expect_bytes("\0kept", 5, o.bytes, o.len, "the result that waited");
        AllocStats held, freed;
        api.alloc_stats(&held);
        host_buffer_free(rooms[i].host, rooms[i].buffer);
        api.alloc_stats(&freed);
        expect_u64_at_least(5000, held.live_bytes - freed.live_bytes,
                            "bytes of the buffer that waited");
        host_attach_ring(rooms[i].host);
        host_close(rooms[i].host);
    }
}
