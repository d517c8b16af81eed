/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The registry is a fixed table of open addressing, so that
 * registering allocates nothing and a reader can never follow freed memory.
 * Readers look without the lock: version is odd while the table changes, and
 * a reader that sees it odd or changed looks again under the lock, so a
 * stream of registrations cannot hold a job up for longer than one of them.
 */
#include "engine.h"

#include <pthread.h>

#define TABLE_SIZE (2 * GST_MAX_OPCODES)

struct entry {
    _Atomic uint32_t opcode; /* 0: empty */
    _Atomic(gse_handler) call;
    _Atomic(void *) user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t version;

/* Changed under lock, between two changes of version. */
static struct entry table[TABLE_SIZE];
static struct entry global;
static uint32_t opcodes;

static uint32_t
home_of(uint32_t opcode)
{
    return (uint32_t)(opcode * UINT32_C(2654435761)) % TABLE_SIZE;
}

/* Acquire: the second look at version comes after these loads. */
static struct gst__handler
read_entry(struct entry *entry)
{
    struct gst__handler handler;

    handler.call = GST_LOAD_ACQUIRE(&entry->call);
    handler.user = GST_LOAD_ACQUIRE(&entry->user);
    return handler;
}

/* The entry of the opcode, or the empty one where it belongs. */
static struct entry *
entry_of(uint32_t opcode)
{
    uint32_t i = home_of(opcode);
    uint32_t step;

    for (step = 0; step < TABLE_SIZE; step++) {
        uint32_t here = GST_LOAD_ACQUIRE(&table[i].opcode);

        if (here == opcode || here == 0)
            break;
        i = (i + 1) % TABLE_SIZE;
    }
    return &table[i];
}

static struct gst__handler
look(uint32_t opcode)
{
    return read_entry(opcode == 0 ? &global : entry_of(opcode));
}

struct gst__handler
gst__engine_find(uint32_t opcode)
{
    struct gst__handler handler;
    /* Partner: the second add in end_change. */
    uint64_t before = GST_LOAD_ACQUIRE(&version);

    if ((before & 1) == 0) {
        handler = look(opcode);
        /* Partner: begin_change, whose add comes before its stores. */
        if (GST_LOAD_ACQUIRE(&version) == before)
            return handler;
    }
    pthread_mutex_lock(&lock);
    handler = look(opcode);
    pthread_mutex_unlock(&lock);
    return handler;
}

static void
begin_change(void)
{
    pthread_mutex_lock(&lock);
    GST_ADD_SEQ(&version, 1);
}

static void
end_change(void)
{
    GST_ADD_SEQ(&version, 1);
    pthread_mutex_unlock(&lock);
}

/* The table is being changed. Release: after the version became odd. */
static void
write_entry(struct entry *entry, uint32_t opcode, gse_handler call, void *user)
{
    GST_STORE_RELEASE(&entry->user, user);
    GST_STORE_RELEASE(&entry->call, call);
    GST_STORE_RELEASE(&entry->opcode, opcode);
}

/* opcode 0: the global handler. */
static int32_t
add_handler(uint32_t opcode, gse_handler call, void *user)
{
    struct entry *entry;
    int32_t result = GSE_FAILED;

    if (call == NULL)
        return GSE_FAILED;
    begin_change();
    entry = opcode == 0 ? &global : entry_of(opcode);
    if (GST_LOAD_RELAXED(&entry->call) == NULL &&
        (opcode == 0 || opcodes < GST_MAX_OPCODES)) {
        write_entry(entry, opcode, call, user);
        opcodes += opcode != 0;
        result = GSE_OK;
    }
    end_change();
    return result;
}

uint32_t
gse_api_version(void)
{
    return GSE_API_VERSION;
}

int32_t
gse_register_global(gse_handler handler, void *user)
{
    return add_handler(0, handler, user);
}

int32_t
gse_register_opcode(uint32_t opcode, gse_handler handler, void *user)
{
    if (opcode == 0)
        return GSE_FAILED;
    return add_handler(opcode, handler, user);
}

void
gse_clear(void)
{
    uint32_t i;

    begin_change();
    write_entry(&global, 0, NULL, NULL);
    for (i = 0; i < TABLE_SIZE; i++)
        write_entry(&table[i], 0, NULL, NULL);
    opcodes = 0;
    end_change();
}

void
gst__engine_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
gst__engine_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
