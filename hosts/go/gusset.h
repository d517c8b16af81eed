/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * gusset.h - the Gusset runtime contract in C, ABI version 2.
 *
 * A host (Go, C, Python) submits units of work to an engine (Rust, C, C++)
 * that runs on the library's own threads in the same process. This header is
 * the whole of what the two sides share: 4 structs, their constants and 17
 * functions. The normative text is docs/contract.md; the names in brackets
 * are its clauses.
 *
 * Words used below:
 *   refuse    return a code other than FFI_OK at once, change nothing.
 *   status    every function that takes an FfiStatus overwrites it on entry
 *             without freeing what was there [i1.status-reset], and returns
 *             the code that it stores [i1.code-equals-return]. NULL is legal
 *             and never changes the code [i1.null-status-same-code].
 *   threads   no function depends on which thread calls it
 *             [i5.no-thread-identity] and none calls back into the host.
 *   blocking  no function waits for a job, except gusset_shutdown and
 *             gusset_handle_close within their budgets, and gusset_init or
 *             gusset_shutdown for a shutdown that is in progress.
 *
 * Out-parameters are written only when FFI_OK is returned [i1.out-only-on-ok].
 * A NULL where a pointer is required is FFI_BAD_ARG and consumes nothing.
 */
#ifndef GUSSET_H
#define GUSSET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GUSSET_ABI_VERSION 2

/* Status codes: what every int32_t function returns. */
#define FFI_OK 0       /* done */
#define FFI_ERR 1      /* refused, or the job failed; the message says why */
#define FFI_PANIC 2    /* the engine panicked; the handle is poisoned */
#define FFI_POISONED 3 /* an earlier panic: the handle takes no new work */
#define FFI_BAD_ARG 4  /* a NULL or senseless argument; nothing consumed */

/* Bits of CallHeader.flags. All others are reserved and refused. */
#define GUSSET_FLAG_DIAGNOSTIC_ENGINE 1u /* run the built-in test engine */
#define GUSSET_FLAG_INLINE_COMPLETION 2u /* a small result may come inline */

/* Limits. */
#define GUSSET_MAX_POOL_SIZE 1024           /* workers of one handle */
#define GUSSET_DEFAULT_POOL_SIZE 4          /* what pool_size 0 means */
#define GUSSET_MAX_INLINE_INPUT 4096        /* bytes of input_ptr input */
#define GUSSET_MAX_BUFFER_BYTES 1073741824u /* bytes of one buffer, 2^30 */
#define GUSSET_BUFFER_ALIGNMENT 64          /* bytes */

/*
 * Bit 63 of the id that gusset_take returns: the id below it is the result's
 * own buffer. Clear the bit before gusset_buf_free [i1.take-large].
 */
#define GUSSET_TAKE_OWNED_FLAG UINT64_C(0x8000000000000000)

/*
 * Completion records, in the pipe and in a ring slot [i4.pipe-record]: u64
 * words in native byte order. A bare record is the ticket. An inline record
 * is the ticket with GUSSET_INLINE_RECORD_FLAG, the length, then the bytes
 * zero-padded to a multiple of 8. A record of 0 is a wake token: skip it.
 */
#define GUSSET_INLINE_RECORD_FLAG UINT64_C(0x8000000000000000)
#define GUSSET_INLINE_RESULT_MAX 48 /* bytes of result in a record */
#define GUSSET_INLINE_RECORD_MAX 64 /* bytes of a whole record */

/* Offsets in bytes from GussetRing (the header) and from a slot. */
#define GUSSET_RING_OFF_CAPACITY 0    /* u64, slots, a power of two */
#define GUSSET_RING_OFF_SLOT_BYTES 8  /* u64, GUSSET_RING_SLOT_BYTES */
#define GUSSET_RING_OFF_WAITING 64    /* u32, atomic [i4.ring-wake] */
#define GUSSET_RING_OFF_OVERFLOW 128  /* u64, atomic [i4.ring-overflow] */
#define GUSSET_RING_SLOT_BYTES 128    /* stride of the slots */
#define GUSSET_RING_SLOT_OFF_RECORD 8 /* record; the sequence word is at 0 */

/*
 * What a submission carries besides its input. Copied before gusset_submit
 * returns [i1.input-copied]; the engine sees it byte for byte
 * [i4.header-verbatim]. All zeros is a valid header.
 */
typedef struct CallHeader {
    uint8_t trace_id[16]; /* all zero: absent */
    uint8_t span_id[8];   /* all zero: absent */
    uint64_t timeout_ns;  /* relative to the submission; 0: no deadline */
    uint32_t flags;       /* GUSSET_FLAG_... */
    uint32_t reserved;    /* the opcode; 0: the global engine */
} CallHeader;

/*
 * What a call reports besides its code. The host owns the struct, the
 * library owns msg: give it back with gusset_status_free. The text is UTF-8
 * and not NUL-terminated; it may contain NUL [i2.nul-safe]. file is static
 * memory of the library or engine, set only for a panic whose place is known
 * [i2.location-only-on-panic]; never free it [i1.file-is-static].
 */
typedef struct FfiStatus {
    int32_t code;        /* FFI_... */
    uint8_t *msg;        /* NULL when there is no message */
    size_t msg_len;      /* bytes */
    const uint8_t *file; /* source of a panic, or NULL */
    size_t file_len;     /* bytes */
    uint32_t line;       /* 1-based; 0: unknown */
} FfiStatus;

/*
 * The library's own view of the four structs, in the order CallHeader,
 * FfiStatus, AbiLayout, AllocStats. It will never grow [i6.old-caller].
 */
typedef struct AbiLayout {
    uint32_t version;   /* GUSSET_ABI_VERSION */
    uint32_t sizes[4];  /* bytes */
    uint32_t aligns[4]; /* bytes */
} AbiLayout;

/* Memory that the library holds for all handles of the process. */
typedef struct AllocStats {
    uint64_t live_bytes;  /* held now */
    uint64_t peak_bytes;  /* most ever held; live_bytes <= peak_bytes */
    uint64_t alloc_count; /* allocations ever made */
} AllocStats;

/* An open handle: one worker pool, one completion pipe. Opaque. */
typedef struct GussetHandle GussetHandle;

/* A completion ring in memory shared by workers and one reader. Opaque. */
typedef struct GussetRing GussetRing;

/*
 * gusset_abi_layout writes the 36 bytes of *out. NULL: does nothing. Never
 * blocks; legal from any thread at any time [i6.layout].
 */
void gusset_abi_layout(AbiLayout *out);

/*
 * gusset_abi_fields writes the offset and size in bytes of the named fields
 * of the four structs, in declaration order, at most cap entries to each
 * array that is not NULL. Returns their number, 17. Never blocks; legal from
 * any thread at any time [i6.fields].
 */
uint32_t gusset_abi_fields(uint32_t *offsets, uint32_t *sizes, uint32_t cap);

/*
 * gusset_init re-arms a process after gusset_shutdown. Optional before the
 * first open, idempotent, from any thread. Blocks only while a shutdown is in
 * progress. FFI_OK; FFI_PANIC if something in it panicked
 * [l.init-idempotent].
 */
int32_t gusset_init(void);

/*
 * gusset_shutdown refuses new submissions on every handle of the process
 * until gusset_init, cancels all queued and running jobs and waits for them,
 * drain_ms milliseconds at most, counted from when earlier shutdowns and
 * inits are done. FFI_OK: nothing is left in flight. FFI_ERR: something is,
 * and the log has a line with the number. Handles stay open: take, cancel,
 * buf_alloc, buf_free, handle_ring and close go on working [l.shutdown-*].
 */
int32_t gusset_shutdown(uint32_t drain_ms);

/*
 * gusset_handle_open starts pool_size workers (0: GUSSET_DEFAULT_POOL_SIZE;
 * over GUSSET_MAX_POOL_SIZE: refused) that report completions to
 * pipe_write_fd, the write end of a pipe. On FFI_OK the library owns that
 * descriptor: it makes it non-blocking and closes it at the end of close. On
 * failure the descriptor is as it was, though its capacity may have grown
 * [i4.open-refusal-clean]. *out_handle is the handle, for
 * gusset_handle_close. May take as long as starting the threads does.
 */
int32_t gusset_handle_open(uint32_t pool_size, int32_t pipe_write_fd,
                           GussetHandle **out_handle, FfiStatus *status);

/*
 * gusset_handle_close cancels the handle's jobs, joins its workers, frees all
 * that the handle still owned (results not taken, buffers, taken pointers)
 * and closes the pipe's write end. No other call on the handle may be running
 * or follow, whatever it returns [i1.close-consumes]. Blocks while an engine
 * does not return, 30 s at most; then FFI_ERR, and the memory stays valid
 * until the last worker ends [l.close-budget]. Messages and the ring outlive
 * it. NULL: FFI_BAD_ARG.
 */
int32_t gusset_handle_close(GussetHandle *handle, FfiStatus *status);

/*
 * gusset_handle_ring attaches a completion ring to the handle, once; a second
 * call is FFI_ERR. *out_ring is the ring, for gusset_ring_release;
 * *out_shared its header (64-byte aligned), *out_slots its slots (128-byte
 * aligned), *out_capacity their number. The memory is writable, the const
 * notwithstanding: the reader stores sequence words and `waiting`. The
 * reader's protocol is i4.ring-record, i4.ring-wake and i4.ring-reader of
 * docs/contract.md. Never blocks; legal also while jobs run, on a poisoned
 * handle and during a shutdown.
 */
int32_t gusset_handle_ring(GussetHandle *handle, const GussetRing **out_ring,
                           const uint8_t **out_shared,
                           const uint8_t **out_slots, uint64_t *out_capacity,
                           FfiStatus *status);

/*
 * gusset_ring_release gives the ring's memory back, once, after its reader
 * has stopped; before or after gusset_handle_close. NULL: does nothing
 * [i4.ring-outlives-close].
 */
void gusset_ring_release(const GussetRing *ring);

/*
 * gusset_submit queues one unit of work and never blocks: a full queue is
 * refused with FFI_ERR [i4.full-refuses]. buffer_id != 0: the input is that
 * buffer, input_ptr and input_len are ignored. Else the input is input_len
 * bytes at input_ptr, at most GUSSET_MAX_INLINE_INPUT, copied before return;
 * NULL with 0 is empty. *out_ticket names the job for take and cancel; its
 * completion may be readable before it is written [i4.completion-order].
 * Refused: NULL handle, header or out_ticket; a poisoned handle
 * (FFI_POISONED); a shutdown; unknown flags; an unknown buffer.
 */
int32_t gusset_submit(GussetHandle *handle, const CallHeader *header,
                      const uint8_t *input_ptr, size_t input_len,
                      uint64_t buffer_id, uint64_t *out_ticket,
                      FfiStatus *status);

/*
 * gusset_take moves the result of a completed job out, exactly once
 * [i1.take-once]. FFI_OK: *out_ptr and *out_len are the bytes (64-byte
 * aligned), valid until gusset_buf_free of *out_buf_id without
 * GUSSET_TAKE_OWNED_FLAG, or until close; an empty result is id 0, NULL, 0.
 * FFI_ERR or FFI_PANIC may be the job's own end, which consumes the ticket
 * too; a ticket that is unknown, still running, taken, or was delivered
 * inline is FFI_ERR `ticket N not found or already taken`. Never blocks.
 * Works on a poisoned handle and during a shutdown.
 */
int32_t gusset_take(GussetHandle *handle, uint64_t ticket, uint64_t *out_buf_id,
                    uint8_t **out_ptr, size_t *out_len, FfiStatus *status);

/*
 * gusset_cancel asks the job to stop at its next check; a queued job never
 * starts. Any other ticket is a no-op, FFI_OK [i3.cancel-harmless]. The job
 * still completes, once. Never blocks.
 */
int32_t gusset_cancel(GussetHandle *handle, uint64_t ticket, FfiStatus *status);

/*
 * gusset_cancel_all cancels every job of the handle that is queued or
 * running, and none that is submitted later [i3.cancel-all]. Never blocks.
 */
int32_t gusset_cancel_all(GussetHandle *handle, FfiStatus *status);

/*
 * gusset_status_free gives status->msg back and sets msg NULL and msg_len 0;
 * the other fields stay. NULL, a zeroed status and one already freed are
 * no-ops [i1.status-owned]. Legal after close.
 */
void gusset_status_free(FfiStatus *status);

/*
 * gusset_alloc_stats writes the counters of the process to *out. NULL: does
 * nothing. Allocates nothing, never blocks, legal from any thread at any time
 * [l.stats-algebra].
 */
void gusset_alloc_stats(AllocStats *out);

/*
 * gusset_drain_logs moves as many whole log lines as fit into buf, oldest
 * first, each ended by a newline, and stores their bytes in *out_written;
 * 0: the log is empty. A line longer than len is split on a character
 * boundary. NULL buf or len 0: writes 0. NULL out_written: does nothing and
 * removes nothing. The log is process-wide and at most 65 536 bytes
 * [l.log-*].
 */
void gusset_drain_logs(uint8_t *buf, size_t len, size_t *out_written);

/*
 * gusset_buf_alloc makes a buffer of len zero bytes, 64-byte aligned. The
 * host writes and reads *out_ptr until gusset_buf_free of *out_id or close,
 * but does not write it while it is the input of a job. Length 0 and lengths
 * over GUSSET_MAX_BUFFER_BYTES are refused, as is a poisoned handle
 * (FFI_POISONED). Ids never repeat in the process [i1.ids-unique].
 */
int32_t gusset_buf_alloc(GussetHandle *handle, size_t len, uint64_t *out_id,
                         uint8_t **out_ptr, FfiStatus *status);

/*
 * gusset_buf_free frees a buffer from gusset_buf_alloc or gusset_take (id
 * without GUSSET_TAKE_OWNED_FLAG). An unknown, freed or foreign id is FFI_OK
 * and frees nothing. A job that still reads the buffer goes on reading the
 * right bytes [i1.free-under-job]. Never blocks.
 */
int32_t gusset_buf_free(GussetHandle *handle, uint64_t id, FfiStatus *status);

#ifdef __cplusplus
}
#endif

#endif /* GUSSET_H */
