/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * One address range, reserved before the first census, cut into sets of equal
 * size. Of a set, every second page of the cells is always accessible; the
 * pages of a pad only while its submit runs. Nothing here takes a lock: a lock
 * would order host threads, and a forked child could inherit it held.
 */
#define _GNU_SOURCE
#include "guard.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define RESERVE_MOST ((size_t)1 << 30)
#define RESERVE_LEAST ((size_t)16 << 20)
#define SETS_MOST 4096

/* In pages of one set: an inaccessible one first, then cells, pads, log. */
#define CELLS_AT 1
#define ALL_CELLS (GUARD_CELLS * GUARD_BANKS)
#define PADS_AT (CELLS_AT + 2 * ALL_CELLS)
#define PAD_PAGES 4 /* header, fence, input, fence */
#define LOG_AT (PADS_AT + PAD_PAGES * GUARD_PADS)
#define LOG_PAGES (GUARD_LOG_BYTES / 4096 + 1)
#define SET_PAGES (LOG_AT + LOG_PAGES + 1)

struct guard_set {
    uint8_t *base;
    size_t bytes[ALL_CELLS]; /* of the last block, 0: not used yet */
    unsigned next_pad;
    unsigned next_bank;
    uint32_t submits;
    bool log_open;
    int taken; /* atomic: a thread has it */
};

static uint8_t *range;
static size_t page;
static size_t sets_count;
static struct guard_set *sets;
static pthread_key_t at_thread_end;
static _Thread_local struct guard_set *mine;

static void
give_back(void *set)
{
    mine = NULL;
    /* Pairs with the exchange of the thread that takes it next. */
    __atomic_store_n(&((struct guard_set *)set)->taken, 0, __ATOMIC_RELEASE);
}

void
guard_memory_reserve(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = RESERVE_MOST; size >= RESERVE_LEAST; size /= 2) {
        void *memory = mmap(NULL, size, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED) {
            range = memory;
            sets_count = size / (SET_PAGES * page);
            break;
        }
    }
    if (range == NULL || pthread_key_create(&at_thread_end, give_back) != 0) {
        conform_broken("no address range for the guarded memory");
    }
    if (sets_count > SETS_MOST) {
        sets_count = SETS_MOST;
    }
    sets = conform_allocate(sets_count * sizeof *sets);
    (void)guard_set();
}

static void
allow(uint8_t *at, size_t bytes)
{
    if (mprotect(at, bytes, PROT_READ | PROT_WRITE) != 0) {
        conform_broken("guarded memory: %s", strerror(errno));
    }
}

/* The first time: its cells become accessible, for good. */
static void
prepare(struct guard_set *set)
{
    if (set->base != NULL) {
        return;
    }
    set->base = range + (size_t)(set - sets) * SET_PAGES * page;
    for (size_t i = 0; i < ALL_CELLS; i++) {
        allow(set->base + (CELLS_AT + 2 * i) * page, page);
    }
}

struct guard_set *
guard_set(void)
{
    if (mine != NULL) {
        return mine;
    }
    for (size_t i = 0; i < sets_count; i++) {
        if (__atomic_load_n(&sets[i].taken, __ATOMIC_RELAXED) == 0 &&
            __atomic_exchange_n(&sets[i].taken, 1, __ATOMIC_ACQUIRE) == 0) {
            prepare(&sets[i]);
            mine = &sets[i];
            (void)pthread_setspecific(at_thread_end, mine);
            return mine;
        }
    }
    return NULL;
}

/* ---- Cells ------------------------------------------------------------- */

bool
guard_is_junk(const uint8_t *at, size_t bytes)
{
    return bytes == 0 ||
           (at[0] == GUARD_JUNK && memcmp(at, at + 1, bytes - 1) == 0);
}

static uint8_t *
cell_end(const struct guard_set *set, unsigned index)
{
    return set->base + (CELLS_AT + 2 * (size_t)index + 1) * page;
}

unsigned
guard_next_bank(struct guard_set *set)
{
    return set->next_bank++ % GUARD_BANKS * GUARD_CELLS;
}

static void
expect_untouched(const struct guard_set *set, unsigned index)
{
    size_t bytes = set->bytes[index];
    const uint8_t *from = cell_end(set, index) - bytes - GUARD_CANARY_BYTES;
    if (bytes > 0 && !guard_is_junk(from, bytes + GUARD_CANARY_BYTES)) {
        expect_unreachable("an out-parameter of %zu bytes was written after "
                           "its call had returned [i1.out-only-on-ok]",
                           bytes);
    }
}

uint8_t *
guard_cell(struct guard_set *set, unsigned index, size_t bytes)
{
    uint8_t *block = cell_end(set, index) - bytes;
    expect_untouched(set, index);
    if (set->bytes[index] < bytes) {
        set->bytes[index] = bytes;
        memset(block - GUARD_CANARY_BYTES, GUARD_JUNK,
               bytes + GUARD_CANARY_BYTES);
    }
    return block;
}

bool
guard_canary_holds(const uint8_t *block)
{
    return guard_is_junk(block - GUARD_CANARY_BYTES, GUARD_CANARY_BYTES);
}

void
guard_cell_back(struct guard_set *set, unsigned index)
{
    size_t bytes = set->bytes[index];
    memset(cell_end(set, index) - bytes, GUARD_JUNK, bytes);
}

void
guard_memory_end(void)
{
    for (size_t i = 0; i < sets_count; i++) {
        /* A set that a thread still has may be in use right now. */
        if (sets[i].base == NULL ||
            (&sets[i] != mine &&
             __atomic_load_n(&sets[i].taken, __ATOMIC_ACQUIRE) != 0)) {
            continue;
        }
        for (unsigned cell = 0; cell < ALL_CELLS; cell++) {
            expect_untouched(&sets[i], cell);
        }
    }
}

/* ---- Pads -------------------------------------------------------------- */

/* Spread, so that no rhythm of a case falls between. */
static bool
is_padded(uint32_t submit)
{
    return submit < GUARD_PADDED_FIRST ||
           ((submit * 0x9e3779b1u) >> 16) % GUARD_PADDED_THEN == 0;
}

struct guard_pad
guard_pad_open(struct guard_set *set, const CallHeader *header,
               const uint8_t *input, size_t len)
{
    struct guard_pad pad = {NULL, NULL, NULL};
    if (set == NULL || (header == NULL && input == NULL) ||
        !is_padded(set->submits++)) {
        return pad;
    }
    pad.base =
        set->base +
        (PADS_AT + PAD_PAGES * (size_t)(set->next_pad++ % GUARD_PADS)) * page;
    if (header != NULL) {
        uint8_t *copy = pad.base + page - sizeof *header;
        allow(pad.base, page);
        memcpy(copy, header, sizeof *header);
        pad.header = (const CallHeader *)(const void *)copy;
    }
    if (input != NULL) {
        uint8_t *copy = pad.base + 3 * page - len;
        allow(pad.base + 2 * page, page);
        memcpy(copy, input, len);
        pad.input = copy;
    }
    return pad;
}

void
guard_pad_revoke(const struct guard_pad *pad)
{
    if (pad->base != NULL &&
        mprotect(pad->base, (PAD_PAGES - 1) * page, PROT_NONE) != 0) {
        conform_broken("revoking guarded memory: %s", strerror(errno));
    }
}

/* ---- The log ----------------------------------------------------------- */

uint8_t *
guard_log(struct guard_set *set, size_t len)
{
    if (len > GUARD_LOG_BYTES - GUARD_CANARY_BYTES) {
        return NULL;
    }
    size_t pages = (GUARD_LOG_BYTES + page - 1) / page;
    uint8_t *from = set->base + LOG_AT * page;
    if (!set->log_open) {
        allow(from, pages * page);
        set->log_open = true;
    }
    uint8_t *block = from + pages * page - len;
    memset(block - GUARD_CANARY_BYTES, GUARD_JUNK, GUARD_CANARY_BYTES);
    return block;
}

/* ---- In words ---------------------------------------------------------- */

static const char *
describe_pad(size_t at)
{
    static const char *const words[PAD_PAGES] = {
        "the header after submit had returned [i1.input-copied]",
        "memory behind the header of a submit [i6.self-report-true]",
        "the inline input after submit had returned [i1.input-copied]",
        "memory behind the inline input of a submit [i1.input-copied]"};
    return words[at % PAD_PAGES];
}

const char *
guard_describe(uintptr_t address)
{
    uintptr_t from = (uintptr_t)range;
    if (range == NULL || address < from ||
        address - from >= sets_count * SET_PAGES * page) {
        return NULL;
    }
    size_t at = (address - from) / page % SET_PAGES;
    if (at < PADS_AT) {
        return "memory behind an out-parameter [i6.self-report-true]";
    }
    return at < LOG_AT ? describe_pad(at - PADS_AT)
                       : "memory behind the buffer of drain_logs "
                         "[l.log-lines]";
}
