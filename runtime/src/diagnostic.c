/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The diagnostic engine: a handler that does on request what engines may do
 * to a runtime. Every quantity that the input names is bounded, so that no
 * input can crash the process or hold a worker for long.
 */
#include "diagnostic.h"

#include <stdio.h>
#include <string.h>

#include "firewall.h"
#include "plat.h"

#define NS_PER_STEP UINT64_C(10000000) /* modes 5 and 9 */
#define SPIN_MAX 50000000u
#define DISPOSALS_MAX 8
#define LONG_TEXT_BYTES ((size_t)1 << 20)
#define SUM_CHECK_BYTES 4096
#define GENERATE_CHECK_BYTES 65536

/* Recursion: what fits 8 MiB of stack with frames of up to 64 bytes, else
 * (unoptimised builds, architectures with large frames) less. Thread
 * sanitizers keep a call stack of their own, of 65 536 entries. */
#define DEPTH_DEFAULT 50000u
#define DEPTH_MAX 100000u
#define DEPTH_MAX_LARGE_FRAMES 30000u
#define SMALL_FRAME_BYTES 64

#if defined(__SANITIZE_THREAD__)
#define CALLS_ARE_TRACED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CALLS_ARE_TRACED 1
#endif
#endif
#ifndef CALLS_ARE_TRACED
#define CALLS_ARE_TRACED 0
#endif

/* Stops the compiler from making a loop of the recursion, or nothing of the
 * spin: it must assume that value is changed here. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

struct request {
    gse_call *call;
    const uint8_t *input;
    size_t len;
    bool outermost; /* not the rest of a mode 9 */
};

static uint8_t
byte_or(const struct request *request, size_t i, uint8_t fallback)
{
    return i < request->len ? request->input[i] : fallback;
}

/* The u32 LE at bytes 1..5; false: the input is too short. */
static bool
argument32(const struct request *request, uint32_t *value)
{
    const uint8_t *b = request->input;

    if (request->len < 5)
        return false;
    *value = (uint32_t)b[1] | (uint32_t)b[2] << 8 | (uint32_t)b[3] << 16 |
             (uint32_t)b[4] << 24;
    return true;
}

static int32_t
fail(gse_call *call, const char *text)
{
    gse_output_error(call, text, strlen(text));
    return GSE_FAILED;
}

static int32_t
output(gse_call *call, const void *bytes, size_t len)
{
    if (gse_output_bytes(call, bytes, len) == GSE_OK)
        return GSE_OK;
    return fail(call, "out of memory for the output");
}

static int32_t
output_le(gse_call *call, uint64_t value, size_t len)
{
    uint8_t bytes[8];
    size_t i;

    for (i = 0; i < len; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    return output(call, bytes, len);
}

static int32_t
echo(const struct request *request)
{
    return output(request->call, request->input, request->len);
}

static int32_t
panic_with_nul(void)
{
    static const char text[] = "panic with embedded NUL \0 byte";

    gse_panic_bytes(__FILE__, __LINE__, text, sizeof text - 1);
}

/* Mode 4: an error type whose formatter panics. */

struct error {
    void (*format)(const struct error *error, char *text, size_t size);
};

static void
format_by_panic(const struct error *error, char *text, size_t size)
{
    (void)error;
    (void)text;
    (void)size;
    GSE_PANIC("panic inside Display implementation");
}

static int32_t
fail_formatted(gse_call *call)
{
    const struct error error = {format_by_panic};
    char text[64] = "";

    error.format(&error, text, sizeof text);
    return fail(call, text);
}

static int32_t
sleep_cooperatively(const struct request *request)
{
    static const uint8_t result[] = {5, 0};
    unsigned steps = byte_or(request, 1, 100);

    while (steps-- > 0) {
        if (gse_check(request->call) != GSE_OK)
            return fail(request->call, "stopped while asleep");
        gst__plat_sleep(NS_PER_STEP);
    }
    return output(request->call, result, sizeof result);
}

/* Returns levels; *bottom is the frame of the last one. */
__attribute__((noinline)) static uint32_t
descend(uint32_t levels, uintptr_t *bottom)
{
    uint32_t below;

    if (levels == 0) {
        *bottom = (uintptr_t)__builtin_frame_address(0);
        return 0;
    }
    below = descend(levels - 1, bottom);
    KEEP(below);
    return below + 1;
}

static uint32_t
depth_max(void)
{
    uintptr_t shallow;
    uintptr_t deep;

    descend(8, &shallow);
    descend(16, &deep);
    if (CALLS_ARE_TRACED || (shallow - deep) / 8 > SMALL_FRAME_BYTES)
        return DEPTH_MAX_LARGE_FRAMES;
    return DEPTH_MAX;
}

static int32_t
recurse(const struct request *request)
{
    uint32_t most = depth_max();
    uint32_t depth = DEPTH_DEFAULT;
    uintptr_t bottom;

    argument32(request, &depth);
    if (depth > most)
        depth = most;
    return output_le(request->call, descend(depth, &bottom), 4);
}

static int32_t
report_ids(gse_call *call)
{
    const CallHeader *header = gse_header(call);
    uint8_t ids[sizeof header->trace_id + sizeof header->span_id];

    memcpy(ids, header->trace_id, sizeof header->trace_id);
    memcpy(ids + sizeof header->trace_id, header->span_id,
           sizeof header->span_id);
    return output(call, ids, sizeof ids);
}

static int32_t run(const struct request *request);

static int32_t
sleep_deaf(const struct request *request)
{
    struct request rest = *request;

    gst__plat_sleep(byte_or(request, 1, 10) * NS_PER_STEP);
    if (request->len <= 2 || request->input[2] == 9)
        return echo(request);
    rest.input += 2;
    rest.len -= 2;
    rest.outermost = false;
    return run(&rest);
}

static int32_t
sum_squares(const struct request *request)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 1; i < request->len; i++) {
        if (i % SUM_CHECK_BYTES == 1 && gse_check(request->call) != GSE_OK)
            return fail(request->call, "stopped in the sum");
        sum += (uint64_t)request->input[i] * request->input[i];
    }
    return output_le(request->call, sum, 8);
}

static int32_t
spin(const struct request *request)
{
    uint32_t rounds = 1000;
    uint64_t acc = 0;
    uint64_t i;

    argument32(request, &rounds);
    if (rounds > SPIN_MAX)
        rounds = SPIN_MAX;
    for (i = 0; i < rounds; i++) {
        acc += (i * i) ^ (acc << 7 | acc >> 57);
        KEEP(acc);
    }
    return output_le(request->call, acc, 8);
}

static void
free_payload(void *payload)
{
    gse_free(payload);
}

static int32_t
panic_long(gse_call *call)
{
    char *text = gse_alloc(LONG_TEXT_BYTES);

    if (text == NULL)
        return fail(call, "out of memory for a long panic text");
    memset(text, 'A', LONG_TEXT_BYTES);
    gst__panic_payload(__FILE__, __LINE__, text, LONG_TEXT_BYTES, free_payload,
                       text);
}

static int32_t
panic_primitive(const struct request *request)
{
    switch (byte_or(request, 1, 0)) {
    case 0:
        GSE_PANIC("panic payload (u32): %u", 12345u);
    case 1:
        GSE_PANIC("panic payload (i64): %lld", -9876543210LL);
    case 2:
        GSE_PANIC("panic payload (bool): %s", "true");
    case 3:
        GSE_PANIC("panic payload (usize): %zu", (size_t)999999);
    default:
        GSE_PANIC("panic payload (isize): %d", -42);
    }
}

static int32_t
write_log(const struct request *request)
{
    uint8_t result[2] = {14, byte_or(request, 1, 10)};
    char line[32];
    unsigned i;

    for (i = 0; i < result[1]; i++) {
        int len = snprintf(line, sizeof line, "worker log event %u", i);

        gse_log(line, (size_t)len);
    }
    return output(request->call, result, sizeof result);
}

/* Mode 15: a payload that panics when it is disposed of, `left` times. */
struct bomb {
    unsigned left;
};

static _Noreturn void throw_bomb(struct bomb *bomb);

static void
dispose_bomb(void *payload)
{
    struct bomb *bomb = payload;

    if (bomb->left == 0) {
        gse_free(bomb);
        return;
    }
    bomb->left--;
    throw_bomb(bomb);
}

static _Noreturn void
throw_bomb(struct bomb *bomb)
{
    static const char text[] = "Unknown Rust panic payload";

    gst__panic_payload(__FILE__, __LINE__, text, sizeof text - 1, dispose_bomb,
                       bomb);
}

static int32_t
panic_bomb(const struct request *request)
{
    struct bomb *bomb = gse_alloc(sizeof *bomb);

    if (bomb == NULL)
        return fail(request->call, "out of memory for a payload");
    bomb->left = byte_or(request, 1, 0);
    if (bomb->left > DISPOSALS_MAX)
        bomb->left = DISPOSALS_MAX;
    throw_bomb(bomb);
}

static int32_t
generate(const struct request *request)
{
    uint8_t seed = byte_or(request, 5, 0);
    uint32_t len;
    uint8_t *bytes;
    size_t i;

    if (!argument32(request, &len))
        return fail(request->call, "mode 16 needs a length");
    if (len > GUSSET_MAX_BUFFER_BYTES) {
        gse_output_errorf(request->call,
                          "output size %u exceeds the maximum of %u", len,
                          GUSSET_MAX_BUFFER_BYTES);
        return GSE_FAILED;
    }
    if (len == 0)
        return output(request->call, NULL, 0);
    bytes = gse_output_buffer(request->call, len);
    if (bytes == NULL)
        return fail(request->call, "out of memory for the output");
    for (i = 0; i < len; i++) {
        if (i % GENERATE_CHECK_BYTES == 0 && gse_check(request->call) != GSE_OK)
            return fail(request->call, "stopped while generating");
        bytes[i] = (uint8_t)i ^ seed;
    }
    return GSE_OK;
}

/* The modes that panic and do nothing else; others return. */
static void
panic_by_mode(const struct request *request)
{
    switch (request->input[0]) {
    case 1:
        GSE_PANIC("plain panic");
    case 2:
        panic_with_nul();
        break;
    case 3:
        GSE_PANIC("panic payload (i32): %d", 42);
    case 13:
        panic_primitive(request);
        break;
    default:
        break;
    }
}

static int32_t
run(const struct request *request)
{
    if (request->len == 0)
        return output(request->call, NULL, 0);
    panic_by_mode(request);
    switch (request->input[0]) {
    case 4:
        return fail_formatted(request->call);
    case 5:
        return sleep_cooperatively(request);
    case 6:
        return recurse(request);
    case 7:
        return report_ids(request->call);
    case 8:
        return output_le(request->call, gst__plat_stack_size(), 8);
    case 9:
        return sleep_deaf(request);
    case 10:
        return sum_squares(request);
    case 11:
        return spin(request);
    case 12:
        return panic_long(request->call);
    case 14:
        return write_log(request);
    case 15:
        return panic_bomb(request);
    case 16:
        return request->outermost ? generate(request) : echo(request);
    default:
        return echo(request);
    }
}

int32_t
gst__diagnostic(gse_call *call, void *user)
{
    struct request request = {.call = call, .outermost = true};

    (void)user;
    request.input = gse_input(call, &request.len);
    return run(&request);
}
