/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Slots live in segments that double and are freed only with
 * the handle, so a stale ticket may be looked up at any time. The free list
 * is a stack whose head carries a tag of 43 bits against ABA; its links are
 * atomics because a loser of the race reads the link of a slot that is in use
 * again.
 *
 * A cancel raises `cancelled` to the ticket's generation and never lowers it:
 * generations of a slot rise, so a late cancel cannot reach a later job nor
 * hide that job's own.
 */
#include "job.h"

#include "stats.h"

#define LINK_BITS 21 /* index + 1 */
#define LINK_MASK ((UINT64_C(1) << LINK_BITS) - 1)
#define INDEX_MASK ((UINT64_C(1) << GST_INDEX_BITS) - 1)
#define PHASE_MASK ((UINT64_C(1) << GST_PHASE_BITS) - 1)

/* Drawn generations, less one, so that zero-initialised memory starts at 1. */
static _Atomic uint64_t drawn[GST_STRIPES];

void
gst__generation_set(uint32_t stripe, uint64_t next)
{
    GST_STORE_RELAXED(&drawn[stripe], next - 1);
}

/* False: used up, and then the sequence stays where it is. */
static bool
draw_generations(struct gst__slot *slot)
{
    _Atomic uint64_t *sequence = &drawn[slot->index % GST_STRIPES];
    /* Relaxed: only uniqueness matters. */
    uint64_t last = GST_LOAD_RELAXED(sequence);
    uint64_t count;

    do {
        if (last >= GST_GENERATION_MAX)
            return false;
        count = GST_GENERATION_MAX - last;
        if (count > GST_GENERATION_BLOCK)
            count = GST_GENERATION_BLOCK;
    } while (!GST_CAS_RELAXED(sequence, &last, last + count));
    slot->generation_next = last + 1;
    slot->generation_end = last + 1 + count;
    return true;
}

static uint32_t
segment_slots(const struct gst__jobs *jobs, unsigned segment)
{
    return segment == 0 ? jobs->base : jobs->base << (segment - 1);
}

static unsigned
segment_of(const struct gst__jobs *jobs, uint32_t index)
{
    if (index < jobs->base)
        return 0;
    return 32 - (unsigned)__builtin_clz(index / jobs->base);
}

struct gst__slot *
gst__jobs_slot(struct gst__jobs *jobs, uint32_t index)
{
    unsigned segment = segment_of(jobs, index);
    uint32_t first = segment == 0 ? 0 : segment_slots(jobs, segment);
    /* Partner: the store in add_segment. */
    struct gst__slot *slots = GST_LOAD_ACQUIRE(&jobs->segment[segment]);

    return &slots[index - first];
}

/* Puts the chain first..last, linked already, on the free list. */
static void
push_chain(struct gst__jobs *jobs, struct gst__slot *first,
           struct gst__slot *last)
{
    uint64_t head = GST_LOAD_RELAXED(&jobs->free_head);
    uint64_t next;

    do {
        /* Relaxed: published by the exchange below. */
        GST_STORE_RELAXED(&last->next_free, (uint32_t)(head & LINK_MASK));
        next = ((head & ~LINK_MASK) + LINK_MASK + 1) |
               (uint64_t)(first->index + 1);
        /* Partner: the exchange in pop_free. */
    } while (!GST_CAS_ACQ_REL(&jobs->free_head, &head, next));
}

static struct gst__slot *
pop_free(struct gst__jobs *jobs)
{
    uint64_t head = GST_LOAD_ACQUIRE(&jobs->free_head);

    while ((head & LINK_MASK) != 0) {
        uint32_t index = (uint32_t)(head & LINK_MASK) - 1;
        struct gst__slot *slot = gst__jobs_slot(jobs, index);
        uint64_t next = ((head & ~LINK_MASK) + LINK_MASK + 1) |
                        GST_LOAD_RELAXED(&slot->next_free);

        /* Partner: the exchange in push_chain. */
        if (GST_CAS_ACQ_REL(&jobs->free_head, &head, next))
            return slot;
    }
    return NULL;
}

/* The grow lock is held, or nobody else knows the jobs yet. */
static enum gst__jobs_error
add_segment(struct gst__jobs *jobs)
{
    uint32_t first = GST_LOAD_RELAXED(&jobs->count);
    unsigned segment = first == 0 ? 0 : segment_of(jobs, first);
    uint32_t slots = segment_slots(jobs, segment);
    struct gst__slot *array;
    uint32_t i;

    if (first >= GST_MAX_SLOTS)
        return GST_JOBS_TOO_MANY;
    array = gst__alloc_zeroed(slots * sizeof *array, GST_CACHE_LINE);
    if (array == NULL)
        return GST_JOBS_NO_MEMORY;
    for (i = 0; i < slots; i++) {
        array[i].index = first + i;
        GST_STORE_RELAXED(&array[i].next_free, first + i + 2);
    }
    /* Partner: the load in gst__jobs_slot. */
    GST_STORE_RELEASE(&jobs->segment[segment], array);
    /* Partner: the load in slot_of_ticket. */
    GST_STORE_RELEASE(&jobs->count, first + slots);
    push_chain(jobs, &array[0], &array[slots - 1]);
    return GST_JOBS_OK;
}

bool
gst__jobs_init(struct gst__jobs *jobs, uint32_t slots)
{
    jobs->base = 16;
    while (jobs->base < slots)
        jobs->base *= 2;
    if (pthread_mutex_init(&jobs->grow, NULL) != 0)
        return false;
    if (add_segment(jobs) == GST_JOBS_OK)
        return true;
    pthread_mutex_destroy(&jobs->grow);
    return false;
}

void
gst__jobs_destroy(struct gst__jobs *jobs)
{
    uint32_t count = GST_LOAD_RELAXED(&jobs->count);
    unsigned segment;
    uint32_t i;

    for (i = 0; i < count; i++) {
        struct gst__slot *slot = gst__jobs_slot(jobs, i);

        if ((GST_LOAD_ACQUIRE(&slot->state) & PHASE_MASK) == GST_DONE)
            gst__result_drop(&slot->result);
    }
    for (segment = 0; segment < GST_SEGMENTS; segment++)
        gst__free(GST_LOAD_RELAXED(&jobs->segment[segment]));
    pthread_mutex_destroy(&jobs->grow);
}

/* A free slot, from a new segment if need be. */
static struct gst__slot *
get_slot(struct gst__jobs *jobs, enum gst__jobs_error *why)
{
    struct gst__slot *slot = pop_free(jobs);

    if (slot != NULL)
        return slot;
    pthread_mutex_lock(&jobs->grow);
    for (;;) {
        slot = pop_free(jobs);
        if (slot != NULL)
            break;
        *why = add_segment(jobs);
        if (*why != GST_JOBS_OK)
            break;
    }
    pthread_mutex_unlock(&jobs->grow);
    return slot;
}

struct gst__slot *
gst__jobs_get(struct gst__jobs *jobs, uint64_t *ticket,
              enum gst__jobs_error *why)
{
    struct gst__slot *slot = get_slot(jobs, why);

    if (slot == NULL)
        return NULL;
    if (slot->generation_next == slot->generation_end &&
        !draw_generations(slot)) {
        push_chain(jobs, slot, slot);
        *why = GST_JOBS_NO_TICKETS;
        return NULL;
    }
    *ticket = slot->generation_next << GST_INDEX_BITS | slot->index;
    slot->generation_next++;
    return slot;
}

void
gst__jobs_queue(struct gst__slot *slot, uint64_t ticket)
{
    uint64_t generation = ticket >> GST_INDEX_BITS;

    /* Partner: the loads of state in gst__jobs_cancel and take. */
    GST_STORE_RELEASE(&slot->state, generation << GST_PHASE_BITS | GST_QUEUED);
}

static void
set_phase(struct gst__slot *slot, enum gst__phase phase)
{
    /* Relaxed load: only the owner changes the word now. */
    uint64_t state = GST_LOAD_RELAXED(&slot->state);

    /* Partner: the loads of state in gst__jobs_take. */
    GST_STORE_RELEASE(&slot->state, (state & ~PHASE_MASK) | phase);
}

void
gst__jobs_put(struct gst__jobs *jobs, struct gst__slot *slot)
{
    set_phase(slot, GST_FREE);
    push_chain(jobs, slot, slot);
}

uint64_t
gst__slot_ticket(struct gst__slot *slot)
{
    return GST_LOAD_RELAXED(&slot->state) >> GST_PHASE_BITS << GST_INDEX_BITS |
           slot->index;
}

void
gst__slot_done(struct gst__slot *slot)
{
    set_phase(slot, GST_DONE);
}

void
gst__slot_inline(struct gst__slot *slot)
{
    set_phase(slot, GST_INLINE);
}

/* NULL: no ticket of this handle can name a slot like that. */
static struct gst__slot *
slot_of_ticket(struct gst__jobs *jobs, uint64_t ticket)
{
    uint32_t index = (uint32_t)(ticket & INDEX_MASK);

    /* Partner: the store in add_segment. */
    if (index >= GST_LOAD_ACQUIRE(&jobs->count))
        return NULL;
    return gst__jobs_slot(jobs, index);
}

void
gst__jobs_cancel(struct gst__jobs *jobs, uint64_t ticket)
{
    struct gst__slot *slot = slot_of_ticket(jobs, ticket);
    uint64_t generation = ticket >> GST_INDEX_BITS;
    uint64_t highest;

    if (slot == NULL || generation > GST_GENERATION_MAX)
        return;
    /* Partner: the store in gst__jobs_queue. */
    if (GST_LOAD_ACQUIRE(&slot->state) !=
        (generation << GST_PHASE_BITS | GST_QUEUED))
        return;
    highest = GST_LOAD_RELAXED(&slot->cancelled);
    /* Partner: the load in gst__slot_cancelled. */
    while (highest < generation &&
           !GST_CAS_ACQ_REL(&slot->cancelled, &highest, generation))
        continue;
}

bool
gst__slot_cancelled(struct gst__slot *slot)
{
    /* Relaxed: the worker owns the state of its own job. */
    uint64_t generation = GST_LOAD_RELAXED(&slot->state) >> GST_PHASE_BITS;

    /* Partner: the exchange in gst__jobs_cancel. */
    return GST_LOAD_ACQUIRE(&slot->cancelled) == generation;
}

bool
gst__jobs_take(struct gst__jobs *jobs, uint64_t ticket,
               struct gst__result *result)
{
    struct gst__slot *slot = slot_of_ticket(jobs, ticket);
    uint64_t generation = ticket >> GST_INDEX_BITS;
    uint64_t done = generation << GST_PHASE_BITS | GST_DONE;

    if (slot == NULL || generation > GST_GENERATION_MAX)
        return false;
    /* Partner: the store in set_phase by gst__slot_done. */
    if (!GST_CAS_STRONG_SEQ(&slot->state, &done,
                            generation << GST_PHASE_BITS | GST_TAKING))
        return false;
    *result = slot->result;
    gst__jobs_put(jobs, slot);
    return true;
}

void
gst__result_drop(struct gst__result *result)
{
    gst__text_free(&result->text);
    /* A buffer that is in the table is freed with the table. */
    if (result->buffer != NULL && !result->buffer->listed)
        gst__buffer_drop(result->buffer);
    result->buffer = NULL;
}
