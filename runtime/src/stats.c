/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Each block has a header of 16 bytes below the pointer that
 * callers see: how much was counted for it, and how far below it the C
 * library's block begins. Freeing is sized by that, so what is subtracted is
 * exactly what was added.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 16
#define LEAST_ALIGNMENT 16

struct header {
    uint64_t counted;
    uint64_t offset;
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "keeps alignment 16");

static _Alignas(GST_CACHE_LINE) struct gst__counters counters;

void
gst__counters_add(struct gst__counters *c, uint64_t bytes)
{
    uint64_t old = GST_LOAD_RELAXED(&c->live);
    uint64_t sum;
    uint64_t peak;

    do
        sum = bytes > UINT64_MAX - old ? UINT64_MAX : old + bytes;
    while (!GST_CAS_RELAXED(&c->live, &old, sum));
    peak = GST_LOAD_RELAXED(&c->peak);
    while (peak < sum && !GST_CAS_RELAXED(&c->peak, &peak, sum))
        continue;
    old = GST_LOAD_RELAXED(&c->count);
    while (old != UINT64_MAX && !GST_CAS_RELAXED(&c->count, &old, old + 1))
        continue;
}

void
gst__counters_sub(struct gst__counters *c, uint64_t bytes)
{
    uint64_t old = GST_LOAD_RELAXED(&c->live);

    while (!GST_CAS_RELAXED(&c->live, &old, bytes > old ? 0 : old - bytes))
        continue;
}

void
gst__counters_read(struct gst__counters *c, AllocStats *out)
{
    uint64_t live = GST_LOAD_RELAXED(&c->live);
    uint64_t peak = GST_LOAD_RELAXED(&c->peak);

    /* An allocation raises live before peak: the reader that sees the gap
     * closes it, so that no later reader sees a lower peak. */
    while (peak < live && !GST_CAS_RELAXED(&c->peak, &peak, live))
        continue;
    out->live_bytes = live;
    out->peak_bytes = peak < live ? live : peak;
    out->alloc_count = GST_LOAD_RELAXED(&c->count);
}

void
gst__stats_read(AllocStats *out)
{
    gst__counters_read(&counters, out);
}

static struct header *
header_of(void *memory)
{
    return (struct header *)((char *)memory - HEADER_BYTES);
}

/* Makes the caller's pointer, `offset` above the C library's block. */
static void *
finish(char *raw, size_t offset, size_t counted)
{
    void *memory = raw + offset;

    header_of(memory)->counted = counted;
    header_of(memory)->offset = offset;
    gst__counters_add(&counters, counted);
    return memory;
}

void *
gst__alloc(size_t size)
{
    char *raw;

    if (size > SIZE_MAX - HEADER_BYTES)
        return NULL;
    raw = malloc(size + HEADER_BYTES);
    return raw == NULL ? NULL : finish(raw, HEADER_BYTES, size + HEADER_BYTES);
}

void *
gst__alloc_zeroed(size_t size, size_t alignment)
{
    size_t extra = HEADER_BYTES;
    size_t offset;
    char *raw;

    if (alignment > LEAST_ALIGNMENT)
        extra += alignment - LEAST_ALIGNMENT;
    if (size > SIZE_MAX - extra)
        return NULL;
    raw = calloc(1, size + extra);
    if (raw == NULL)
        return NULL;
    offset = (size_t)(-((uintptr_t)raw + HEADER_BYTES) & (alignment - 1)) +
             HEADER_BYTES;
    return finish(raw, offset, size + extra);
}

void *
gst__realloc(void *memory, size_t size)
{
    struct header *header;
    uint64_t counted;
    char *raw;

    if (memory == NULL)
        return gst__alloc(size);
    if (size > SIZE_MAX - HEADER_BYTES)
        return NULL;
    header = header_of(memory);
    counted = header->counted;
    raw = realloc((char *)memory - header->offset, size + HEADER_BYTES);
    if (raw == NULL)
        return NULL;
    memory = finish(raw, HEADER_BYTES, size + HEADER_BYTES);
    gst__counters_sub(&counters, counted);
    return memory;
}

void
gst__free(void *memory)
{
    struct header header;

    if (memory == NULL)
        return;
    header = *header_of(memory);
    free((char *)memory - header.offset);
    gst__counters_sub(&counters, header.counted);
}

void *
gse_alloc(size_t size)
{
    return gst__alloc(size);
}

void *
gse_realloc(void *memory, size_t size)
{
    return gst__realloc(memory, size);
}

void
gse_free(void *memory)
{
    gst__free(memory);
}
