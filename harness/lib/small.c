/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "internal.h"

void
put_u32le(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

void
put_u64le(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

uint32_t
get_u32le(const uint8_t *at)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < 4; i++) {
        value |= (uint32_t)at[i] << (8 * i);
    }
    return value;
}

uint64_t
get_u64le(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

/*
 * The finalizer of a 64-bit counter generator: every bit of the result
 * depends on every bit of the input.
 */
static uint64_t
mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

#define GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* The counter is the whole state, so any thread may draw without a lock. */
static uint64_t
draw(void)
{
    static uint64_t drawn;
    uint64_t turn = __atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED);
    return mix(conform_run.seed * GAMMA + mix(turn * GAMMA));
}

uint64_t
conform_random(uint64_t bound)
{
    /* Values from the incomplete last stretch would favour small results. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    uint64_t value = draw();
    while (value >= limit) {
        value = draw();
    }
    return value % bound;
}

uint8_t *
conform_pattern(size_t len, uint8_t first, uint64_t seed)
{
    uint8_t *bytes = conform_allocate(len == 0 ? 1 : len);
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = mix(seed + GAMMA * (at / 8 + 1));
        for (size_t k = 0; k < 8 && at + k < len; k++) {
            bytes[at + k] = (uint8_t)(word >> (8 * k));
        }
    }
    if (len > 0) {
        bytes[0] = first;
    }
    return bytes;
}
