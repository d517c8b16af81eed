/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An unrelated library with names that anybody would take. Each is a function
 * that returns a number of its own, and neighbour_run calls them all: whoever
 * took one of them over is found out. None is a name of the C library.
 */
#include <stddef.h>

int neighbour_run(void);

/* clang-format off */
#define NAMES(X) \
    X(init) X(fini) X(start) X(stop) X(run) X(submit) X(take) X(cancel) \
    X(cancel_all) X(open_handle) X(handle_open) X(handle_close) \
    X(handle_ring) X(ring_init) X(ring_push) X(ring_pop) X(ring_release) \
    X(ring_publish) X(queue_init) X(queue_push) X(queue_pop) X(queue_free) \
    X(pool_open) X(pool_close) X(pool_create) X(pool_start) X(pool_stop) \
    X(worker_main) X(worker_start) X(job_new) X(job_free) X(job_run) \
    X(job_cancel) X(unit_run) X(buffer_new) X(buffer_free) X(buf_alloc) \
    X(buf_free) X(status_set) X(status_free) X(status_clear) X(log_write) \
    X(log_line) X(log_drain) X(log_append) X(stats_add) X(stats_sub) \
    X(alloc_stats) X(abi_layout) X(abi_fields) X(engine_run) \
    X(engine_register) X(register_engine) X(panic) X(panic_catch) \
    X(firewall_run) X(lifecycle_init) X(now_ns) X(clock_now) X(hash) \
    X(list_add) X(list_remove) X(mutex_lock) X(mutex_unlock) X(event_wait) \
    X(event_signal) X(futex_wait) X(futex_wake) X(thread_start) \
    X(thread_join) X(pipe_write) X(write_all) X(read_all) X(die) X(fatal) \
    X(warn_line) X(check) X(verify) X(validate) X(parse) X(format) \
    X(utf8_valid) X(text_copy) X(text_free) X(string_copy) X(xmalloc) \
    X(xrealloc) X(xfree) X(copy_bytes) X(zero_bytes) X(align_up) X(version)
/* clang-format on */

enum {
#define NUMBER(name) number_##name,
    NAMES(NUMBER) how_many
};

#define DEFINE(name)                 \
    int name(void);                  \
    int name(void)                   \
    {                                \
        return number_##name + 1000; \
    }
NAMES(DEFINE)

/* Data too: a second definition of one of these is an error of the link. */
int verbose = 1, debug = 2, config = 3, state = 4, counter = 5, table = 6;

int
neighbour_run(void)
{
    /* volatile: the call goes to whatever the link made of the name. */
    static int (*volatile const all[])(void) = {
#define ENTRY(name) name,
        NAMES(ENTRY)};
    for (int i = 0; i < how_many; i++)
        if (all[i]() != i + 1000)
            return 0;
    return verbose + debug + config + state + counter + table == 21;
}
