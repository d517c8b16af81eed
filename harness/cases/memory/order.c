/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * i1.check-order over every combination of reasons. A reason of kind (3) may
 * be named before any other of that kind; what is fixed is that a NULL comes
 * before the poison, the poison before the rest, and that nothing is accepted,
 * written or consumed.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define IS(code) (1u << (code))

/* Reasons of kind (3) that lie in the arguments of a submit. */
enum {
    BAD_FLAG = 1,
    NULL_PAIR = 2, /* no input, but a length */
    TOO_LONG = 4,
    NO_BUFFER = 8,
    SUBMIT_REASONS = 16
};

/* Required pointers of a submit that are NULL. */
enum { NO_HANDLE = 1, NO_HEADER = 2, NO_OUT = 4, SUBMIT_NULLS = 8 };

/* The state that the handle is in. */
struct scene {
    const char *name;
    struct host *host;
    bool poisoned;
    bool refuses;    /* a shutdown, or a full queue */
    uint64_t buffer; /* of KNOWN bytes */
};
#define KNOWN ((size_t)70000)

/* The codes that are right for a submit; 0: it would be accepted. */
static uint32_t
right_codes(const struct scene *scene, uint32_t reasons, uint32_t nulls)
{
    uint32_t codes = 0;
    if (nulls != 0)
        return IS(FFI_BAD_ARG);
    if (scene->poisoned)
        return IS(FFI_POISONED);
    if (scene->refuses)
        codes |= IS(FFI_ERR);
    if ((reasons & BAD_FLAG) != 0)
        codes |= IS(FFI_ERR) | IS(FFI_BAD_ARG);
    if ((reasons & NO_BUFFER) != 0)
        return codes | IS(FFI_ERR); /* and the inline pair is ignored */
    if ((reasons & (NULL_PAIR | TOO_LONG)) != 0)
        codes |= IS(FFI_BAD_ARG);
    return codes;
}

static void
submit_with(const struct scene *scene, uint32_t reasons, uint32_t nulls)
{
    uint32_t right = right_codes(scene, reasons, nulls);
    if (right == 0)
        return;
    CallHeader header = {.flags = DIAGNOSTIC};
    header.flags |= (reasons & BAD_FLAG) != 0 ? 4u << conform_random(30) : 0;
    const uint8_t *input = conform_pattern(4096, 1, 0);
    size_t len = (reasons & TOO_LONG) != 0 ? 4097 : 4096;
    const uint64_t junk = UINT64_C(0xa5a5a5a5a5a5a5a5);
    for (int with = 0; with < 2; with++) {
        uint64_t out = junk;
        FfiStatus status = conform_dirty_status();
        int32_t code = api.submit(
            (nulls & NO_HANDLE) != 0 ? NULL : host_handle(scene->host),
            (nulls & NO_HEADER) != 0 ? NULL : &header,
            (reasons & NULL_PAIR) != 0 ? NULL : input, len,
            (reasons & NO_BUFFER) != 0 ? UINT64_C(1) << 62 : 0,
            (nulls & NO_OUT) != 0 ? NULL : &out, with ? &status : NULL);
        expect(code >= 0 && code <= FFI_BAD_ARG && (right >> code & 1) != 0,
               "%s handle, reasons %#x, NULLs %#x, %s status: the codes with "
               "the bits %#x are right, this is %s",
               scene->name, reasons, nulls, with ? "a" : "no", right,
               conform_code_name(code));
        if (with)
            conform_settle(code, &status);
        expect_u64(junk, out, "%s handle: out_ticket of a refused submit",
                   scene->name);
    }
}

/* A refused submit of a known buffer is no reader of it. */
static void
refuse_known_buffer(const struct scene *scene)
{
    CallHeader header = {.flags = DIAGNOSTIC};
    if (!scene->poisoned && !scene->refuses)
        header.flags |= 4;
    for (int i = 0; i < 3; i++) {
        struct outcome o =
            host_try_submit(scene->host, &header, NULL, 5, scene->buffer);
        expect(o.code == (scene->poisoned ? FFI_POISONED : FFI_ERR) ||
                   (o.code == FFI_BAD_ARG && (header.flags & 4) != 0),
               "%s handle: submit of a known buffer: %s", scene->name,
               conform_code_name(o.code));
    }
}

/* buf_alloc with every set of NULLs and every length. */
static void
allocate_with(const struct scene *scene)
{
    static const size_t lengths[] = {0, 64, GUSSET_MAX_BUFFER_BYTES + 1u,
                                     SIZE_MAX};
    for (uint32_t n = 0; n < 4 * 8; n++) {
        size_t len = lengths[n / 8];
        bool fits = len == 64;
        int32_t right = n % 8 != 0        ? FFI_BAD_ARG
                        : scene->poisoned ? FFI_POISONED
                                          : FFI_ERR;
        if (n % 8 == 0 && fits && !scene->poisoned)
            continue;
        uint64_t id = 77;
        uint8_t *ptr = (uint8_t *)&id;
        int32_t code = api.buf_alloc(
            (n & 1) != 0 ? NULL : host_handle(scene->host), len,
            (n & 2) != 0 ? NULL : &id, (n & 4) != 0 ? NULL : &ptr, NULL);
        expect_code(right, code, "%s handle: buf_alloc of %zu, NULLs %#x",
                    scene->name, len, n % 8);
        expect(id == 77 && ptr == (uint8_t *)&id,
               "%s handle: out-parameters of a refused buf_alloc", scene->name);
    }
}

static void
judge(const struct scene *scene)
{
    AllocStats before, after;
    api.alloc_stats(&before);
    for (uint32_t reasons = 0; reasons < SUBMIT_REASONS; reasons++) {
        for (uint32_t nulls = 0; nulls < SUBMIT_NULLS; nulls++)
            submit_with(scene, reasons, nulls);
    }
    allocate_with(scene);
    refuse_known_buffer(scene);
    api.alloc_stats(&after);
    expect_u64(before.live_bytes, after.live_bytes,
               "%s handle: live_bytes after the refusals", scene->name);
}

/* Three endless jobs on a pool of one: the queue is full. */
static void
fill_queue(struct host *host)
{
    const CallHeader header = {.flags = DIAGNOSTIC};
    for (int i = 0; i < 3; i++)
        host_submit_patiently(host, &header, "\5\377", 2);
}

CONFORM_CASE(
    combinations, .id = "i1.check-order.every-combination",
    .clauses = "i1.check-order i1.out-only-on-ok i2.poison-latch "
               "i1.null-status-same-code",
    .why = "Two checks in the wrong order show only where both apply: the "
           "host is told to mend an argument of a handle that is dead, or "
           "that its NULL is the engine's fault.",
    .steps = "submit with every set of {unknown flag, NULL with a length, too "
             "long, unknown buffer} and of {NULL handle, header, out_ticket}; "
             "buf_alloc with every length and set of NULLs; submit of a "
             "buffer that is there; on a healthy, a "
             "full and a poisoned handle, outside and during a shutdown, with "
             "and without a status.",
    .expected = "A NULL: BAD_ARG. Else poisoned: FFI_POISONED. Else the code "
                "of one of the reasons. Nothing written, nothing accepted, "
                "nothing kept.",
    .transports = CONFORM_BOTH,
    .mutant = "full-queue-before-nulls refused-reader-stays "
              "refused-input-leaks")
{
    struct scene scenes[] = {
        {"healthy", host_open(1), false, false, 0},
        {"full", host_open(1), false, true, 0},
        {"poisoned", host_open(1), true, false, 0},
    };
    for (int i = 0; i < 3; i++)
        scenes[i].buffer = host_buffer(scenes[i].host, NULL, KNOWN, NULL);
    fill_queue(scenes[1].host);
    host_call(scenes[2].host, DIAGNOSTIC, "\1", 1);
    for (int i = 0; i < 3; i++)
        judge(&scenes[i]);
    expect_code(FFI_OK, api.cancel_all(host_handle(scenes[1].host), NULL),
                "cancel_all");
    for (int i = 0; i < 3; i++)
        host_next(scenes[1].host);
    expect_code(FFI_OK, api.shutdown(5000), "shutdown, nothing in flight");
    scenes[0].name = "shut-down healthy";
    scenes[2].name = "shut-down poisoned";
    scenes[0].refuses = true;
    judge(&scenes[0]);
    judge(&scenes[2]);
    expect_code(FFI_OK, api.init(), "init");
    for (int i = 0; i < 2; i++)
        expect_code(FFI_OK, host_call(scenes[i].host, DIAGNOSTIC, "\0", 1).code,
                    "an echo after the refusals");
    for (int i = 0; i < 3; i++) {
        AllocStats held, freed;
        api.alloc_stats(&held);
        host_buffer_free(scenes[i].host, scenes[i].buffer);
        api.alloc_stats(&freed);
        expect_u64_at_least(KNOWN, held.live_bytes - freed.live_bytes,
                            "bytes of the buffer that no refused submit "
                            "still reads, %s handle",
                            scenes[i].name);
        host_close(scenes[i].host);
    }
}
