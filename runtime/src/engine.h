/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * engine.h - the registry of handlers, and the call that a handler sees.
 */
#ifndef GST_ENGINE_H
#define GST_ENGINE_H

#include <stdbool.h>

#include "export.h"
#include "firewall.h"
#include "job.h"

struct GussetHandle;

#define GST_MAX_OPCODES 1024 /* handlers by opcode, process-wide */

struct gst__handler {
    gse_handler call; /* NULL: none */
    void *user;
};

/* Opcode 0: the global handler. Lock-free unless the registry is changing. */
struct gst__handler gst__engine_find(uint32_t opcode);

/* Why a job was told to stop. */
enum gst__reason { GST_GO_ON, GST_EXPLICIT, GST_SHUTDOWN, GST_DEADLINE };

enum gst__output {
    GST_OUTPUT_NONE,
    GST_OUTPUT_SMALL,  /* small, small_len */
    GST_OUTPUT_BUFFER, /* buffer, owned by the call */
    GST_OUTPUT_ID      /* id, judged when the handler returns */
};

struct gse_call {
    struct GussetHandle *handle;
    struct gst__slot *slot;
    struct gst__handler handler;
    int32_t returned;
    enum gst__reason stopped; /* what the last failing check said */
    enum gst__output output;
    bool twice; /* two outputs were set */
    bool failed_text;
    bool panicked; /* reported by gse_output_panic */
    uint32_t small_len;
    uint8_t small[GUSSET_INLINE_RESULT_MAX];
    struct gst__buffer *buffer;
    uint64_t output_id;
    struct gst__text text;
    struct gst__place place;
};

/* Frees whatever outputs the call still owns. */
void gst__call_drop(gse_call *call);

/* What a check of this job says now [i3.*]. */
enum gst__reason gst__job_reason(struct GussetHandle *handle,
                                 struct gst__slot *slot);

/* For fork: the registry is whole between these two. */
void gst__engine_lock(void);
void gst__engine_unlock(void);

#endif
