/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The panics that every implementation can show: the diagnostic engine's
 * modes, each with the outcome that the contract declares for it.
 */
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

#define ZOO_CLAUSES                                         \
    " i2.first-panic-then-poisoned i2.poison-latch"         \
    " i2.poison-new-work-only i2.pool-survives i2.location" \
    " i2.location-only-on-panic i2.poison-per-handle i1.take-once"

#define ZOO_STEPS                                                            \
    "Run the mode on a pool of 1; then amid 7 sleeping siblings, finished "  \
    "results and queued units on a pool of 8; then beside a held worker on " \
    "a pool of 2."

#define ZOO_EXPECTED                                                       \
    "FFI_PANIC with that text and a place, once; submit and buf_alloc "    \
    "refused as FFI_POISONED; every sibling, finished result and queued "  \
    "unit byte for byte; take, cancel, cancel_all, buf_free, handle_ring " \
    "and close work; as many workers as before; live_bytes back."

#define BYTES(...) \
    (const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})
#define TEXT(literal) literal, sizeof(literal) - 1

#define ZOO_CASE(name_, id_, clause_, why_, mutant_, mode_, text_)          \
    CONFORM_CASE(name_, .id = id_, .clauses = clause_ ZOO_CLAUSES,          \
                 .why = why_, .steps = ZOO_STEPS, .expected = ZOO_EXPECTED, \
                 .mutant = mutant_, .transports = CONFORM_BOTH,             \
                 .tags = CONFORM_SLEEPS)                                    \
    {                                                                       \
        const struct specimen specimen = {id_,   0,     mode_, text_,       \
                                          false, false, false};             \
        zoo_examine(&specimen);                                             \
    }

ZOO_CASE(mode_1, "i2.contained.mode-1", "i2.contained",
         "A panic with a plain text that is not caught, or is caught and "
         "takes its neighbours with it.",
         NULL, BYTES(1), TEXT("plain panic"))

ZOO_CASE(mode_2, "i2.nul-safe.mode-2", "i2.nul-safe i2.contained",
         "A text handed on as a C string ends at its first NUL.",
         "nul-cut-message", BYTES(2), TEXT("panic with embedded NUL \0 byte"))

ZOO_CASE(mode_3, "i2.contained.mode-3", "i2.contained",
         "A firewall that takes every payload for a text.", NULL, BYTES(3),
         TEXT("panic payload (i32): 42"))

ZOO_CASE(mode_13_0, "i2.contained.mode-13-u32", "i2.contained",
         "A primitive payload read with another type or width.",
         "primitive-payloads-without-type", BYTES(13, 0),
         TEXT("panic payload (u32): 12345"))
ZOO_CASE(mode_13_1, "i2.contained.mode-13-i64", "i2.contained",
         "A primitive payload read with another type or width.",
         "primitive-payloads-without-type", BYTES(13, 1),
         TEXT("panic payload (i64): -9876543210"))
ZOO_CASE(mode_13_2, "i2.contained.mode-13-bool", "i2.contained",
         "A primitive payload read with another type or width.",
         "primitive-payloads-without-type", BYTES(13, 2),
         TEXT("panic payload (bool): true"))
ZOO_CASE(mode_13_3, "i2.contained.mode-13-usize", "i2.contained",
         "A primitive payload read with another type or width.",
         "primitive-payloads-without-type", BYTES(13, 3),
         TEXT("panic payload (usize): 999999"))
ZOO_CASE(mode_13_4, "i2.contained.mode-13-isize", "i2.contained",
         "A primitive payload read with another type or width.",
         "primitive-payloads-without-type", BYTES(13, 77),
         TEXT("panic payload (isize): -42"))

ZOO_CASE(mode_15_0, "i2.disposal-safe.mode-15-0", "i2.disposal-safe",
         "A payload whose disposal panics kills the worker after the catch.",
         "disposal-before-the-text", BYTES(15, 0),
         TEXT("Unknown Rust panic payload"))
ZOO_CASE(mode_15_1, "i2.disposal-safe.mode-15-1", "i2.disposal-safe",
         "A payload whose disposal panics kills the worker after the catch.",
         "disposal-before-the-text", BYTES(15, 1),
         TEXT("Unknown Rust panic payload"))
ZOO_CASE(mode_15_8, "i2.disposal-safe.mode-15-8", "i2.disposal-safe",
         "A payload whose disposal panics again and again outlasts a bounded "
         "number of catches.",
         "disposal-before-the-text", BYTES(15, 8),
         TEXT("Unknown Rust panic payload"))
ZOO_CASE(mode_15_255, "i2.disposal-safe.mode-15-255", "i2.disposal-safe",
         "A depth that is not capped lets an input byte decide how long a "
         "worker disposes of a payload.",
         "disposal-before-the-text", BYTES(15, 255),
         TEXT("Unknown Rust panic payload"))

CONFORM_CASE(mode_4, .id = "i2.contained.mode-4",
             .clauses = "i2.contained" ZOO_CLAUSES,
             .why = "Formatting an error panics while the error is reported.",
             .steps = ZOO_STEPS,
             .expected = "FFI_PANIC with the text `panic inside Display "
                         "implementation`, poisoning, or FFI_ERR, not "
                         "poisoning; everything else as after any panic.",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS)
{
    const struct specimen specimen = {
        .name = "mode 4",
        .input = (const uint8_t *)"\4",
        .len = 1,
        .text = "panic inside Display implementation",
        .text_len = strlen("panic inside Display implementation"),
        .may_err = true};
    zoo_examine(&specimen);
}

CONFORM_CASE(mode_12, .id = "i2.text-capped.mode-12",
             .clauses = "i2.text-capped i2.text-utf8 i2.contained" ZOO_CLAUSES,
             .why = "A huge panic text is copied whole for every failure.",
             .steps = ZOO_STEPS,
             .expected = "At least 32 750 of the A's, then `... [truncated]`, "
                         "65 536 bytes at most; everything else as after any "
                         "panic.",
             .transports = CONFORM_BOTH, .tags = CONFORM_SLEEPS,
             .mutant = "text-not-capped")
{
    static char text[1 << 20];
    memset(text, 'A', sizeof text);
    const struct specimen specimen = {.name = "mode 12",
                                      .input = (const uint8_t *)"\14",
                                      .len = 1,
                                      .text = text,
                                      .text_len = sizeof text};
    zoo_examine(&specimen);
}

CONFORM_CASE(
    disposal_bounded, .id = "i2.disposal-safe.bounded",
    .clauses = "i2.disposal-safe",
    .why = "A payload that panics while it is disposed of keeps the worker, "
           "the ticket or close busy.",
    .steps = "Mode 15 with depths 0, 1, 8 and 255, each on a handle of its "
             "own; measure the time to the completion and of close.",
    .expected = "The completion within 1 s, close within 5 s (both scaled), a "
                "fresh handle works.",
    .transports = CONFORM_BOTH, .mutant = "disposal-not-guarded")
{
    static const uint8_t depths[] = {0, 1, 8, 255};
    const uint64_t five_seconds = conform_patience_ns();
    for (size_t i = 0; i < sizeof depths; i++) {
        const uint8_t input[] = {15, depths[i]};
        struct host *host = host_open(1);
        uint64_t start = conform_now_ns();
        uint64_t ticket = host_submit(host, DIAGNOSTIC, input, sizeof input);
        host_wait(host, ticket);
        expect_u64_at_most(five_seconds / 5, conform_now_ns() - start,
                           "ns until mode 15, depth %u, completed", depths[i]);
        struct outcome outcome = host_take(host, ticket);
        expect_code(FFI_PANIC, outcome.code, "mode 15, depth %u", depths[i]);
        start = conform_now_ns();
        host_close(host);
        expect_u64_at_most(five_seconds, conform_now_ns() - start,
                           "ns for close after mode 15, depth %u", depths[i]);
        conform_fresh_handle_works();
    }
}

CONFORM_CASE(
    location, .id = "i2.location.stable-and-distinct", .clauses = "i2.location",
    .why = "A place that is a constant, another panic's, or the firewall's "
           "own is worse than none.",
    .steps = "Modes 1, 2, 3 and 12, three times each, each on a fresh handle, "
             "in changing order.",
    .expected = "The same (file, line) for one mode every time, pairwise "
                "different ones for the four modes.",
    .mutant = "location-is-the-runtime")
{
    static const uint8_t modes[] = {1, 2, 3, 12};
    struct outcome first[sizeof modes];
    for (size_t round = 0; round < 3; round++) {
        for (size_t n = 0; n < sizeof modes; n++) {
            size_t i = (n + round) % sizeof modes;
            struct host *host = host_open(1);
            struct outcome o = host_call(host, DIAGNOSTIC, &modes[i], 1);
            host_close(host);
            expect_code(FFI_PANIC, o.code, "mode %u", modes[i]);
            expect(o.has_file && o.file_len > 0 && o.line > 0,
                   "mode %u carries a place", modes[i]);
            if (round == 0) {
                first[i] = o;
                continue;
            }
            expect_bytes(first[i].file, first[i].file_len, o.file, o.file_len,
                         "file of mode %u in round %zu", modes[i], round);
            expect_u64(first[i].line, o.line, "line of mode %u in round %zu",
                       modes[i], round);
        }
    }
    for (size_t i = 0; i < sizeof modes; i++) {
        for (size_t j = 0; j < i; j++) {
            bool same =
                first[i].line == first[j].line &&
                first[i].file_len == first[j].file_len &&
                memcmp(first[i].file, first[j].file, first[i].file_len) == 0;
            expect(!same,
                   "modes %u and %u panic at different places, both "
                   "say %s:%u",
                   modes[i], modes[j], first[i].file, first[i].line);
        }
    }
}
