/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. Positions never wrap (2^64). A cell's turn tells producers
 * and consumers of different laps apart, so the capacity need not be a power
 * of two and is exactly what was asked for. The turn accesses are SEQ because
 * a push and the look of a worker that is about to sleep are two halves of a
 * handshake, see park.h; head and tail only hand out positions.
 */
#include "queue.h"

#include "bug.h"
#include "stats.h"

bool
gst__queue_init(struct gst__queue *queue, uint32_t capacity)
{
    uint32_t i;

    GST_ASSERT(capacity >= 2);
    queue->cells =
        gst__alloc_zeroed(capacity * sizeof *queue->cells, GST_CACHE_LINE);
    if (queue->cells == NULL)
        return false;
    queue->capacity = capacity;
    /* Equivalent [constant `i = 0`]: zeroed memory holds turn 0 already. */
    for (i = 0; i < capacity; i++)
        GST_STORE_RELAXED(&queue->cells[i].turn, (uint64_t)i);
    GST_STORE_RELAXED(&queue->head, 0);
    GST_STORE_RELAXED(&queue->tail, 0);
    return true;
}

void
gst__queue_destroy(struct gst__queue *queue)
{
    gst__free(queue->cells);
    queue->cells = NULL;
}

static struct gst__queue_cell *
cell_of(struct gst__queue *queue, uint64_t position)
{
    return &queue->cells[position % queue->capacity];
}

bool
gst__queue_push(struct gst__queue *queue, uint32_t value)
{
    uint64_t tail = GST_LOAD_RELAXED(&queue->tail);

    for (;;) {
        struct gst__queue_cell *cell = cell_of(queue, tail);
        /* Partner: the consumer's store of turn in gst__queue_pop. */
        uint64_t turn = GST_LOAD_ACQUIRE(&cell->turn);

        /* Equivalent [compare `turn < tail`]: equal is the first branch. */
        if (turn == tail) {
            if (GST_CAS_RELAXED(&queue->tail, &tail, tail + 1)) {
                cell->value = value;
                /* Partner: the load of turn in pop and ready. */
                GST_STORE_SEQ(&cell->turn, tail + 1);
                return true;
            }
        } else if (turn < tail) {
            uint64_t now = GST_LOAD_RELAXED(&queue->tail);

            if (now == tail)
                return false;
            tail = now;
        } else {
            tail = GST_LOAD_RELAXED(&queue->tail);
        }
    }
}

bool
gst__queue_pop(struct gst__queue *queue, uint32_t *value)
{
    uint64_t head = GST_LOAD_RELAXED(&queue->head);

    for (;;) {
        struct gst__queue_cell *cell = cell_of(queue, head);
        /* Partner: the store of turn in gst__queue_push. */
        uint64_t turn = GST_LOAD_SEQ(&cell->turn);

        if (turn == head + 1) {
            if (GST_CAS_RELAXED(&queue->head, &head, head + 1)) {
                *value = cell->value;
                /* Partner: the load of turn in gst__queue_push. */
                GST_STORE_RELEASE(&cell->turn, head + queue->capacity);
                return true;
            }
        } else if (turn <= head) {
            /* A position that was consumed has a later turn, so this head
             * is not an old one: nothing to pop. */
            return false;
        } else {
            head = GST_LOAD_RELAXED(&queue->head);
        }
    }
}

bool
gst__queue_ready(struct gst__queue *queue)
{
    for (;;) {
        /* Equivalent [order-acquire, order-relaxed]: the cell of a head that
         * is too old has a later turn, and then the loop looks again. */
        uint64_t head = GST_LOAD_SEQ(&queue->head);
        uint64_t turn = GST_LOAD_SEQ(&cell_of(queue, head)->turn);

        if (turn == head + 1)
            return true;
        if (turn <= head)
            return false;
    }
}
