/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * page.h - the result page: how a case program, in any language, tells the
 * supervisor what it saw, in a way that survives its own death.
 *
 * The supervisor makes a file of sizeof(struct conform_page) zero bytes and
 * passes its path by --page. The case program maps it MAP_SHARED, checks
 * `magic`, `version` and `bytes` (filled in by the supervisor) and writes as it
 * goes; the supervisor reads it after the process has ended. Text fields are
 * UTF-8, zero-terminated, cut to fit. Integers are native-endian. Only the
 * process named by --run writes. Written by one thread, except `checks`
 * (atomic) and a failure (first one wins, see conform.h).
 *
 * Case program protocol:
 *   PROGRAM --list            one JSON object per line and case, see
 *                             harness/README.md; exit 0
 *   PROGRAM --run ID --page FILE [--impl FILE] [--claims FILE]
 *           [--seed N] [--effort survey|normal|nightly] [--timeout-scale X]
 *                             runs one case; exit 0 when it ended, whatever its
 *                             outcome; the verdict is the supervisor's
 *   PROGRAM --run ID          without --page: runs in the foreground, prints
 * the outcome, exits 0 on PASSED, 1 else (for gdb)
 */
#ifndef CONFORM_PAGE_H
#define CONFORM_PAGE_H

#include <stdint.h>

#define CONFORM_PAGE_MAGIC UINT64_C(0x3145474150465343)
#define CONFORM_PAGE_VERSION 1

/* How far the case program came; only ever rises. */
enum conform_phase {
    CONFORM_PHASE_EMPTY = 0,    /* the program never mapped the page */
    CONFORM_PHASE_MAPPED = 1,   /* mapped, loading the implementation */
    CONFORM_PHASE_BODY = 2,     /* census taken, the body runs */
    CONFORM_PHASE_RETURNED = 3, /* the body is over, second census taken */
    CONFORM_PHASE_ENDED = 4     /* the last thing written: the recorded end */
};

/* What the case itself says; the supervisor may judge otherwise. */
enum conform_outcome {
    CONFORM_OUTCOME_NONE = 0,
    CONFORM_OUTCOME_PASSED = 1,
    CONFORM_OUTCOME_FAILED = 2,       /* a check failed: see the fields below */
    CONFORM_OUTCOME_SKIPPED = 3,      /* `reason`: why it does not apply here */
    CONFORM_OUTCOME_OUT_OF_REACH = 4, /* `reason`: what the subject lacks */
    CONFORM_OUTCOME_BROKEN = 5 /* `reason`: the harness could not judge */
};

#define CONFORM_CENSUS_BYTES 131072
#define CONFORM_EVIDENCE_BYTES 32768

struct conform_page {
    uint64_t magic;   /* CONFORM_PAGE_MAGIC, by the supervisor */
    uint32_t version; /* CONFORM_PAGE_VERSION, by the supervisor */
    uint32_t bytes;   /* sizeof(struct conform_page), by the supervisor */
    uint32_t phase;   /* enum conform_phase */
    uint32_t outcome; /* enum conform_outcome */
    uint64_t checks;  /* assertions executed, passed or failed */
    uint64_t seed;    /* the seed in use */
    uint32_t line;    /* of the failed check */
    uint32_t failing; /* 0, 1 once a thread has claimed the failure fields */
    char file[256];
    char expression[512];
    char expected[1024];
    char actual[1024];
    char message[4096]; /* what the check is about, in words */
    char reason[512];
    char marker[128]; /* the last marker reached, see conform_marker */
    uint32_t census_before_bytes;
    uint32_t census_after_bytes;
    uint32_t evidence_bytes;
    uint32_t reserved;
    /*
     * A census: one line per fact, "KIND KEY\tVALUE\n", sorted. Kinds and how
     * the supervisor compares them: harness/README.md, "Census".
     */
    char census_before[CONFORM_CENSUS_BYTES];
    char census_after[CONFORM_CENSUS_BYTES];
    /* Lines of evidence, "KEY\tVALUE\n", copied into the report. */
    char evidence[CONFORM_EVIDENCE_BYTES];
};

#endif /* CONFORM_PAGE_H */
