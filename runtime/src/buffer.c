/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Ids are process-wide so that another handle's id can never
 * name a buffer here. Chains are intrusive, so that putting a buffer into the
 * table needs no memory: a take cannot fail after it has moved the result.
 * The table only grows when memory allows; chains get longer otherwise.
 * Memory is freed after the lock is dropped.
 */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "bug.h"
#include "export.h"
#include "stats.h"
#include "sync.h"

#define ID_END (UINT64_C(1) << 63)

static _Atomic uint64_t next_id = 1;

void
gst__buffer_ids_set(uint64_t next)
{
    GST_STORE_RELAXED(&next_id, next);
}

/* 0: used up, and then the counter stays where it is. */
static uint64_t
draw_id(void)
{
    /* Relaxed: only uniqueness matters. */
    uint64_t id = GST_LOAD_RELAXED(&next_id);

    do {
        if (id >= ID_END)
            return 0;
    } while (!GST_CAS_RELAXED(&next_id, &id, id + 1));
    return id;
}

void
gst__buffers_init(struct gst__buffer_table *table)
{
    pthread_mutex_init(&table->lock, NULL);
    memset(table->first, 0, sizeof table->first);
    table->buckets = table->first;
    table->bucket_count = GST_BUFFER_BUCKETS;
    table->count = 0;
}

void
gst__buffers_destroy(struct gst__buffer_table *table)
{
    size_t i;

    for (i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i] != NULL) {
            struct gst__buffer *buffer = table->buckets[i];

            GST_ASSERT(buffer->readers == 0);
            table->buckets[i] = buffer->next;
            gst__buffer_drop(buffer);
        }
    }
    if (table->buckets != table->first)
        free(table->buckets);
    pthread_mutex_destroy(&table->lock);
}

struct gst__buffer *
gst__buffer_new(size_t len, enum gst__buffer_error *why)
{
    struct gst__buffer *buffer = gst__alloc_zeroed(sizeof *buffer, 16);

    *why = GST_BUFFER_NO_MEMORY;
    if (buffer == NULL)
        return NULL;
    buffer->len = len;
    buffer->bytes = gst__alloc_zeroed(len, GUSSET_BUFFER_ALIGNMENT);
    if (buffer->bytes == NULL) {
        gst__free(buffer);
        return NULL;
    }
    buffer->id = draw_id();
    if (buffer->id == 0) {
        *why = GST_BUFFER_NO_IDS;
        gst__buffer_drop(buffer);
        return NULL;
    }
    return buffer;
}

void
gst__buffer_drop(struct gst__buffer *buffer)
{
    if (buffer == NULL)
        return;
    gst__free(buffer->bytes);
    gst__free(buffer);
}

static struct gst__buffer **
bucket_of(struct gst__buffer_table *table, uint64_t id)
{
    return &table->buckets[id & (table->bucket_count - 1)];
}

/* The lock is held. */
static struct gst__buffer *
find(struct gst__buffer_table *table, uint64_t id)
{
    struct gst__buffer *buffer = *bucket_of(table, id);

    while (buffer != NULL && buffer->id != id)
        buffer = buffer->next;
    return buffer;
}

/* The lock is held. */
static void
grow(struct gst__buffer_table *table)
{
    struct gst__buffer **old = table->buckets;
    size_t count = table->bucket_count;
    /* Not counted: it stays until close, and live_bytes must come back to
     * what it was when the buffers go [l.stats-algebra]. */
    struct gst__buffer **wider = calloc(2 * count, sizeof *wider);
    size_t i;

    if (wider == NULL)
        return;
    table->buckets = wider;
    table->bucket_count = 2 * count;
    for (i = 0; i < count; i++) {
        while (old[i] != NULL) {
            struct gst__buffer *buffer = old[i];
            struct gst__buffer **bucket = bucket_of(table, buffer->id);

            old[i] = buffer->next;
            buffer->next = *bucket;
            *bucket = buffer;
        }
    }
    if (old != table->first)
        free(old);
}

/* The lock is held. */
static void
insert(struct gst__buffer_table *table, struct gst__buffer *buffer)
{
    struct gst__buffer **bucket;

    if (table->count >= table->bucket_count)
        grow(table);
    bucket = bucket_of(table, buffer->id);
    buffer->next = *bucket;
    buffer->listed = true;
    *bucket = buffer;
    table->count++;
}

/* The lock is held. */
static void
unlink_buffer(struct gst__buffer_table *table, struct gst__buffer *buffer)
{
    struct gst__buffer **link = bucket_of(table, buffer->id);

    while (*link != buffer)
        link = &(*link)->next;
    *link = buffer->next;
    buffer->listed = false;
    buffer->host_held = false;
    table->count--;
}

void
gst__buffer_list(struct gst__buffer_table *table, struct gst__buffer *buffer,
                 bool host_held)
{
    pthread_mutex_lock(&table->lock);
    buffer->host_held = host_held;
    insert(table, buffer);
    pthread_mutex_unlock(&table->lock);
}

bool
gst__buffer_release(struct gst__buffer_table *table, uint64_t id)
{
    struct gst__buffer *buffer;
    bool last = false;

    pthread_mutex_lock(&table->lock);
    buffer = find(table, id);
    if (buffer != NULL && buffer->host_held) {
        unlink_buffer(table, buffer);
        last = buffer->readers == 0;
    } else {
        buffer = NULL;
    }
    pthread_mutex_unlock(&table->lock);
    if (last)
        gst__buffer_drop(buffer);
    return buffer != NULL;
}

struct gst__buffer *
gst__buffer_read(struct gst__buffer_table *table, uint64_t id)
{
    struct gst__buffer *buffer;

    pthread_mutex_lock(&table->lock);
    buffer = find(table, id);
    if (buffer != NULL)
        buffer->readers++;
    pthread_mutex_unlock(&table->lock);
    return buffer;
}

void
gst__buffer_read_end(struct gst__buffer_table *table,
                     struct gst__buffer *buffer)
{
    bool last;

    pthread_mutex_lock(&table->lock);
    GST_ASSERT(buffer->readers > 0);
    buffer->readers--;
    last = buffer->readers == 0 && !buffer->listed;
    pthread_mutex_unlock(&table->lock);
    if (last)
        gst__buffer_drop(buffer);
}

/* Why the buffer (NULL: none of that id) is no output; NULL: it is one. */
static const char *
objection(const struct gst__buffer *buffer)
{
    if (buffer == NULL)
        return "no such live buffer";
    if (buffer->claimed && buffer->host_held)
        return "it already is the output of a job and the caller still holds "
               "it";
    if (buffer->claimed)
        return "it already is the output of a job";
    if (buffer->host_held)
        return "the caller still holds it";
    if (buffer->readers > 0)
        return "another unit reads it as its input";
    return NULL;
}

struct gst__buffer *
gst__buffer_claim(struct gst__buffer_table *table, uint64_t id,
                  uint64_t input_id, struct gst__text *refusal)
{
    struct gst__buffer *buffer = NULL;
    const char *why;

    if (id == 0) {
        why = "id 0 is never a live buffer";
    } else if (id == input_id) {
        why = "it is the unit's own input buffer";
    } else {
        pthread_mutex_lock(&table->lock);
        buffer = find(table, id);
        why = objection(buffer);
        if (why == NULL)
            buffer->claimed = true;
        pthread_mutex_unlock(&table->lock);
    }
    if (why == NULL)
        return buffer;
    *refusal = gst__text_format("engine output buffer %llu refused: %s",
                                (unsigned long long)id, why);
    return NULL;
}

void
gst__buffer_hand_over(struct gst__buffer_table *table,
                      struct gst__buffer *buffer)
{
    pthread_mutex_lock(&table->lock);
    buffer->host_held = true;
    buffer->claimed = true;
    if (!buffer->listed)
        insert(table, buffer);
    pthread_mutex_unlock(&table->lock);
}
