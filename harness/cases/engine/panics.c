/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Panics of the test engine: their texts, their places, what poison leaves. */
#include "engine.h"

#include <stdio.h>

#define CAP 32768u
#define MUST_FIT 32761u
#define CUT_AT_LEAST 32750u
#define LEAD "PANIC: "
#define MARKER "... [truncated]"

/* The message is the lead and text, whole or cut as i2.text-capped has it. */
static void
expect_text_of(const struct outcome *o, const uint8_t *text, size_t len,
               const char *what)
{
    const size_t lead = sizeof LEAD - 1;
    const size_t marker = sizeof MARKER - 1;
    expect_code(FFI_PANIC, o->code, "%s: the panicking job itself", what);
    expect(o->bytes == NULL && o->len == 0, "%s: a panic has no result", what);
    expect_text(TEXT_BEGINS, LEAD, o->msg, o->msg_len, "%s: the text", what);
    if (len <= CAP && o->msg_len == lead + len) {
        expect_bytes(text, len, o->msg + lead, len, "%s: the text", what);
        return;
    }
    expect(len > MUST_FIT,
           "%s: a text of %zu bytes arrives unchanged, in %zu, not %zu bytes",
           what, len, lead + len, o->msg_len);
    expect_u64_at_most(65536, o->msg_len, "%s: bytes in all", what);
    expect_u64_at_least(lead + CUT_AT_LEAST + marker, o->msg_len,
                        "%s: bytes that survive the cap", what);
    size_t kept = o->msg_len - lead - marker;
    expect_u64_at_most(CAP, kept, "%s: bytes before the marker", what);
    expect_bytes(text, kept, o->msg + lead, kept, "%s: up to the cap", what);
    expect_bytes(MARKER, marker, o->msg + lead + kept, marker, "%s: the marker",
                 what);
    expect(kept == len || (text[kept] & 0xc0) != 0x80,
           "%s: the cut at byte %zu lies between two characters", what, kept);
}

/* A place is both or neither [i2.location]. */
static void
expect_whole_place(const struct outcome *o, const char *what)
{
    if (o->has_file) {
        expect_u64_at_least(1, o->file_len, "%s: length of the file", what);
        expect_u64_at_least(1, o->line, "%s: line", what);
    } else {
        expect_u64(0, o->file_len, "%s: length of no file", what);
        expect_u64(0, o->line, "%s: line without a file", what);
    }
}

static void
expect_no_place(const struct outcome *o, const char *what)
{
    expect(!o->has_file, "%s: no file", what);
    expect_u64(0, o->file_len, "%s: no length of a file", what);
    expect_u64(0, o->line, "%s: no line", what);
}

/* A panic on a handle of its own; everything about it is checked. */
static void
panic_alone(enum te_mode mode, const uint8_t *text, size_t len,
            const uint8_t *right, size_t right_len)
{
    struct host *host = host_open(1);
    char what[64];
    snprintf(what, sizeof what, "mode %d, %zu bytes", (int)mode, len);
    uint64_t ticket = te_submit(host, INLINE, 0, mode, text, len);
    struct completion done = host_wait(host, ticket);
    expect(!done.inlined, "%s: only a success is delivered inline", what);
    te_expect_poisoned(host, what);
    struct outcome o = host_take(host, ticket);
    expect_text_of(&o, right, right_len, what);
    if (mode == TE_PANIC_PLACELESS)
        expect_no_place(&o, what);
    else
        expect_whole_place(&o, what);
    struct outcome again = host_take(host, ticket);
    expect_code(FFI_ERR, again.code, "%s: a second take", what);
    te_expect_poisoned(host, what);
    host_close(host);
}

CONFORM_CASE(
    panic_texts, .id = "i2.contained.test-engine-texts",
    .clauses = "i2.contained i2.text-capped i2.first-panic-then-poisoned "
               "i2.poison-latch i2.poison-per-handle",
    .why = "A text of an unusual length is cut where it fits, is not cut, or "
           "makes a panic pass for something else.",
    .steps = "Panics (modes 1 and 2) with texts of 0, 1, 32 761, 32 768, "
             "32 769 and 60 000 bytes, each on a fresh handle.",
    .expected = "FFI_PANIC, `PANIC: ` and the text: unchanged up to 32 761 "
                "bytes, whole or cut up to 32 768, cut with the marker above; "
                "then poisoned.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "text-not-capped marker-missing no-poison-latch "
              "caught-panics-place")
{
    static const uint32_t lengths[] = {0, 1, 32761, 32768, 32769, 60000};
    uint8_t *text = conform_pattern(60000, 'x', 1);
    for (size_t i = 0; i < 60000; i++)
        text[i] = (uint8_t)('a' + i % 23);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        panic_alone(TE_PANIC, text, lengths[i], text, lengths[i]);
        panic_alone(TE_PANIC_PLACELESS, text, lengths[i], text, lengths[i]);
    }
}

CONFORM_CASE(
    panic_edges, .id = "i2.text-capped.test-engine-panic-edges",
    .clauses = "i2.text-capped i2.text-utf8",
    .why = "A cap that is off by the length of its own marker or prefix cuts "
           "texts that fit, or a character.",
    .steps = "Panic texts of 32 760 to 32 800 single bytes, and 60 000 bytes "
             "of 3-byte characters.",
    .expected = "Unchanged up to 32 761; whole or cut up to 32 768; cut "
                "with the marker above, between two characters.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "marker-missing cut-inside-a-character")
{
    static const uint32_t lengths[] = {32760, 32761, 32762, 32768,
                                       32769, 32783, 32784, 32800};
    uint8_t *text = conform_pattern(60000, 'z', 0);
    memset(text, 'z', 60000);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        panic_alone(TE_PANIC, text, lengths[i], text, lengths[i]);
    for (size_t i = 0; i < 60000; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    panic_alone(TE_PANIC, text, 60000, text, 60000);
}

/*
 * A panic to wait behind other units; 0 when it is refused as POISONED: an
 * implementation that does not keep the order of the queue may have run one
 * before.
 */
static uint64_t
submit_panic(struct host *host, enum te_mode mode, const char *text)
{
    uint8_t input[64] = {(uint8_t)mode};
    CallHeader header = te_header(0, 0);
    size_t len = strlen(text);
    memcpy(input + 1, text, len);
    uint64_t end = conform_now_ns() + conform_patience_ns();
    struct outcome o;
    do {
        o = host_try_submit(host, &header, input, len + 1, 0);
    } while (o.code == FFI_ERR && conform_now_ns() < end);
    expect(o.code == FFI_OK || o.code == FFI_POISONED,
           "a panic is accepted or comes too late: %s, %s",
           conform_code_name(o.code), o.msg != NULL ? o.msg : "");
    return o.code == FFI_OK ? o.ticket : 0;
}

CONFORM_CASE(
    location_fresh, .id = "i2.location-fresh.test-engine",
    .clauses = "i2.location-fresh i2.pool-survives "
               "i2.first-panic-then-poisoned",
    .why = "A worker, or a panic hook, that keeps the place of its last panic "
           "gives it to the next one that has none.",
    .steps = "A worker is kept inside the engine; a panic with a place (mode "
             "1) and one without, raised after a panic was caught inside the "
             "engine (mode 2), wait behind it; then it is let go.",
    .expected = "Both FFI_PANIC; the second has no place.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "location-not-cleared caught-panics-place")
{
    struct host *host = host_open(1);
    uint64_t held = te_submit(host, 0, 0, TE_UNTIL, NULL, 0);
    uint64_t first = submit_panic(host, TE_PANIC, "with");
    uint64_t second = submit_panic(host, TE_PANIC_PLACELESS, "without");
    if (second == 0)
        conform_skip("the queue let the first panic overtake the unit in "
                     "front of it [i4.queue-order]");
    te_release(host, held);
    te_expect_cancelled(host, held, "the unit in front");
    struct outcome o = job_finish(host, first);
    expect_text_of(&o, (const uint8_t *)"with", 4, "the panic with a place");
    expect_whole_place(&o, "the panic with a place");
    conform_evidence("place", "%s:%u", o.has_file ? o.file : "none", o.line);
    o = job_finish(host, second);
    expect_text_of(&o, (const uint8_t *)"without", 7,
                   "the panic without a place");
    expect_no_place(&o, "the panic without a place");
    te_expect_poisoned(host, "after two panics");
    host_close(host);
}

/* ---- What poison must leave alone --------------------------------------- */

static const size_t sizes[] = {3, 47, 48, 49, 4096, 4097, 65536};
#define SIZES (sizeof sizes / sizeof sizes[0])

/* An echo that sleeps `tenths` x 100 ms first; the bytes are the input. */
static uint64_t
submit_echo(struct host *host, uint8_t tenths, size_t size, uint8_t **bytes)
{
    CallHeader header = te_header(size % 2 ? INLINE : 0, 0);
    *bytes = conform_pattern(size, TE_SLEEP, size + tenths);
    (*bytes)[1] = tenths;
    (*bytes)[2] = 0;
    return te_submit_header(host, &header, *bytes, size);
}

CONFORM_CASE(
    new_work_only, .id = "i2.poison-new-work-only.test-engine",
    .clauses = "i2.poison-new-work-only i2.pool-survives i2.poison-latch "
               "i2.poison-per-handle i1.take-once",
    .why = "A panic takes the results, the siblings or the workers of its "
           "handle with it.",
    .steps = "Results of 3 to 65 536 bytes and of a built buffer wait to be "
             "taken; two units are inside the engine, one until it is "
             "cancelled; a third panics; then take, cancel, buf_free and "
             "close.",
    .expected = "Every byte of every result; the siblings end as if nothing "
                "had happened; only new work is refused; another handle is "
                "healthy.",
    .needs = "test-engine", .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
    .mutant = "panic-wipes-buffers poison-destroys-small-result "
              "cancel-ignored-when-poisoned")
{
    struct host *host = host_open(3);
    struct completion done[SIZES + 1];
    uint8_t *bytes[SIZES];
    for (size_t i = 0; i < SIZES; i++)
        done[i] = host_wait(host, submit_echo(host, 0, sizes[i], &bytes[i]));
    const uint8_t *built = conform_pattern(5000, 0, 9);
    done[SIZES] =
        host_wait(host, te_submit_make(host, 0, TE_BUFFER, built, 5000));
    uint64_t spare = host_buffer(host, built, 5000, NULL);
    uint64_t held = te_hold(host, "held");
    uint8_t *slow = NULL;
    uint64_t sleeper = submit_echo(host, 2, 4097, &slow);

    uint64_t panic = te_submit(host, 0, 0, TE_PANIC, "amid", 4);
    struct outcome o = job_finish(host, panic);
    expect_text_of(&o, (const uint8_t *)"amid", 4, "the panic amid others");
    te_expect_poisoned(host, "beside running units");
    te_release(host, held);
    te_expect_cancelled(host, held, "a unit cancelled after the panic");
    o = job_finish(host, sleeper);
    expect_success_is(&o, slow, 4097, "the sibling that slept");
    for (size_t i = 0; i < SIZES; i++) {
        o = host_outcome(host, &done[i]);
        expect_success_is(&o, bytes[i], sizes[i], "a result from before");
    }
    o = host_outcome(host, &done[SIZES]);
    expect_success_is(&o, built, 5000, "a built result from before");
    host_buffer_free(host, spare);
    te_expect_poisoned(host, "after all was delivered");
    struct host *other = host_open(1);
    te_expect_healthy(other, "another handle");
    host_close(other);
    host_close(host);
}

CONFORM_CASE(
    storm, .id = "i2.storm.test-engine",
    .clauses = "i2.storm i2.pool-survives i4.exactly-once",
    .why = "Many panics at once deadlock, lose a ticket, or kill the workers "
           "one by one.",
    .steps = "Eight workers are kept inside the engine (mode 8); 16 panics "
             "(modes 1 and 2 in turn) wait behind them; all eight are "
             "cancelled at once. Several rounds.",
    .expected = "Every ticket completes once: 8 cancelled, 16 FFI_PANIC each "
                "with its own text; then POISONED.",
    .needs = "test-engine", .transports = CONFORM_BOTH,
    .mutant = "worker-leaves-after-panic")
{
    uint32_t rounds = conform_rounds(3, 30);
    for (uint32_t round = 0; round < rounds; round++) {
        struct host *host = host_open(8);
        uint64_t held[8];
        uint64_t panics[16];
        for (size_t i = 0; i < 8; i++)
            held[i] = te_submit(host, 0, 0, TE_UNTIL, NULL, 0);
        for (size_t i = 0; i < 16; i++) {
            char text[32];
            snprintf(text, sizeof text, "panic %zu", i);
            panics[i] =
                submit_panic(host, i % 2 ? TE_PANIC : TE_PANIC_PLACELESS, text);
        }
        for (size_t i = 0; i < 8; i++)
            te_release(host, held[i]);
        for (size_t i = 0; i < 8; i++)
            te_expect_cancelled(host, held[i], "a unit in front of panics");
        for (size_t i = 0; i < 16; i++) {
            char text[32];
            int len = snprintf(text, sizeof text, "panic %zu", i);
            if (panics[i] == 0)
                continue;
            struct outcome o = job_finish(host, panics[i]);
            expect_text_of(&o, (const uint8_t *)text, (size_t)len,
                           "one of 16 panics");
        }
        te_expect_poisoned(host, "after the storm");
        host_close(host);
    }
}
