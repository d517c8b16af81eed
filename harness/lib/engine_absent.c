/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stands behind an archive without the engine API on the link line, so that
 * the engine specimens link; conform_engine_present is then false and none of
 * them runs. Weak, so that an implementation with a part of the API still
 * links with its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gusset_engine.h"

#define ABSENT __attribute__((weak))

GSE_NORETURN static void
absent(const char *name)
{
    fprintf(stderr, "conform: %s called, but the subject has no engine API\n",
            name);
    abort();
}

ABSENT uint32_t
gse_api_version(void)
{
    return 0;
}

ABSENT int32_t
gse_register_global(gse_handler handler, void *user)
{
    (void)handler;
    (void)user;
    absent(__func__);
}

ABSENT int32_t
gse_register_opcode(uint32_t opcode, gse_handler handler, void *user)
{
    (void)opcode;
    (void)handler;
    (void)user;
    absent(__func__);
}

ABSENT void
gse_clear(void)
{
    absent(__func__);
}

ABSENT const CallHeader *
gse_header(const gse_call *call)
{
    (void)call;
    absent(__func__);
}

ABSENT const uint8_t *
gse_input(const gse_call *call, size_t *len)
{
    (void)call;
    (void)len;
    absent(__func__);
}

ABSENT uint64_t
gse_input_buffer(const gse_call *call)
{
    (void)call;
    absent(__func__);
}

ABSENT int32_t
gse_check(gse_call *call)
{
    (void)call;
    absent(__func__);
}

ABSENT int32_t
gse_output_bytes(gse_call *call, const void *bytes, size_t len)
{
    (void)call;
    (void)bytes;
    (void)len;
    absent(__func__);
}

ABSENT uint8_t *
gse_output_buffer(gse_call *call, size_t len)
{
    (void)call;
    (void)len;
    absent(__func__);
}

ABSENT int32_t
gse_buffer_new(gse_call *call, size_t len, uint64_t *id, uint8_t **bytes)
{
    (void)call;
    (void)len;
    (void)id;
    (void)bytes;
    absent(__func__);
}

ABSENT void
gse_output_buffer_id(gse_call *call, uint64_t id)
{
    (void)call;
    (void)id;
    absent(__func__);
}

ABSENT void
gse_output_error(gse_call *call, const void *text, size_t len)
{
    (void)call;
    (void)text;
    (void)len;
    absent(__func__);
}

ABSENT void
gse_output_errorf(gse_call *call, const char *format, ...)
{
    (void)call;
    (void)format;
    absent(__func__);
}

ABSENT void
gse_output_panic(gse_call *call, const char *file, size_t file_len,
                 uint32_t line, const void *text, size_t text_len)
{
    (void)call;
    (void)file;
    (void)file_len;
    (void)line;
    (void)text;
    (void)text_len;
    absent(__func__);
}

ABSENT void
gse_panic(const char *file, uint32_t line, const char *format, ...)
{
    (void)file;
    (void)line;
    (void)format;
    absent(__func__);
}

ABSENT void
gse_vpanic(const char *file, uint32_t line, const char *format, va_list args)
{
    (void)file;
    (void)line;
    (void)format;
    (void)args;
    absent(__func__);
}

ABSENT void
gse_panic_bytes(const char *file, uint32_t line, const void *text, size_t len)
{
    (void)file;
    (void)line;
    (void)text;
    (void)len;
    absent(__func__);
}

ABSENT void
gse_log(const char *text, size_t len)
{
    (void)text;
    (void)len;
    absent(__func__);
}

ABSENT void *
gse_alloc(size_t size)
{
    (void)size;
    absent(__func__);
}

ABSENT void *
gse_realloc(void *memory, size_t size)
{
    (void)memory;
    (void)size;
    absent(__func__);
}

ABSENT void
gse_free(void *memory)
{
    (void)memory;
    absent(__func__);
}
