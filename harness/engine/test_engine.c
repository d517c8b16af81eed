/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Words of the engine's own begin with "gusset test engine: ", so that a case
 * never takes them for what it asked for.
 */
#define _POSIX_C_SOURCE 200809L
#include "test_engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* input[0] of a unit: the table of section 4. */
enum {
    MODE_ERROR = 0,
    MODE_PANIC = 1,
    MODE_PANIC_PLACELESS = 2,
    MODE_BUFFER = 3,
    MODE_BUFFER_KEPT = 4,
    MODE_OUTPUT_ID = 5,
    MODE_OUTPUT_INPUT = 6,
    MODE_SLEEP = 7,
    MODE_UNTIL_CHECK = 8,
    MODE_SLEEP_ERROR = 9,
    MODE_GLOBAL_ON = 10,
    MODE_GLOBAL_OFF = 11
};

#define ARGUMENT_END 9u /* where mode 3 and 4 begin their bytes */
#define GLOBAL_MARK 0x47u

__attribute__((format(printf, 2, 3))) static void
answer_error(struct gte_answer *answer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(answer->text, sizeof answer->text, format, args);
    va_end(args);
    answer->kind = GTE_ERROR;
    answer->bytes = (const uint8_t *)answer->text;
    answer->len = strlen(answer->text);
}

static void
answer_bytes(struct gte_answer *answer, enum gte_kind kind,
             const uint8_t *bytes, size_t len)
{
    answer->kind = (uint32_t)kind;
    answer->bytes = len > 0 ? bytes : NULL;
    answer->len = len;
}

static uint64_t
little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i > 0; i--) {
        value = value << 8 | bytes[i - 1];
    }
    return value;
}

/* Signals may come; the sleep goes on for what is left of it. */
static void
sleep_ms(uint64_t ms)
{
    struct timespec left = {.tv_sec = (time_t)(ms / 1000),
                            .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        continue;
    }
}

/* False, with the answer, when the input is shorter than the mode needs. */
static bool
has_bytes(const struct gte_unit *unit, size_t least, struct gte_answer *answer)
{
    if (unit->len >= least) {
        return true;
    }
    answer_error(answer, "gusset test engine: mode %u needs %zu bytes, not %zu",
                 unit->input[0], least, unit->len);
    return false;
}

static void
make_buffer(const struct gte_unit *unit, struct gte_answer *answer)
{
    uintptr_t handle = 0;
    uint64_t id = 0;
    uint8_t *bytes = NULL;
    size_t len = unit->len - ARGUMENT_END;
    memcpy(&handle, unit->input + 1, sizeof handle);
    if (unit->buffer_new(unit->context, handle, len, &id, &bytes) != 0) {
        answer_error(answer, "gusset test engine: no buffer of %zu bytes", len);
        return;
    }
    if (len > 0) {
        memcpy(bytes, unit->input + ARGUMENT_END, len);
    }
    if (unit->input[0] == MODE_BUFFER) {
        answer->kind = GTE_BUFFER;
        answer->buffer = id;
        return;
    }
    for (size_t i = 0; i < 8; i++) {
        answer->text[i] = (char)(uint8_t)(id >> 8 * i);
    }
    answer_bytes(answer, GTE_BYTES, (const uint8_t *)answer->text, 8);
}

static void
switch_global(const struct gte_unit *unit, struct gte_answer *answer)
{
    int32_t on = unit->input[0] == MODE_GLOBAL_ON;
    if (unit->global(unit->context, on) != 0) {
        answer_error(answer, "gusset test engine: the global handler is not %s",
                     on ? "registered" : "removed");
    }
}

static void
run_mode(const struct gte_unit *unit, struct gte_answer *answer)
{
    const uint8_t *rest = unit->input + 1;
    size_t rest_len = unit->len - 1;
    switch (unit->input[0]) {
    case MODE_ERROR:
        answer_bytes(answer, GTE_ERROR, rest, rest_len);
        break;
    case MODE_PANIC:
        answer_bytes(answer, GTE_PANIC, rest, rest_len);
        break;
    case MODE_PANIC_PLACELESS:
        answer_bytes(answer, GTE_PANIC_PLACELESS, rest, rest_len);
        break;
    case MODE_BUFFER:
    case MODE_BUFFER_KEPT:
        if (has_bytes(unit, ARGUMENT_END, answer)) {
            make_buffer(unit, answer);
        }
        break;
    case MODE_OUTPUT_ID:
        if (has_bytes(unit, 9, answer)) {
            answer->kind = GTE_BUFFER;
            answer->buffer = little_endian(rest, 8);
        }
        break;
    case MODE_OUTPUT_INPUT:
        answer->kind = GTE_BUFFER;
        answer->buffer = unit->input_buffer;
        break;
    case MODE_SLEEP:
        if (has_bytes(unit, 3, answer)) {
            sleep_ms(100 * little_endian(rest, 2));
            answer_bytes(answer, GTE_BYTES, unit->input, unit->len);
        }
        break;
    case MODE_UNTIL_CHECK:
        while (unit->check(unit->context) == 0) {
            sleep_ms(1);
        }
        answer_bytes(answer, GTE_ERROR, rest, rest_len);
        break;
    case MODE_SLEEP_ERROR:
        sleep_ms(100);
        answer_bytes(answer, GTE_ERROR, rest, rest_len);
        break;
    case MODE_GLOBAL_ON:
    case MODE_GLOBAL_OFF:
        switch_global(unit, answer);
        break;
    default:
        answer_error(answer, "gusset test engine: there is no mode %u",
                     unit->input[0]);
        break;
    }
}

void
gte_run(const struct gte_unit *unit, struct gte_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (unit->opcode != GTE_OPCODE) {
        answer_error(answer,
                     "gusset test engine: the header's opcode is %u, not %u",
                     unit->opcode, GTE_OPCODE);
        return;
    }
    if (unit->len == 0) {
        answer_error(answer, "gusset test engine: the input is empty");
        return;
    }
    run_mode(unit, answer);
}

void
gte_run_global(const struct gte_unit *unit, struct gte_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (unit->opcode != 0) {
        answer_error(answer,
                     "gusset test engine: opcode %u at the global handler",
                     unit->opcode);
        return;
    }
    uint8_t *bytes = malloc(unit->len + 1);
    if (bytes == NULL) {
        answer_error(answer, "gusset test engine: no memory for %zu bytes",
                     unit->len);
        return;
    }
    bytes[0] = GLOBAL_MARK;
    if (unit->len > 0) {
        memcpy(bytes + 1, unit->input, unit->len);
    }
    answer->owned = bytes;
    answer_bytes(answer, GTE_BYTES, bytes, unit->len + 1);
}

void
gte_answer_free(struct gte_answer *answer)
{
    free(answer->owned);
    answer->owned = NULL;
    answer->bytes = NULL;
    answer->len = 0;
}
