/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CONFORM_HOST_FILE_H
#define CONFORM_HOST_FILE_H

#include "conform.h"
#include "ledger.h"

struct host {
    GussetHandle *handle;
    int read_fd;
    int write_fd; /* the library's, its number only */
    bool has_ring;
    bool ring_first; /* attached before the first submit */
    struct conform_ring ring;
    struct ledger ledger;
    /* Read and booked, not handed out yet; first in, first out. */
    struct completion *inbox;
    size_t inbox_first;
    size_t inbox_count;
    size_t inbox_cap;
    uint64_t from_pipe; /* completions read from the pipe */
    uint64_t tokens;    /* tokens read from the pipe */
};

/* Reads what is in ring and pipe now into the inbox. */
void host_look(struct host *host);
/* Reads the pipe to its end after close, which must come. */
void host_read_to_eof(struct host *host);
/* Reads the ring as far as it is published into the inbox. */
void host_drain_ring(struct host *host);

#endif /* CONFORM_HOST_FILE_H */
