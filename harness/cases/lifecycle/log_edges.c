/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Cases of the log at its bound, byte by byte. */

#include "../jobs.h"

#define LOG_BYTES 65536u

enum { JOB_LINES = 255 };

/* Bytes of the first n lines that one mode 14 job writes, as measured. */
static size_t bytes_of[JOB_LINES + 1];

/* What was written since the last drain, oldest first. */
static char written[4 * LOG_BYTES];
static size_t written_len;

/* The lines of one whole job, in the words of this library. */
static char whole_job[JOB_LINES * 256];

static size_t
drain(char *to, size_t len)
{
    size_t got = 0;
    api.drain_logs((uint8_t *)to, len, &got);
    expect_u64_at_most(len, got, "bytes drained into %zu", len);
    return got;
}

static void
run_job(struct host *host, uint8_t lines)
{
    uint8_t input[2] = {MODE_LOG, lines};
    struct outcome outcome =
        host_call(host, DIAGNOSTIC | INLINE, input, sizeof input);
    expect_success_is(&outcome, input, 2, "a job that writes log lines");
}

/* How long a line is, is the library's to choose. */
static void
measure(struct host *host)
{
    (void)conform_drain_log();
    run_job(host, JOB_LINES);
    size_t len = drain(whole_job, sizeof whole_job), at = 0;
    for (uint32_t line = 0; line < JOB_LINES; line++) {
        const char *end = memchr(whole_job + at, '\n', len - at);
        expect(end != NULL, "line %u of one job ends", line);
        at = (size_t)(end - whole_job) + 1;
        bytes_of[line + 1] = at;
    }
    expect_u64(len, at, "bytes of the %d lines of one job", (int)JOB_LINES);
}

static void
write_job(struct host *host, uint32_t lines)
{
    run_job(host, (uint8_t)lines);
    memcpy(written + written_len, whole_job, bytes_of[lines]);
    written_len += bytes_of[lines];
}

/* One, two, and up to 40 times one line that are `rest` bytes together. */
static bool
write_rest(struct host *host, size_t rest)
{
    for (uint32_t singles = 0; singles <= 40; singles++) {
        size_t left = rest - singles * bytes_of[1];
        for (uint32_t n = 0; n <= JOB_LINES && bytes_of[n] <= left; n++) {
            uint32_t m = 0;
            while (m < JOB_LINES && bytes_of[n] + bytes_of[m] < left)
                m++;
            if (bytes_of[n] + bytes_of[m] != left)
                continue;
            for (uint32_t i = 0; i < singles; i++)
                write_job(host, 1);
            write_job(host, n);
            write_job(host, m);
            return true;
        }
    }
    return false;
}

/* Writes lines of exactly `bytes` bytes; false: no number of lines has it. */
static bool
write_exactly(struct host *host, size_t bytes)
{
    size_t keep = 2 * bytes_of[JOB_LINES];
    while (bytes - written_len > keep)
        write_job(host, JOB_LINES);
    return write_rest(host, bytes - written_len);
}

/* The newest whole lines that the bound leaves room for, and no others. */
static void
expect_newest(const char *what)
{
    static char got[LOG_BYTES];
    size_t from = 0, more = 0;
    while (written_len - from > LOG_BYTES)
        from = (size_t)((char *)memchr(written + from, '\n', LOG_BYTES) -
                        written) +
               1;
    size_t len = drain(got, sizeof got);
    expect_u64(written_len - from, len,
               "bytes that come back of %zu written, the oldest %zu having no "
               "room, %s",
               written_len, from, what);
    expect_bytes(written + from, written_len - from, got, len,
                 "the lines that come back, %s", what);
    more = drain(got, sizeof got);
    expect_u64(0, more, "bytes after all lines, %s", what);
    written_len = 0;
}

/* Moves the place in the log's memory at which the next line begins. */
static void
move_on(struct host *host, uint32_t lines)
{
    write_job(host, lines);
    expect_newest("a few lines");
}

CONFORM_CASE(log_edges, .id = "l.log-bounded.exactly-full",
             .clauses = "l.log-bounded l.log-lines l.log-concurrent",
             .why = "a bound that is off by one: the oldest line goes though "
                    "it fits, or stays and is cut; or a wrap that is off by "
                    "one at the end of the memory",
             .steps = "Whole lines of 65 535, 65 536 and 65 537 bytes in all, "
                      "of 65 536 and one line more, and floods; each from "
                      "twelve places in the log's memory, drained at once "
                      "into 65 536 bytes.",
             .expected = "All lines that fit come back; of 65 537 bytes "
                         "exactly the oldest line is gone.",
             .mutant = "log-never-quite-full")
{
    static const uint8_t lines[] = {1, 2, 3, 7, 9, 10, 11, 60, 100, 101, 255};
    struct host *host = host_open(1);
    uint32_t exact = 0;
    measure(host);
    for (uint32_t place = 0; place < 12; place++) {
        for (size_t bytes = LOG_BYTES - 1; bytes <= LOG_BYTES + 1; bytes++) {
            exact += write_exactly(host, bytes);
            expect_newest("at the bound");
        }
        exact += write_exactly(host, LOG_BYTES);
        write_job(host, 1);
        expect_newest("one line over the bound");
        for (int i = 0; place % 4 == 0 && i < 30; i++)
            write_job(host, (uint32_t)conform_random(JOB_LINES + 1));
        expect_newest("a flood");
        move_on(host, lines[place % sizeof lines]);
    }
    conform_evidence("sums", "%u of %u could be written to the byte", exact,
                     4 * 12u);
    if (exact == 0)
        conform_out_of_reach("no number of this library's lines has exactly "
                             "65 536 bytes");
    host_close(host);
}
