/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * squeeze.h - takes the process's memory away from outside: the address space
 * may not grow any more, and what the heap still holds is eaten. No hook, no
 * replaced function: an implementation of any language meets it as it would
 * meet a full machine. One thread squeezes at a time.
 */
#ifndef CONFORM_CASES_SQUEEZE_H
#define CONFORM_CASES_SQUEEZE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The address space may grow by `slack` bytes at most from now on. Ends the
 * case (skip) under a sanitizer, whose allocator ends the process instead.
 */
void squeeze_limit(size_t slack);

/*
 * Eats every free block of the C library's heap, large ones first, except that
 * one block of `spare` bytes (0: none) is given back last.
 */
void squeeze_heap(size_t spare);

/* Gives everything back and lifts the limit; does nothing when not squeezed. */
void squeeze_end(void);

/* As expect, but gives the memory back before a failure is recorded. */
#define expect_squeezed(condition, ...)              \
    do {                                             \
        bool holds_ = (condition);                   \
        if (!holds_)                                 \
            squeeze_end();                           \
        expect(holds_, #condition ": " __VA_ARGS__); \
    } while (0)

#endif /* CONFORM_CASES_SQUEEZE_H */
