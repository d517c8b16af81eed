/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. The thread's firewall is found through a pthread key, not a
 * thread-local variable: a `static` TLS slot would make the library
 * unloadable late, and a dynamic one is allocated by the loader, which aborts
 * for lack of memory. _setjmp does not save the signal mask (a system call).
 *
 * The text of a panic is formatted before the jump, while the engine's
 * arguments are alive.
 */
#include "firewall.h"

#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "bug.h"
#include "export.h"
#include "sync.h"

#define PREFIX "PANIC: "
/* Panics from disposals of panics that are followed before giving up. */
#define MAX_DISPOSALS 64

static pthread_key_t key;
static _Atomic bool key_made;

int
gst__firewall_key_make(void)
{
    int error = pthread_key_create(&key, NULL);

    /* Partner: the load in current. */
    if (error == 0)
        GST_STORE_RELEASE(&key_made, true);
    return error;
}

void
gst__firewall_key_delete(void)
{
    GST_STORE_RELEASE(&key_made, false);
    pthread_key_delete(key);
}

int
gst__firewall_bind(struct gst__firewall *firewall)
{
    return pthread_setspecific(key, firewall);
}

/* The firewall of this thread, which must be inside a handler. */
static struct gst__firewall *
current(const char *file, uint32_t line)
{
    struct gst__firewall *firewall = NULL;

    if (GST_LOAD_ACQUIRE(&key_made))
        firewall = pthread_getspecific(key);
    if (firewall == NULL || firewall->frame == NULL)
        gst__bug("panic outside of a handler", file == NULL ? "?" : file, line);
    return firewall;
}

bool
gst__firewall_run(struct gst__firewall *firewall, void (*body)(void *),
                  void *argument, struct gst__panic *panic)
{
    jmp_buf *const outer = firewall->frame;
    jmp_buf frame;

    if (_setjmp(frame) == 0) {
        firewall->frame = &frame;
        body(argument);
        firewall->frame = outer;
        return true;
    }
    firewall->frame = outer;
    *panic = firewall->panic;
    return false;
}

struct disposal {
    void (*dispose)(void *payload);
    void *payload;
};

static void
run_disposal(void *argument)
{
    struct disposal *disposal = argument;

    disposal->dispose(disposal->payload);
}

void
gst__panic_dispose(struct gst__firewall *firewall, struct gst__panic *panic)
{
    int round;

    for (round = 0; round < MAX_DISPOSALS; round++) {
        struct disposal disposal = {panic->dispose, panic->payload};

        gst__text_free(&panic->text);
        panic->dispose = NULL;
        if (disposal.dispose == NULL ||
            gst__firewall_run(firewall, run_disposal, &disposal, panic))
            return;
    }
    gst__text_free(&panic->text);
}

static _Noreturn void
jump(struct gst__firewall *firewall, struct gst__text text, const char *file,
     uint32_t line, struct disposal disposal)
{
    struct gst__panic *panic = &firewall->panic;

    panic->text = text;
    panic->place.file = file;
    panic->place.file_len = file == NULL ? 0 : strlen(file);
    panic->place.line = file == NULL ? 0 : line;
    panic->dispose = disposal.dispose;
    panic->payload = disposal.payload;
    _longjmp(*firewall->frame, 1);
}

_Noreturn void
gst__panic_payload(const char *file, uint32_t line, const void *text,
                   size_t len, void (*dispose)(void *), void *payload)
{
    struct gst__firewall *firewall = current(file, line);
    struct disposal disposal = {dispose, payload};

    jump(firewall, gst__text_engine(PREFIX, text, len), file, line, disposal);
}

void
gse_panic_bytes(const char *file, uint32_t line, const void *text, size_t len)
{
    gst__panic_payload(file, line, text, len, NULL, NULL);
}

void
gse_vpanic(const char *file, uint32_t line, const char *format, va_list args)
{
    struct gst__firewall *firewall = current(file, line);
    struct disposal nothing = {NULL, NULL};

    jump(firewall, gst__text_vformat(PREFIX, format, args), file, line,
         nothing);
}

void
gse_panic(const char *file, uint32_t line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    gse_vpanic(file, line, format, args);
    /* Not reached; va_end would warn. */
}
