/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * lack.h - calls and jobs without memory [l.alloc-failure]. Which call meets
 * the lack first is not in our hands, so every one may succeed or report
 * FFI_ERR, and nothing else.
 *
 * All of it goes through api_raw: the guard demands a message of each failure,
 * which may be missing here. Main thread.
 */
#ifndef CONFORM_CASES_LACK_H
#define CONFORM_CASES_LACK_H

#include "../jobs.h"
#include "squeeze.h"

#define LACK_BUFFER_BYTES ((size_t)65536)

/* A host, and an input buffer of its with known content. */
struct lack_host {
    struct host *host;
    uint64_t buffer;
    const uint8_t *content; /* LACK_BUFFER_BYTES; an echo */
};

struct lack_job {
    const char *name;
    uint32_t flags;
    const uint8_t *input;
    size_t len; /* of the input, and of the result where that is an echo */
    bool from_buffer;
    bool echo;
    size_t result; /* where it is no echo */
};

/* Opens, and makes the buffer; closes, after both are given back. */
struct lack_host lack_open(uint32_t pool);
void lack_close(struct lack_host *host);

/* From now on what a call gives back is eaten before the next, so that each
 * meets the same lack: a heap of one block of `spare` bytes. */
void lack_begin(size_t spare);
/* Memory is back; results that were taken meanwhile do not come again. */
void lack_end(void);

/* The status for the next call, after the heap was eaten. */
FfiStatus lack_status(void);
/* The code of a call; its message may be missing, and is given back. */
int32_t lack_settle(int32_t code, FfiStatus *status, const char *what);
/* The same; FFI_OK or FFI_ERR, for whatever call. True: FFI_OK. */
bool lack_succeeded(int32_t code, FfiStatus *status, const char *what);
/* Takes and frees; `right` bytes of `len` if it succeeds, NULL: any. */
int32_t lack_take(GussetHandle *handle, uint64_t ticket, const uint8_t *right,
                  size_t len, const char *what);
/* Submits, waits, takes: refused or failed by FFI_ERR, or right. */
void lack_run(const struct lack_host *host, const struct lack_job *job);

/* Evidence of how many calls were refused; ends the case OUT-OF-REACH when
 * none was: nothing was withheld then. */
void lack_conclude(void);

#endif /* CONFORM_CASES_LACK_H */
