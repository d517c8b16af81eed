/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * firewall.h - catches panics [i2.contained]. A panic is a longjmp to the
 * innermost gst__firewall_run of its thread; see gusset_engine.h for what it
 * may cross.
 */
#ifndef GST_FIREWALL_H
#define GST_FIREWALL_H

#include <setjmp.h>
#include <stdbool.h>

#include "status.h"
#include "text.h"

/* A caught panic. dispose frees its payload and may itself panic. */
struct gst__panic {
    struct gst__text text; /* bytes NULL: no memory for it */
    struct gst__place place;
    void (*dispose)(void *payload);
    void *payload;
};

/* One per thread that runs engines. */
struct gst__firewall {
    jmp_buf *frame; /* innermost catcher, NULL: none */
    struct gst__panic panic;
};

/* Makes and deletes the process-wide thread key. 0 or an errno. */
int gst__firewall_key_make(void);
void gst__firewall_key_delete(void);

/* The calling thread's firewall from now on; NULL: none. 0 or an errno. */
int gst__firewall_bind(struct gst__firewall *firewall);

/*
 * Calls body(argument). True: it returned. False: it panicked, and *panic is
 * the panic, to be given to gst__panic_dispose or taken apart.
 */
bool gst__firewall_run(struct gst__firewall *firewall, void (*body)(void *),
                       void *argument, struct gst__panic *panic);

/*
 * Frees a panic's text and payload. Panics from the disposal are caught and
 * disposed of in turn, a bounded number of them.
 */
void gst__panic_dispose(struct gst__firewall *firewall,
                        struct gst__panic *panic);

/*
 * Panics with a payload: text as it is (copied, repaired, capped); dispose
 * is called with payload after the panic was caught. Aborts the process if
 * the calling thread has no catcher.
 */
_Noreturn void gst__panic_payload(const char *file, uint32_t line,
                                  const void *text, size_t len,
                                  void (*dispose)(void *), void *payload);

#endif
