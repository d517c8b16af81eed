/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The gse_ functions of a program whose subject is loaded by dlopen: each
 * forwards to the subject's own, so that an engine in C is written the same
 * way for both kinds of subject. Hidden: were they exported by the program,
 * the subject's own calls would end here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(hidden)
#include "gusset_engine.h"
#pragma GCC visibility pop
#include "internal.h"

/* The names that take their arguments as they are. */
#define FORWARDED(X)    \
    X(api_version)      \
    X(register_global)  \
    X(register_opcode)  \
    X(clear)            \
    X(header)           \
    X(input)            \
    X(input_buffer)     \
    X(check)            \
    X(output_bytes)     \
    X(output_buffer)    \
    X(buffer_new)       \
    X(output_buffer_id) \
    X(output_error)     \
    X(output_panic)     \
    X(vpanic)           \
    X(panic_bytes)      \
    X(log)              \
    X(alloc)            \
    X(realloc)          \
    X(free)

#define MEMBER(name) __typeof__(gse_##name) *name;
static struct {
    FORWARDED(MEMBER)
} subject;

static bool complete;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
resolve(void)
{
    static const char *const names[] = {
#define NAME(name) "gse_" #name,
        FORWARDED(NAME)
#undef NAME
    };
    void **members = (void **)(void *)&subject;
    _Static_assert(sizeof subject ==
                       sizeof names / sizeof names[0] * sizeof(void *),
                   "a name for each member");
    complete = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        members[i] = conform_subject_symbol(names[i]);
        complete = complete && members[i] != NULL;
    }
}

bool
conform_engine_present(void)
{
    pthread_once(&once, resolve);
    return complete && subject.api_version() != 0;
}

/* Engines run only where the API was found, which resolved all of it. */
static void
need_engine(void)
{
    pthread_once(&once, resolve);
    if (!complete) {
        fputs("conform: an engine call, but the subject has no engine API\n",
              stderr);
        abort();
    }
}

uint32_t
gse_api_version(void)
{
    return conform_engine_present() ? subject.api_version() : 0;
}

int32_t
gse_register_global(gse_handler handler, void *user)
{
    need_engine();
    return subject.register_global(handler, user);
}

int32_t
gse_register_opcode(uint32_t opcode, gse_handler handler, void *user)
{
    need_engine();
    return subject.register_opcode(opcode, handler, user);
}

void
gse_clear(void)
{
    need_engine();
    subject.clear();
}

const CallHeader *
gse_header(const gse_call *call)
{
    return subject.header(call);
}

const uint8_t *
gse_input(const gse_call *call, size_t *len)
{
    return subject.input(call, len);
}

uint64_t
gse_input_buffer(const gse_call *call)
{
    return subject.input_buffer(call);
}

int32_t
gse_check(gse_call *call)
{
    return subject.check(call);
}

int32_t
gse_output_bytes(gse_call *call, const void *bytes, size_t len)
{
    return subject.output_bytes(call, bytes, len);
}

uint8_t *
gse_output_buffer(gse_call *call, size_t len)
{
    return subject.output_buffer(call, len);
}

int32_t
gse_buffer_new(gse_call *call, size_t len, uint64_t *id, uint8_t **bytes)
{
    return subject.buffer_new(call, len, id, bytes);
}

void
gse_output_buffer_id(gse_call *call, uint64_t id)
{
    subject.output_buffer_id(call, id);
}

void
gse_output_error(gse_call *call, const void *text, size_t len)
{
    subject.output_error(call, text, len);
}

/*
 * The API has no va_list form of this one: the text is made here. It may be
 * longer than the subject's cap, which is the subject's to apply.
 */
void
gse_output_errorf(gse_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = len < 0 ? NULL : malloc((size_t)len + 1);
    if (text == NULL) {
        static const char lost[] = "error text lost: no memory";
        subject.output_error(call, lost, sizeof lost - 1);
        return;
    }
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    subject.output_error(call, text, (size_t)len);
    free(text);
}

void
gse_output_panic(gse_call *call, const char *file, size_t file_len,
                 uint32_t line, const void *text, size_t text_len)
{
    subject.output_panic(call, file, file_len, line, text, text_len);
}

void
gse_panic(const char *file, uint32_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    subject.vpanic(file, line, format, args);
    abort();
}

void
gse_vpanic(const char *file, uint32_t line, const char *format, va_list args)
{
    subject.vpanic(file, line, format, args);
    abort();
}

void
gse_panic_bytes(const char *file, uint32_t line, const void *text, size_t len)
{
    subject.panic_bytes(file, line, text, len);
    abort();
}

void
gse_log(const char *text, size_t len)
{
    subject.log(text, len);
}

void *
gse_alloc(size_t size)
{
    return subject.alloc(size);
}

void *
gse_realloc(void *memory, size_t size)
{
    return subject.realloc(memory, size);
}

void
gse_free(void *memory)
{
    subject.free(memory);
}
