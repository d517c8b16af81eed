/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * zoo.h - what every specimen of the zoo is judged by.
 *
 * A specimen is one way in which an engine may go wrong inside a job, and the
 * outcome it is declared to have. The examination is the same for all of them:
 * the panic by itself, then the same panic amid a busy pool, with everything
 * that must go on working afterwards.
 */
#ifndef PANIC_ZOO_H
#define PANIC_ZOO_H

#include "conform.h"
#include "sanitizer.h"

/* The cap of panic and engine-error texts, and what follows a cut one. */
#define ZOO_TEXT_CAP 32768u
#define ZOO_TEXT_CUT_AT_LEAST 32750u
#define ZOO_TEXT_TOTAL 65536u
#define ZOO_TEXT_MARKER "... [truncated]"

struct specimen {
    const char *name;
    uint32_t opcode; /* 0: a mode of the diagnostic engine */
    const uint8_t *input;
    size_t len;
    const char *text; /* the panic's own text, without `PANIC: ` */
    size_t text_len;
    bool exact;     /* the message is `PANIC: ` and the text, nothing after */
    bool may_err;   /* FFI_ERR with any text, not poisoning, is right too */
    bool placeless; /* the place is unknown to the implementation */
};

/* The whole examination: alone, amid siblings, on a pool of two. */
void zoo_examine(const struct specimen *specimen);

/* The three parts of it. */
struct outcome zoo_alone(const struct specimen *specimen);
void zoo_aftercare(const struct specimen *specimen);
void zoo_worker_serves_on(const struct specimen *specimen);

/* What the job itself must have ended with. */
void zoo_expect_panic(const struct specimen *specimen,
                      const struct outcome *outcome);

/* The message is `lead` and a prefix of text that was cut as i2.text-capped
 * has it: at most 3 bytes of `text` (a character) fall beside the cap. */
void zoo_expect_capped(const char *lead, const char *text, size_t text_len,
                       const struct outcome *outcome);

/* file NULL, file_len 0, line 0 [i2.location-only-on-panic]. */
void zoo_expect_no_place(const struct outcome *outcome, const char *what);

/* submit and buf_alloc are refused as FFI_POISONED [i2.poison-latch]. */
void zoo_expect_poisoned(struct host *host, const char *what);

/* An echo arrives byte for byte and a buffer can be had. */
void zoo_expect_healthy(struct host *host, const char *what);

/* A header with these flags and this opcode, all else zero. */
CallHeader zoo_header(uint32_t flags, uint32_t opcode);

/* Retries while the queue is full; the code is FFI_OK, or FFI_POISONED when a
 * panic was faster. */
struct outcome zoo_submit_unless_poisoned(struct host *host, const void *input,
                                          size_t len);

/* A panic at once: mode 1, taken, checked; the handle is poisoned. */
void zoo_poison(struct host *host);

/*
 * The gate at which C engine specimens wait, so that a panic happens after the
 * host has arranged the scene. Open unless closed. zoo_gate_wait is what a
 * handler calls; it gives up after 10 s, so that a failed case can end.
 */
void zoo_gate_close(void);
void zoo_gate_open(void);
void zoo_gate_wait(void);

#endif /* PANIC_ZOO_H */
