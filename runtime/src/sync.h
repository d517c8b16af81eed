/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * sync.h - the atomic operations of the runtime, by name.
 *
 * ACQUIRE   nothing after the load moves before it: what the partner wrote
 *           before its RELEASE is seen.
 * RELEASE   nothing before the store moves after it.
 * SEQ       sequentially consistent: all SEQ operations of the process have
 *           one order. Used where two threads each store one word and then
 *           load the other's (Dekker), where acquire and release are not
 *           enough.
 * RELAXED   only the word itself matters; the line says why.
 *
 * Fences are not used: thread sanitizers do not model them. Each use of an
 * ordered operation names its partner; runtime/README.md has the table.
 */
#ifndef GST_SYNC_H
#define GST_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GST_CACHE_LINE 64

#define GST_LOAD_RELAXED(p) atomic_load_explicit((p), memory_order_relaxed)
#define GST_LOAD_ACQUIRE(p) atomic_load_explicit((p), memory_order_acquire)
#define GST_LOAD_SEQ(p) atomic_load_explicit((p), memory_order_seq_cst)

#define GST_STORE_RELAXED(p, v) \
    atomic_store_explicit((p), (v), memory_order_relaxed)
#define GST_STORE_RELEASE(p, v) \
    atomic_store_explicit((p), (v), memory_order_release)
#define GST_STORE_SEQ(p, v) \
    atomic_store_explicit((p), (v), memory_order_seq_cst)

#define GST_ADD_RELAXED(p, v) \
    atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define GST_ADD_RELEASE(p, v) \
    atomic_fetch_add_explicit((p), (v), memory_order_release)
#define GST_ADD_SEQ(p, v) \
    atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define GST_SUB_ACQ_REL(p, v) \
    atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define GST_SUB_SEQ(p, v) \
    atomic_fetch_sub_explicit((p), (v), memory_order_seq_cst)
#define GST_OR_SEQ(p, v) \
    atomic_fetch_or_explicit((p), (v), memory_order_seq_cst)
#define GST_AND_SEQ(p, v) \
    atomic_fetch_and_explicit((p), (v), memory_order_seq_cst)
#define GST_SWAP_SEQ(p, v) \
    atomic_exchange_explicit((p), (v), memory_order_seq_cst)

/* Weak: may fail for no reason, so always in a loop. */
#define GST_CAS_RELAXED(p, expected, v)    \
    atomic_compare_exchange_weak_explicit( \
        (p), (expected), (v), memory_order_relaxed, memory_order_relaxed)
#define GST_CAS_ACQ_REL(p, expected, v)    \
    atomic_compare_exchange_weak_explicit( \
        (p), (expected), (v), memory_order_acq_rel, memory_order_acquire)
#define GST_CAS_SEQ(p, expected, v)        \
    atomic_compare_exchange_weak_explicit( \
        (p), (expected), (v), memory_order_seq_cst, memory_order_seq_cst)
/* Strong: fails only when the word differs from *expected. */
#define GST_CAS_STRONG_SEQ(p, expected, v)   \
    atomic_compare_exchange_strong_explicit( \
        (p), (expected), (v), memory_order_seq_cst, memory_order_seq_cst)

_Static_assert(
    ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2 &&
        ATOMIC_POINTER_LOCK_FREE == 2,
    "the runtime needs lock-free 32-bit, 64-bit and pointer atomics");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4,
               "ring words are atomics of exactly their width");

#endif
