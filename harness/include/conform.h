/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * conform.h - everything a case includes. How to write one: harness/README.md.
 *
 * A case is a function with a declaration; defining it registers it. It runs
 * alone in a process of its own, once per transport it names, against the
 * subject: a shared object (loaded in this process only) or an archive
 * (linked). It never knows which. It reaches the 17 functions through `api`.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gusset.h"

/* ---- The subject ------------------------------------------------------- */

/* clang-format off */
#define CONFORM_EXPORTS(X) \
    X(abi_layout) X(abi_fields) X(init) X(shutdown) \
    X(handle_open) X(handle_close) X(handle_ring) X(ring_release) \
    X(submit) X(take) X(cancel) X(cancel_all) \
    X(status_free) X(alloc_stats) X(drain_logs) X(buf_alloc) \
    X(buf_free)
/* clang-format on */

/* The implementation under test: api.submit is its gusset_submit. */
struct conform_api {
    void (*abi_layout)(AbiLayout *);
    uint32_t (*abi_fields)(uint32_t *, uint32_t *, uint32_t);
    int32_t (*init)(void);
    int32_t (*shutdown)(uint32_t);
    int32_t (*handle_open)(uint32_t, int32_t, GussetHandle **, FfiStatus *);
    int32_t (*handle_close)(GussetHandle *, FfiStatus *);
    int32_t (*handle_ring)(GussetHandle *, const GussetRing **,
                           const uint8_t **, const uint8_t **, uint64_t *,
                           FfiStatus *);
    void (*ring_release)(const GussetRing *);
    int32_t (*submit)(GussetHandle *, const CallHeader *, const uint8_t *,
                      size_t, uint64_t, uint64_t *, FfiStatus *);
    int32_t (*take)(GussetHandle *, uint64_t, uint64_t *, uint8_t **, size_t *,
                    FfiStatus *);
    int32_t (*cancel)(GussetHandle *, uint64_t, FfiStatus *);
    int32_t (*cancel_all)(GussetHandle *, FfiStatus *);
    void (*status_free)(FfiStatus *);
    void (*alloc_stats)(AllocStats *);
    void (*drain_logs)(uint8_t *, size_t, size_t *);
    int32_t (*buf_alloc)(GussetHandle *, size_t, uint64_t *, uint8_t **,
                         FfiStatus *);
    int32_t (*buf_free)(GussetHandle *, uint64_t, FfiStatus *);
};
extern struct conform_api api;

/*
 * What a case gives to `api` reaches the implementation as fenced copies:
 * header and inline input are inaccessible once submit has returned, each
 * out-parameter has junk in it, a canary before it and an inaccessible page
 * behind it, and is judged by i1.out-only-on-ok; each status by what
 * conform_settle checks; tickets by i4.tickets, i1.take-once and
 * i4.exactly-once. NULL, blocks of conform_fence, and an input that is not to
 * be read (buffer id, over 4096 bytes) go through as they are.
 *
 * api_raw goes straight to the implementation. Only where the microseconds of
 * the guard would blur what is measured: say so in a comment. A ticket that it
 * gave is told to the harness by host_adopt.
 */
extern struct conform_api api_raw;

/* ---- Declaring a case -------------------------------------------------- */

/* Transports: the case runs once for each bit; `host_open` follows it. */
#define CONFORM_PIPE 1u
#define CONFORM_RING 2u
#define CONFORM_BOTH 3u /* the default is 0: once, no suffix, pipe hosts */

/* Tags. */
#define CONFORM_ALONE 1u     /* timing- or load-sensitive: nothing beside it */
#define CONFORM_SLEEPS 2u    /* waits most of its time: costs no core */
#define CONFORM_COLD 4u      /* no warm-up cycle before the first census */
#define CONFORM_NO_CENSUS 8u /* leaves state behind on purpose: say why */
#define CONFORM_ONCE 16u     /* judges gusset.h, no artifact: once in a run */

struct conform_case {
    const char *id;       /* "CLAUSE.what": i1.take-once.second-take */
    const char *clauses;  /* clause ids, space separated; the first is blamed */
    const char *why;      /* the fault class it catches, one sentence */
    const char *steps;    /* what it does, one or two sentences */
    const char *expected; /* what must be seen */
    const char *mutant; /* name(s) of harness/mutants that it kills, or NULL */
    const char *needs;  /* NULL, or words: see "What a case may need" */
    uint32_t transports;
    uint32_t tags;
    uint32_t timeout_ms; /* 0: 20 000. Scaled; a hang, not a time limit */
    int dies_by;         /* 0, or the signal that must end the process ... */
    const char *marker;  /* ... after this marker was reached */
    /* Filled in by CONFORM_CASE. */
    const char *file;
    int line;
    void (*run)(void);
};

void conform_register(const struct conform_case *declared);

/*
 * CONFORM_CASE(name, .id = "...", ...) { body }
 * Two cases with one id are refused by --list.
 */
#define CONFORM_CASE(name, ...)                                            \
    static void name(void);                                                \
    __attribute__((constructor)) static void name##_register(void)         \
    {                                                                      \
        static const struct conform_case declared = {                      \
            .file = __FILE__, .line = __LINE__, .run = name, __VA_ARGS__}; \
        conform_register(&declared);                                       \
    }                                                                      \
    static void name(void)

/* ---- The run ----------------------------------------------------------- */

/* CONFORM_PIPE, CONFORM_RING or 0: the transport of this run. */
uint32_t conform_transport(void);

/*
 * How often: `core` normally, `nightly` under --effort nightly, a sixteenth of
 * `core` in a survey.
 */
uint32_t conform_rounds(uint32_t core, uint32_t nightly);

/* The path of the artifact, as given by --impl; NULL when linked without. */
const char *conform_impl_path(void);

/* A number below bound (> 0) from the seed in the report. Any thread. */
uint64_t conform_random(uint64_t bound);

/* Records that the body came this far; survives the process. */
void conform_marker(const char *name);

/* Adds a line of evidence to the report. Main thread. */
void conform_evidence(const char *key, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* End the case without judging, with a reason. Any thread, do not return. */
__attribute__((noreturn, format(printf, 1, 2))) void
conform_skip(const char *format, ...);
__attribute__((noreturn, format(printf, 1, 2))) void
conform_out_of_reach(const char *format, ...);
__attribute__((noreturn, format(printf, 1, 2))) void
conform_broken(const char *format, ...); /* a harness resource failed */

/* ---- Time: bounds of patience, never a verdict by the clock ------------ */

/* Monotonic nanoseconds. */
uint64_t conform_now_ns(void);

/*
 * How long this machine may take over something that should take no time:
 * a generous multiple of a wake-up latency measured in this process, and
 * scaled by --timeout-scale. At least 50 ms. Recorded as evidence.
 */
uint64_t conform_noise_ns(void);

/* Scaled patience for "must happen", 5 s by default; then the check fails. */
uint64_t conform_patience_ns(void);

/*
 * Polls `ready(argument)` with short pauses until true (returns true) or
 * patience has run out (false).
 */
bool conform_eventually(bool (*ready)(void *), void *argument);

/* ---- Checks ------------------------------------------------------------ */

/*
 * Each counts as one executed check, evaluates its arguments once and names
 * expected before actual. A failed check ends the case: on the main thread
 * through Check's own unwinding, on another thread by ending the process; the
 * page says which check either way. `...` is a printf format that says what is
 * being checked, with its arguments; required.
 */
#define expect(condition, ...)                                        \
    conform_check_true(!!(condition), #condition, __FILE__, __LINE__, \
                       __VA_ARGS__)
#define expect_i64(expected, actual, ...)                              \
    conform_check_i64((int64_t)(expected), (int64_t)(actual), #actual, \
                      __FILE__, __LINE__, __VA_ARGS__)
#define expect_u64(expected, actual, ...)                                \
    conform_check_u64((uint64_t)(expected), (uint64_t)(actual), #actual, \
                      __FILE__, __LINE__, __VA_ARGS__)
#define expect_u64_at_most(bound, actual, ...)                            \
    conform_check_at_most((uint64_t)(bound), (uint64_t)(actual), #actual, \
                          __FILE__, __LINE__, __VA_ARGS__)
#define expect_u64_at_least(bound, actual, ...)                            \
    conform_check_at_least((uint64_t)(bound), (uint64_t)(actual), #actual, \
                           __FILE__, __LINE__, __VA_ARGS__)
#define expect_ptr(expected, actual, ...)                               \
    conform_check_ptr((const void *)(expected), (const void *)(actual), \
                      #actual, __FILE__, __LINE__, __VA_ARGS__)
/* A status code; printed by name. */
#define expect_code(expected, actual, ...)                                \
    conform_check_code((expected), (actual), #actual, __FILE__, __LINE__, \
                       __VA_ARGS__)
#define expect_bytes(expected, expected_len, actual, actual_len, ...)       \
    conform_check_bytes((expected), (expected_len), (actual), (actual_len), \
                        #actual, __FILE__, __LINE__, __VA_ARGS__)
/* Texts by pointer and length; `how` is one of enum conform_match. */
#define expect_text(how, text, actual, actual_len, ...)                \
    conform_check_text((how), (text), (actual), (actual_len), #actual, \
                       __FILE__, __LINE__, __VA_ARGS__)
/* Fails always. */
#define expect_unreachable(...) \
    conform_check_true(false, "unreachable", __FILE__, __LINE__, __VA_ARGS__)

enum conform_match { TEXT_IS, TEXT_BEGINS, TEXT_CONTAINS, TEXT_LACKS };

#define CONFORM_PRINTF(n) __attribute__((format(printf, n, n + 1)))
void conform_check_true(bool, const char *, const char *, int, const char *,
                        ...) CONFORM_PRINTF(5);
void conform_check_i64(int64_t, int64_t, const char *, const char *, int,
                       const char *, ...) CONFORM_PRINTF(6);
void conform_check_u64(uint64_t, uint64_t, const char *, const char *, int,
                       const char *, ...) CONFORM_PRINTF(6);
void conform_check_at_most(uint64_t, uint64_t, const char *, const char *, int,
                           const char *, ...) CONFORM_PRINTF(6);
void conform_check_at_least(uint64_t, uint64_t, const char *, const char *, int,
                            const char *, ...) CONFORM_PRINTF(6);
void conform_check_ptr(const void *, const void *, const char *, const char *,
                       int, const char *, ...) CONFORM_PRINTF(6);
void conform_check_code(int32_t, int32_t, const char *, const char *, int,
                        const char *, ...) CONFORM_PRINTF(6);
void conform_check_bytes(const void *, size_t, const void *, size_t,
                         const char *, const char *, int, const char *, ...)
    CONFORM_PRINTF(8);
void conform_check_text(enum conform_match, const char *, const void *, size_t,
                        const char *, const char *, int, const char *, ...)
    CONFORM_PRINTF(8);

/* "FFI_OK" ... or "code N". */
const char *conform_code_name(int32_t code);

/* ---- Statuses and outcomes --------------------------------------------- */

/*
 * What a job or a refused call ended with, copied out of library memory: the
 * library's own memory is given back before the helper returns. `bytes`, `msg`
 * and `file` live until the case ends (harness memory, never NULL-terminated by
 * contract but followed by a NUL byte here); bytes is NULL when there are none.
 */
struct outcome {
    int32_t code;
    uint64_t ticket;
    bool inlined;      /* delivered in the record, no take was made */
    uint64_t id;       /* as take returned it, bit 63 included; already freed */
    uintptr_t address; /* of the taken bytes in library memory */
    uint8_t *bytes;
    size_t len;
    char *msg;
    size_t msg_len;
    bool has_file; /* file was not NULL */
    char *file;
    size_t file_len;
    uint32_t line;
};

/*
 * Checks i1.code-equals-return and, for FFI_OK, that the status is all clear
 * [i1.status-reset], for a failure that the message is not empty and valid
 * UTF-8; then copies and frees it. Use after every call that has a status:
 *     FfiStatus status = conform_dirty_status();
 *     struct outcome o = conform_settle(api.take(..., &status), &status);
 */
struct outcome conform_settle(int32_t code, FfiStatus *status);

/* A status full of junk: the callee must overwrite it without freeing. */
FfiStatus conform_dirty_status(void);

/* ---- The host: one handle, its pipe, its ring, its reader -------------- */

struct completion {
    uint64_t ticket; /* without the record flag */
    bool inlined;
    uint64_t len; /* of an inline result */
    uint8_t bytes[GUSSET_INLINE_RESULT_MAX];
    bool from_ring;
};

/* The reader's side of a ring, as i4.ring-reader has it. */
struct conform_ring {
    const GussetRing *ring;
    uint8_t *shared;
    uint8_t *slots;
    uint64_t capacity;
    uint64_t position;
    uint64_t overflow_seen;
    uint64_t announced; /* times ring_announce set `waiting` */
};

/*
 * All host_ functions fail the case when the call they make is not FFI_OK.
 * A host keeps a ledger: each ticket accepted through it must be seen as
 * exactly one completion by the time host_close returns [i4.exactly-once].
 * host_submit* may be called from several threads, the reading functions from
 * one thread at a time.
 */
struct host;

/* Opens on a new pipe; attaches a ring when the transport is CONFORM_RING. */
struct host *host_open(uint32_t pool);
/* The same with a fixed transport (CONFORM_PIPE or CONFORM_RING). */
struct host *host_open_with(uint32_t pool, uint32_t transport);
/* Attaches a ring now (to a host opened with CONFORM_PIPE). */
void host_attach_ring(struct host *host);

GussetHandle *host_handle(struct host *host);
int host_read_fd(struct host *host);
int host_write_fd(struct host *host);              /* owned by the library */
struct conform_ring *host_ring(struct host *host); /* NULL without one */

/* flags: GUSSET_FLAG_...; the diagnostic engine's mode is input[0]. */
uint64_t host_submit(struct host *host, uint32_t flags, const void *input,
                     size_t len);
uint64_t host_submit_header(struct host *host, const CallHeader *header,
                            const void *input, size_t len);
uint64_t host_submit_buffer(struct host *host, const CallHeader *header,
                            uint64_t buffer_id);
/* Tries once; an accepted ticket goes into the ledger (code FFI_OK). */
struct outcome host_try_submit(struct host *host, const CallHeader *header,
                               const void *input, size_t len,
                               uint64_t buffer_id);
/*
 * For a case that submits or reads by hand on a host's handle: the ticket of
 * its own submit, or a completion that it read itself, goes into the ledger.
 */
void host_adopt(struct host *host, uint64_t ticket);
void host_book(struct host *host, const struct completion *completion);
/* Retries while the refusal's text contains `full`, within patience. */
uint64_t host_submit_patiently(struct host *host, const CallHeader *header,
                               const void *input, size_t len);

/*
 * host_next waits (patience, then the check fails) for the next completion
 * from pipe or ring and books it in the ledger: an unknown ticket or a second
 * completion fails the case. host_poll does not wait.
 */
struct completion host_next(struct host *host);
bool host_poll(struct host *host, struct completion *completion);
/* Reads on until this ticket's completion was seen; keeps the others. */
struct completion host_wait(struct host *host, uint64_t ticket);

/* take; a failure that is the job's own is an outcome, not a failed check. */
struct outcome host_take(struct host *host, uint64_t ticket);
/* The completion's inline bytes, or host_take. */
struct outcome host_outcome(struct host *host, const struct completion *done);
/* Submit, wait for it, take: one whole job. */
struct outcome host_call(struct host *host, uint32_t flags, const void *input,
                         size_t len);
struct outcome host_call_header(struct host *host, const CallHeader *header,
                                const void *input, size_t len);

/* A buffer filled with `len` bytes (NULL: zeros as made). Returns its id. */
uint64_t host_buffer(struct host *host, const void *bytes, size_t len,
                     uint8_t **address);
void host_buffer_free(struct host *host, uint64_t id);

/*
 * Reads all completions that are still owed, closes (must be FFI_OK), checks
 * EOF, drains the ring, checks the ledger, releases the ring, closes the read
 * end. Results nobody took are the library's to free.
 */
void host_close(struct host *host);
/*
 * Only for cases that close by hand: frees the helper, calls nothing, closes
 * nothing: the read end and the ring are the case's to give back.
 */
void host_forget(struct host *host);

/* Expects: echo works on a new handle; the firewall held
 * [i2.poison-per-handle]. */
void conform_fresh_handle_works(void);

/* ---- The ring, by hand ------------------------------------------------- */

uint64_t ring_sequence(const struct conform_ring *ring, uint64_t position);
/* Next record if it is published: copies, frees the slot, advances. */
bool ring_read(struct conform_ring *ring, struct completion *completion);
/* C and D of i4.ring-wake: true = may park; false = a record is there. */
bool ring_announce(struct conform_ring *ring);
/* Exchanges waiting with 0; returns what it was. */
uint32_t ring_retract(struct conform_ring *ring);
uint64_t ring_overflow(const struct conform_ring *ring);

/* ---- The pipe, by hand ------------------------------------------------- */

/*
 * Reads one record (blocking up to patience): 0 end of file, 1 a completion,
 * 2 a token. A torn or oversized record fails the case [i4.pipe-record].
 */
int pipe_read_record(int fd, struct completion *completion);
/* Bytes that wait in the pipe. */
size_t pipe_pending(int fd);

/* ---- Threads of the host ----------------------------------------------- */

typedef void (*conform_thread_body)(void *argument);
struct conform_thread;
/* stack_bytes 0: the default. Join is required. */
struct conform_thread *conform_thread_start(conform_thread_body body,
                                            void *argument, size_t stack_bytes);
void conform_thread_join(struct conform_thread *thread);

/* A barrier for n threads, so that a race starts together. */
struct conform_barrier;
struct conform_barrier *conform_barrier_new(uint32_t threads);
void conform_barrier_wait(struct conform_barrier *barrier);
void conform_barrier_free(struct conform_barrier *barrier);

/*
 * The wait status of a forked child. One that does not end within patience is
 * killed, and the case fails. Main thread.
 */
int conform_reap(int32_t child, const char *what);

/* ---- Fenced memory ----------------------------------------------------- */

/* len bytes that end flush against an inaccessible page; 8-byte aligned when
 * len is a multiple of 8. */
void *conform_fence(size_t len);
/* Makes the block inaccessible: any later touch is a SIGSEGV. */
void conform_fence_revoke(void *block);
void conform_fence_free(void *block);

/* ---- Census ------------------------------------------------------------ */

struct conform_census {
    uint32_t fds;
    uint32_t threads;
    uint64_t mapped_bytes; /* outside the brk heap */
    uint64_t live_bytes;   /* by gusset_alloc_stats */
};
/* Now; threads are given up to 5 s to settle at `threads` when not 0. */
struct conform_census conform_census_now(uint32_t settle_at_threads);
/* Thread ids of the process that are not the host's own, into ids[cap]. */
uint32_t conform_library_threads(int32_t *ids, uint32_t cap);

/*
 * What loading the subject changed in the process's state (dispositions, mask,
 * alternate stack, umask, directory, locale, environment, timers, limits), in
 * words; empty: nothing. Lives until the process ends.
 */
const char *conform_load_changes(void);

/* ---- Logs -------------------------------------------------------------- */

/* Drains the log; returns it as one text (lives until the case ends). */
const char *conform_drain_log(void);

/* ---- Claims ------------------------------------------------------------ */

/*
 * What the implementation declares of itself in the claims file (--claims):
 * the value of a key of harness/README.md, "Claims", or NULL when it is silent.
 * The structured ones, needed and symbol_versions, come as JSON here. A case
 * that judges a claim declares .needs = "claim:KEY". Any thread.
 */
const char *conform_claim(const char *key);
/* True when the key is claimed, with this value. */
bool conform_claims(const char *key, const char *value);
/*
 * Items of `needed` (library names) and of `symbol_versions` (item: the name of
 * a version, value: the highest one). Count is 0 when silent: ask conform_claim
 * first. NULL past the end. Main thread.
 */
size_t conform_claim_count(const char *key);
const char *conform_claim_item(const char *key, size_t i);
const char *conform_claim_value(const char *key, size_t i);

/* ---- Small helpers for inputs ------------------------------------------ */

void put_u32le(uint8_t *at, uint32_t value);
void put_u64le(uint8_t *at, uint64_t value);
uint32_t get_u32le(const uint8_t *at);
uint64_t get_u64le(const uint8_t *at);
/* len bytes of a pattern that depends on seed; lives until the case ends. */
uint8_t *conform_pattern(size_t len, uint8_t first, uint64_t seed);

#define DIAGNOSTIC GUSSET_FLAG_DIAGNOSTIC_ENGINE
#define INLINE GUSSET_FLAG_INLINE_COMPLETION

/* ---- What a case may need ---------------------------------------------- */

/*
 * Words of .needs, separated by blanks; a case whose subject lacks one is
 * OUT-OF-REACH:
 *   engine       the subject has the gse_ functions of gusset_engine.h
 *   test-engine  opcode 0x47540001 of docs/contract.md, section 4, is
 *                registered (harness/engine); cases/engine/engine.h helps
 *   claim:KEY    the claims file speaks about KEY
 */

/* ---- The reference's engine API, where the subject offers it ----------- */

/* True when the subject has the gse_ functions (gusset_engine.h). A case that
 * uses them declares .needs = "engine" and is OUT-OF-REACH without. */
bool conform_engine_present(void);

#endif /* CONFORM_H */
