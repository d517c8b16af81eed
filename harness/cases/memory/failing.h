/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * failing.h - one list of calls that fail, one for each way of failing, for
 * the clauses that speak of every failing call.
 */
#ifndef FAILING_H
#define FAILING_H

#include "conform.h"

/* Every out-parameter of every export. */
struct outs {
    GussetHandle *handle;
    const GussetRing *ring;
    const uint8_t *shared;
    const uint8_t *slots;
    uint64_t capacity;
    uint64_t ticket;
    uint64_t id;
    uint8_t *ptr;
    uint64_t len;
};

/* Handles in the states that calls are refused in. */
struct rig {
    struct host *healthy; /* pool 1, a pipe, no ring */
    struct host *ringed;  /* pool 1, a ring attached by hand */
    struct host *poisoned;
    struct host *full; /* pool 1, 3 cooperative jobs of 2.5 s */
    int closed_fd;
    uint64_t freed_buffer;
    uint64_t foreign_buffer; /* of `ringed` */
    uint64_t foreign_ticket; /* of `ringed`, done and not taken */
};

struct failing {
    const char *what;
    uint32_t codes; /* a bit for each code that is right */
    bool panic;     /* may carry a place */
    bool repeats;   /* may be made again and fails alike */
    /* Before each call; returns the ticket of a job that has ended. */
    uint64_t (*prepare)(struct rig *rig);
    int32_t (*call)(struct rig *rig, struct outs *outs, uint64_t ticket,
                    FfiStatus *status);
    void (*undo)(struct rig *rig); /* after each call */
};

extern const struct failing failing_calls[];
extern const size_t failing_count;

void rig_open(struct rig *rig);
void rig_close(struct rig *rig);

#endif /* FAILING_H */
