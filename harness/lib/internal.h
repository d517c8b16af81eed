/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * internal.h - what the files of harness/lib share and a case does not see.
 */
#ifndef CONFORM_INTERNAL_H
#define CONFORM_INTERNAL_H

#include <stdarg.h>
#include <stdio.h>

#include "conform.h"
#include "page.h"
#include "sanitizer.h"

/* A failed check on a thread that is not the main one ends the process so. */
#define CONFORM_EXIT_FAILED_ASIDE 97
#define CONFORM_EXIT_USAGE 2
#define CONFORM_EXIT_OWN_BUG 70

/* ---- The run (main.c) -------------------------------------------------- */

enum conform_effort {
    CONFORM_EFFORT_NORMAL,
    CONFORM_EFFORT_SURVEY,
    CONFORM_EFFORT_NIGHTLY,
};

/* Set once by main before the case starts; read by everybody. */
struct conform_run {
    const struct conform_case *declared;
    const char *impl;        /* --impl, or NULL */
    const char *test_engine; /* --test-engine, or NULL */
    uint64_t seed;
    double timeout_scale;
    uint32_t transport;
    enum conform_effort effort;
    bool foreground; /* no page: outcome on the terminal */
};
extern struct conform_run conform_run;

/* ---- The registry (registry.c) ----------------------------------------- */

/* One runnable: a case on one transport. */
struct conform_entry {
    const struct conform_case *declared;
    uint32_t transport;
};

/*
 * All runnables, sorted by id. Complains on stderr and returns false when a
 * declaration is unsound (duplicate id, id without its clause, ...).
 */
bool conform_registry(const struct conform_entry **entries, size_t *count);

/* Writes the id with its transport suffix. */
void conform_entry_id(const struct conform_entry *entry, char *text,
                      size_t cap);

/* Prints the JSON lines of --list. */
void conform_list(const struct conform_entry *entries, size_t count);

/* "SIGSEGV" ..., or NULL for a number without a name here. */
const char *conform_signal_name(int number);

/* ---- The page (page.c) ------------------------------------------------- */

/* Never NULL once the run has begun: the file, or private memory. */
extern struct conform_page *conform_page;

/* Maps the page; false with one line on stderr when it cannot be used. */
bool conform_page_map(const char *path);
/* Private memory in place of the file, for a run without --page. */
bool conform_page_private(void);
void conform_page_phase(enum conform_phase phase);
/* True once in the process: the caller may write the failure fields. */
bool conform_page_claim(void);
/* Stores the outcome, visible after everything written before. */
void conform_page_outcome(enum conform_outcome outcome);
enum conform_outcome conform_page_outcome_now(void);
void conform_page_count_check(void);
/* Copies text into a field of the page, cut to fit. */
void conform_page_text(char *field, size_t cap, const char *text);
/* True in a child made by fork: it must not write the page. */
bool conform_in_child(void);

/* ---- The runner (runner.c) --------------------------------------------- */

/* Runs the case through Check and fills the page; returns when it is over. */
void conform_run_case(void);

/*
 * Leaves the case after the page has been written: unwinds to the runner on
 * the main thread, ends the process on any other.
 */
__attribute__((noreturn)) void conform_leave_case(void);
/* The page as text on standard output; returns the exit code for it. */
int conform_show(void);
/* For the thread that lost the race to fail: waits for the process's end. */
__attribute__((noreturn)) void conform_wait_for_the_end(void);

/* One open/echo/take/ring/close by raw calls, so that caches are warm. */
void conform_warm_up(void);

/* ---- The subject (subject_dlopen.c, subject_linked.c, subject_none.c) -- */

/* True when the program can only run with --impl. */
bool conform_subject_wants_path(void);
/* True when there is an implementation to call at all. */
bool conform_subject_present(void);
/* Fills `api`; ends the case when the implementation cannot be used. */
void conform_subject_load(const char *path);
/* Records the build id of the image in which `api` lies (image.c). */
void conform_image_evidence(void);
/* Address of the subject's gse_NAME, or NULL (engine_forward.c). */
void *conform_subject_symbol(const char *name);

/* ---- The test engine (test_engine.c; found by subject_*.c) ------------- */

struct conform_test_engine {
    int32_t (*start)(void); /* its gte_register; NULL: there is none */
    const char *from;       /* whose it is, for people */
};
/* That of --test-engine (path), else the subject's own, else the harness's
 * where the subject has the gse_ API. Ends the case when path is no good. */
struct conform_test_engine conform_test_engine_find(const char *path);
/* Finds and registers it, or ends the case; before the first submit. */
void conform_test_engine_start(void);
/* True when the case's .needs has this word. */
bool conform_needs(const struct conform_case *declared, const char *word);

/* ---- Memory that lives until the case ends (memory.c) ------------------ */

/* Zeroed, 16-byte aligned, never NULL, any thread; nothing is given back. */
void *conform_allocate(size_t bytes);
/* A copy of len bytes, followed by a NUL. */
void *conform_copy(const void *bytes, size_t len);
/* Reserves the address range, so that using it never changes the census. */
void conform_memory_reserve(void);
/* Bytes of that range. */
size_t conform_memory_reserved(void);

/* ---- Clock and noise (clock.c) ----------------------------------------- */

/* Measures the wake-up latency; before the first census. */
void conform_calibrate(void);
/* Nanoseconds from now on, for poll(2), rounded up; 0 when past. */
int conform_poll_ms(uint64_t deadline_ns);
/* A pause of a polling loop: `turn` counts the turns so far. */
void conform_pause(uint32_t turn);

/* ---- Census (census.c, census_process.c) ------------------------------- */

/* Lines in the making. */
struct census_text {
    char *bytes;
    size_t cap;
    size_t len;
    bool cut;
};
void census_line(struct census_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Control characters of a name that the system gave become `?`. */
void census_clean(char *text);
/* Facts that /proc does not list by number: signals, limits, locale, ... */
void census_process(struct census_text *text);
/* And those that a host notices late (census_more.c). */
void census_more(struct census_text *text);
/* Reads a file of /proc whole into buffer, NUL-terminated; false: no file. */
bool census_read(const char *path, char *buffer, size_t cap);

/* Writes the sorted census into field; returns its bytes. */
uint32_t conform_census_write(char *field, size_t cap);
/* The part of it that is the process's state: signals, mask, alternate stack,
 * umask, directory, locale, environment, timers, limits. */
uint32_t conform_state_write(char *field, size_t cap);
/* Waits up to 5 s (scaled) until the process has `threads` threads again. */
void conform_settle_threads(uint32_t threads);
uint32_t conform_thread_count(void);

/* ---- Loading (load.c) ------------------------------------------------- */

/* Notes the state before the subject's constructors run; the first call
 * counts. Then compares it with the state afterwards. */
void conform_load_note(void);
void conform_load_compare(void);

/* ---- Threads (thread.c) ------------------------------------------------ */

/* Remembers the threads that exist before the subject is loaded. */
void conform_threads_baseline(void);
/* True for a thread that the host or a sanitizer made. */
bool conform_thread_is_host(int32_t tid);
int32_t conform_tid(void);
/* True for a thread that has run its last instruction in user space: /proc
 * still lists it for a moment after it was joined. */
bool conform_thread_is_ending(int32_t tid);

/* ---- Claims (claims.c) ------------------------------------------------- */

/* Reads the claims file; ends the program with a usage error if it is bad. */
void conform_claims_load(const char *path);
/* True when the file claims engine = own. */
bool conform_claims_own_engine(void);
/*
 * Ends the case OUT-OF-REACH when it needs what the file is silent about, or an
 * engine where the implementation has its own. After that, before the warm-up.
 */
void conform_claims_begin(void);
/*
 * Before every submit of a case, with its arguments, any thread: ends the case
 * OUT-OF-REACH when, under engine = own, it asks for an engine that cannot be
 * reached. A forked child leaves a note and ends; conform_claims_heed_children,
 * before a failure is recorded and after the body, acts upon it.
 */
void conform_claims_submit_check(const CallHeader *header, const uint8_t *input,
                                 size_t input_len);
void conform_claims_heed_children(void);

/* ---- Fences (fence.c) -------------------------------------------------- */

/* Unmaps what the case left. */
void conform_fences_end(void);
/* True for an address in a fence, its inaccessible pages included. */
bool conform_fence_holds(const void *at);

/* ---- Guard (guard.c, guard_fault.c) ------------------------------------ */

/* Puts the guard between `api` and the subject; before the first census. The
 * one place where calls of a case are stood in for. */
void conform_guard_install(void);
/* Late writes, tickets out of nowhere: the case fails. After the body. */
void conform_guard_end(void);
/* A fault in guarded memory fails the case in words. Any other is none of its
 * business. */
void conform_guard_faults(void);

/* ---- Rings (ring.c) ---------------------------------------------------- */

/* Capacity and slot_bytes are as they were at attach. */
void ring_check_header(const struct conform_ring *ring);
/* And each sequence word is one that the protocol has for its slot now; only
 * for an honest reader, on its thread. */
void ring_check_words(const struct conform_ring *ring);
/* After close returned FFI_OK and the ring was drained: canaries in all of it,
 * which the library must leave alone; then its bytes as they were. */
void ring_check_untouched(const struct conform_ring *ring);

/* ---- Statuses (outcome.c) ---------------------------------------------- */

/* What conform_settle checks, giving nothing back and counting no check that
 * holds. */
void conform_status_judge(int32_t code, const FfiStatus *status);

#endif /* CONFORM_INTERNAL_H */
