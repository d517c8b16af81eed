/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the log ring: whole lines, a bound, and many at once. */

#include "../jobs.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "gusset_engine.h"

#define LOG_BYTES 65536

/* One call, into a buffer with a canary behind its len bytes. */
static size_t
drain_into(char *to, size_t len)
{
    static char room[LOG_BYTES + 8];
    size_t written = 4242;
    memset(room, 0x7e, sizeof room);
    api.drain_logs((uint8_t *)room, len, &written);
    expect_u64_at_most(len, written, "bytes written into %zu", len);
    for (size_t i = written; i < len + 8; i++)
        expect_u64(0x7e, (uint8_t)room[i], "byte %zu behind the %zu written", i,
                   written);
    memcpy(to, room, written);
    return written;
}

static void
write_lines(struct host *host, uint8_t count)
{
    uint8_t input[2] = {MODE_LOG, count};
    struct outcome outcome =
        host_call(host, DIAGNOSTIC | INLINE, input, sizeof input);
    expect_success_is(&outcome, input, 2, "a job that writes log lines");
}

CONFORM_CASE(log_whole_lines, .id = "l.log-lines.whole-lines-that-fit",
             .clauses = "l.log-lines",
             .why = "a drain that cuts a line in the middle, leaves out what "
                    "would have fitted, or writes past its buffer",
             .steps = "Twelve lines of 19 and 20 bytes, drained through "
                      "buffers of every length from 20 to 200 in turn.",
             .expected = "Each call gives as many whole lines as fit, oldest "
                         "first; together they are all twelve.",
             .mutant = "log-splits-lines")
{
    struct host *host = host_open(1);
    (void)conform_drain_log();
    for (size_t len = 20; len <= 200; len += 3) {
        char all[512] = {0}, expected[512] = {0};
        size_t have = 0, want = 0, next = 0;
        for (int i = 0; i < 12; i++)
            want += (size_t)snprintf(expected + want, sizeof expected - want,
                                     "worker log event %d\n", i);
        write_lines(host, 12);
        size_t got;
        while ((got = drain_into(all + have, len)) != 0) {
            size_t fits = 0, line;
            for (;;) {
                const char *end = strchr(expected + next + fits, '\n');
                if (end == NULL)
                    break;
                line = (size_t)(end - (expected + next + fits)) + 1;
                if (fits + line > len)
                    break;
                fits += line;
            }
            expect_bytes(expected + next, fits, all + have, got,
                         "the whole lines that fit into %zu bytes", len);
            have += got;
            next += fits;
        }
        expect_u64(want, have, "bytes of all twelve lines");
    }
    host_close(host);
}

CONFORM_CASE(log_small_buffers, .id = "l.log-lines.shorter-than-a-line",
             .clauses = "l.log-lines",
             .why = "a buffer shorter than the line that drains nothing: the "
                    "log reads as empty and never moves again",
             .steps = "Three lines, drained through buffers of 1 to 18 bytes; "
                      "then NULL, zero length and NULL out_written on a "
                      "non-empty log.",
             .expected = "The pieces together are the three lines; the "
                         "useless calls write 0 or nothing and remove "
                         "nothing.",
             .mutant = "log-stops-at-a-short-buffer")
{
    static const char lines[] =
        "worker log event 0\nworker log event 1\nworker log event 2\n";
    struct host *host = host_open(1);
    (void)conform_drain_log();
    for (size_t len = 1; len <= 18; len++) {
        char all[128];
        size_t have = 0, got, written = 1;
        uint8_t byte = 0x55;
        write_lines(host, 3);
        api.drain_logs(NULL, 100, &written);
        expect_u64(0, written, "written by a drain into NULL");
        written = 1;
        api.drain_logs(&byte, 0, &written);
        expect_u64(0, written, "written by a drain of length 0");
        api.drain_logs(&byte, 1, NULL);
        expect_u64(0x55, byte, "the buffer of a drain without out_written");
        while (have < sizeof all && (got = drain_into(all + have, len)) != 0)
            have += got;
        expect_bytes(lines, strlen(lines), all, have,
                     "three lines in pieces of %zu", len);
    }
    host_close(host);
}

CONFORM_CASE(log_bounded, .id = "l.log-bounded.oldest-whole-lines-go",
             .clauses = "l.log-bounded l.log-lines",
             .why = "a log without bound, one that throws everything away "
                    "when it is full, or one that keeps half a line",
             .steps = "One worker writes 60 x 255 lines, some 300 KB, that "
                      "nobody drains; then drain all.",
             .expected = "At most 65 536 bytes; whole lines only; exactly the "
                         "newest ones, the last among them.",
             .mutant = "log-unbounded")
{
    static char all[4 * LOG_BYTES];
    struct host *host = host_open(1);
    for (int i = 0; i < 60; i++)
        write_lines(host, 255);
    size_t have = 0, got;
    while (have + LOG_BYTES < sizeof all &&
           (got = drain_into(all + have, LOG_BYTES)) != 0)
        have += got;
    expect_u64_at_most(LOG_BYTES, have, "bytes of a log that was flooded");
    expect_u64_at_least(LOG_BYTES / 2, have, "bytes that it kept");
    /* Backwards from the newest line, number by number. */
    int number = 254;
    size_t end = have;
    while (end > 0) {
        char line[32];
        size_t len = (size_t)snprintf(line, sizeof line,
                                      "worker log event %d\n", number);
        expect(end >= len,
               "%zu bytes in front of the kept lines are a part "
               "of a line",
               end);
        expect_bytes(line, len, all + end - len, len,
                     "the line that ends %zu bytes before the newest end",
                     have - end);
        end -= len;
        number = number == 0 ? 254 : number - 1;
    }
    host_close(host);
}

struct drainer {
    struct conform_barrier *barrier;
    atomic_bool *done;
    uint32_t seen[256];
    size_t bytes;
};

static void
count_lines(struct drainer *drainer, const char *text, size_t len)
{
    while (len > 0) {
        const char *end = memchr(text, '\n', len);
        expect(end != NULL,
               "intact lines only: a drained piece ends in a newline");
        size_t line = (size_t)(end - text) + 1;
        expect(line > 18 && line < 22 &&
                   memcmp(text, "worker log event ", 17) == 0,
               "intact lines only: %.*s", (int)line, text);
        char *rest;
        unsigned long number = strtoul(text + 17, &rest, 10);
        expect(rest == end && number < 100,
               "intact lines only: a number up to 99 in %.*s", (int)line, text);
        drainer->seen[number]++;
        text += line;
        len -= line;
    }
}

static void
drain_until_done(void *argument)
{
    struct drainer *drainer = argument;
    conform_barrier_wait(drainer->barrier);
    for (;;) {
        char buffer[777];
        size_t written = 0;
        bool last = atomic_load(drainer->done);
        api.drain_logs((uint8_t *)buffer, sizeof buffer, &written);
        count_lines(drainer, buffer, written);
        drainer->bytes += written;
        if (last && written == 0)
            return;
        if (written == 0)
            job_pause_us(100);
    }
}

CONFORM_CASE(log_concurrent, .id = "l.log-concurrent.none-lost-or-garbled",
             .clauses = "l.log-concurrent l.log-lines",
             .why = "a lock that gives up when it is busy, or two lines "
                    "written into each other",
             .steps = "Four workers, which wake from a sleep of 10 ms "
                      "together, write 32 x 100 lines (60 KB, which always "
                      "fits) while two threads drain through 777 bytes; "
                      "six times.",
             .expected = "Each of the numbers 0 to 99 comes out 32 times, "
                         "every line intact.",
             .mutant = "log-not-locked log-splits-lines",
             .tags = CONFORM_SLEEPS)
{
    static const uint8_t input[4] = {MODE_SLEEP, 1, MODE_LOG, 100};
    CallHeader header = job_header(DIAGNOSTIC | INLINE, 0);
    struct host *host = host_open(4);
    for (uint32_t round = 0; round < conform_rounds(6, 200); round++) {
        static atomic_bool done;
        static struct drainer drainers[2];
        atomic_store(&done, false);
        struct conform_thread *threads[2];
        struct conform_barrier *barrier = conform_barrier_new(3);
        (void)conform_drain_log();
        for (int i = 0; i < 2; i++) {
            drainers[i] = (struct drainer){.barrier = barrier, .done = &done};
            threads[i] =
                conform_thread_start(drain_until_done, &drainers[i], 0);
        }
        conform_barrier_wait(barrier);
        for (int i = 0; i < 32; i++)
            (void)host_submit_patiently(host, &header, input, sizeof input);
        for (int i = 0; i < 32; i++)
            (void)host_next(host);
        atomic_store(&done, true);
        for (int i = 0; i < 2; i++)
            conform_thread_join(threads[i]);
        for (int number = 0; number < 100; number++)
            expect_u64(32, drainers[0].seen[number] + drainers[1].seen[number],
                       "intact lines only: lines with number %d", number);
        conform_barrier_free(barrier);
    }
    host_close(host);
}

/* Text of two-byte characters, given to gse_log by a handler. */
#define OPCODE 0x4c01u

static int32_t
log_handler(gse_call *call, void *user)
{
    (void)user;
    size_t len;
    const uint8_t *input = gse_input(call, &len);
    size_t characters = get_u32le(input);
    char *text = gse_alloc(2 * characters + 1);
    if (text == NULL)
        return GSE_FAILED;
    for (size_t i = 0; i < characters; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2);
    gse_log(text, 2 * characters);
    gse_free(text);
    return GSE_OK;
}

static void
log_characters(struct host *host, uint32_t characters)
{
    uint8_t input[4];
    CallHeader header = job_header(0, 0);
    header.reserved = OPCODE;
    put_u32le(input, characters);
    struct outcome outcome = host_call_header(host, &header, input, 4);
    expect_code(FFI_OK, outcome.code, "a job that logs %u characters",
                characters);
}

CONFORM_CASE(log_characters_whole, .id = "l.log-lines.character-boundary",
             .clauses = "l.log-lines l.log-bounded",
             .why = "a character cut in half: the host's log is then not "
                    "UTF-8 any more",
             .steps = "A handler logs one line of 150 two-byte characters; "
                      "drained through buffers of 2 to 64 bytes, and of 1; "
                      "then a line of 500 000 bytes.",
             .expected = "Each piece holds whole characters, except under 2 "
                         "bytes, where it still moves; the long line is cut "
                         "on a character and stays within 65 536 bytes.",
             .mutant = "log-cut-inside-a-character", .needs = "engine")
{
    static char all[4 * LOG_BYTES];
    expect_i64(GSE_OK, gse_register_opcode(OPCODE, log_handler, NULL),
               "registration of the handler");
    struct host *host = host_open(1);
    (void)conform_drain_log();
    for (size_t len = 1; len <= 64; len++) {
        size_t have = 0, got;
        log_characters(host, 150);
        while ((got = drain_into(all + have, len)) != 0) {
            have += got;
            bool at_end = all[have - 1] == '\n';
            if (len >= 2)
                expect_u64(0, (have - at_end) % 2,
                           "half characters after a piece of %zu bytes", got);
        }
        expect_u64(301, have, "bytes of 150 characters and a newline");
    }
    log_characters(host, 250000);
    size_t have = 0, got;
    while (have < sizeof all - LOG_BYTES &&
           (got = drain_into(all + have, LOG_BYTES)) != 0)
        have += got;
    expect_u64_at_most(LOG_BYTES, have, "bytes of a line of 500 000");
    expect_u64_at_least(LOG_BYTES / 2, have, "bytes kept of it");
    expect_u64('\n', (uint8_t)all[have - 1], "its last byte");
    for (size_t i = 0; i + 1 < have && (uint8_t)all[i] >= 0x80; i += 2)
        expect_bytes("\xc3\xa9", 2, all + i, 2, "the character at byte %zu", i);
    host_close(host);
    gse_clear();
}

CONFORM_CASE(log_of_the_process, .id = "l.log-lines.outlives-handles",
             .clauses = "l.log-lines i1.close-consumes",
             .why = "a log per handle, gone when one needs to know why the "
                    "handle went",
             .steps = "Two handles write one line each; both are closed; "
                      "drain.",
             .expected = "Both lines; then an empty log: 0 written.",
             .mutant = NULL)
{
    struct host *one = host_open(1), *two = host_open(1);
    (void)conform_drain_log();
    write_lines(one, 1);
    write_lines(two, 1);
    host_close(one);
    host_close(two);
    char text[128];
    size_t len = drain_into(text, sizeof text);
    const char *both = "worker log event 0\nworker log event 0\n";
    expect_bytes(both, strlen(both), text, len, "the log of both handles");
    expect_u64(0, drain_into(text, sizeof text), "bytes of an empty log");
}
