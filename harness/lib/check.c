/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The expect_ functions: the page is written before anything unwinds, by the
 * first thread that fails. (Check's own assertions would be lost with the
 * process and cannot be used beside the main thread.)
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "internal.h"

struct place {
    const char *expression;
    const char *file;
    int line;
};

/* The case's own last check, for a failure inside a helper of this folder. */
static const char *case_file;
static int case_line;

static bool
in_helper(const char *file)
{
    return strstr(file, "harness/lib/") != NULL;
}

static void
count(const char *file, int line)
{
    conform_page_count_check();
    if (!in_helper(file)) {
        __atomic_store_n(&case_file, file, __ATOMIC_RELAXED);
        __atomic_store_n(&case_line, line, __ATOMIC_RELAXED);
    }
}

static void
say_where_the_case_was(void)
{
    const char *file = __atomic_load_n(&case_file, __ATOMIC_RELAXED);
    if (file == NULL) {
        conform_evidence("helper", "failed before the first check of the case");
    } else {
        conform_evidence("helper", "failed after the check at %s:%d", file,
                         __atomic_load_n(&case_line, __ATOMIC_RELAXED));
    }
}

__attribute__((noreturn)) static void
fail(struct place place, const char *expected, const char *actual,
     const char *format, va_list args)
{
    struct conform_page *page = conform_page;
    char message[sizeof page->message];
    vsnprintf(message, sizeof message, format, args);
    conform_claims_heed_children();
    if (conform_in_child()) {
        fprintf(stderr,
                "conform: in a forked child: %s:%d: %s: expected %s, "
                "actual %s: %s\n",
                place.file, place.line, place.expression, expected, actual,
                message);
        conform_leave_case();
    }
    if (!conform_page_claim()) {
        conform_wait_for_the_end();
    }
    conform_page_text(page->file, sizeof page->file, place.file);
    page->line = (uint32_t)place.line;
    conform_page_text(page->expression, sizeof page->expression,
                      place.expression);
    conform_page_text(page->expected, sizeof page->expected, expected);
    conform_page_text(page->actual, sizeof page->actual, actual);
    conform_page_text(page->message, sizeof page->message, message);
    if (in_helper(place.file)) {
        say_where_the_case_was();
    }
    conform_page_outcome(CONFORM_OUTCOME_FAILED);
    conform_leave_case();
}

#define FAIL(place, expected, actual, format)                   \
    do {                                                        \
        va_list fail_args;                                      \
        va_start(fail_args, format);                            \
        fail((place), (expected), (actual), format, fail_args); \
    } while (0)

#define PLACE(expression, file, line) \
    ((struct place){(expression), (file), (line)})

void
conform_check_true(bool holds, const char *expression, const char *file,
                   int line, const char *format, ...)
{
    count(file, line);
    if (!holds) {
        FAIL(PLACE(expression, file, line), "true", "false", format);
    }
}

void
conform_check_i64(int64_t expected, int64_t actual, const char *expression,
                  const char *file, int line, const char *format, ...)
{
    count(file, line);
    if (expected != actual) {
        char left[32];
        char right[32];
        snprintf(left, sizeof left, "%" PRId64, expected);
        snprintf(right, sizeof right, "%" PRId64, actual);
        FAIL(PLACE(expression, file, line), left, right, format);
    }
}

static void
print_u64(char *text, size_t cap, const char *before, uint64_t value)
{
    /* Beyond what counts usually are, the bits say more than the digits. */
    if (value > UINT32_MAX) {
        snprintf(text, cap, "%s%" PRIu64 " (0x%" PRIx64 ")", before, value,
                 value);
    } else {
        snprintf(text, cap, "%s%" PRIu64, before, value);
    }
}

void
conform_check_u64(uint64_t expected, uint64_t actual, const char *expression,
                  const char *file, int line, const char *format, ...)
{
    count(file, line);
    if (expected != actual) {
        char left[80];
        char right[80];
        print_u64(left, sizeof left, "", expected);
        print_u64(right, sizeof right, "", actual);
        FAIL(PLACE(expression, file, line), left, right, format);
    }
}

void
conform_check_at_most(uint64_t bound, uint64_t actual, const char *expression,
                      const char *file, int line, const char *format, ...)
{
    count(file, line);
    if (actual > bound) {
        char left[80];
        char right[80];
        print_u64(left, sizeof left, "at most ", bound);
        print_u64(right, sizeof right, "", actual);
        FAIL(PLACE(expression, file, line), left, right, format);
    }
}

void
conform_check_at_least(uint64_t bound, uint64_t actual, const char *expression,
                       const char *file, int line, const char *format, ...)
{
    count(file, line);
    if (actual < bound) {
        char left[80];
        char right[80];
        print_u64(left, sizeof left, "at least ", bound);
        print_u64(right, sizeof right, "", actual);
        FAIL(PLACE(expression, file, line), left, right, format);
    }
}

void
conform_check_ptr(const void *expected, const void *actual,
                  const char *expression, const char *file, int line,
                  const char *format, ...)
{
    count(file, line);
    if (expected != actual) {
        char left[32];
        char right[32];
        snprintf(left, sizeof left, "0x%" PRIxPTR, (uintptr_t)expected);
        snprintf(right, sizeof right, "0x%" PRIxPTR, (uintptr_t)actual);
        FAIL(PLACE(expression, file, line), left, right, format);
    }
}

const char *
conform_code_name(int32_t code)
{
    static const char *const names[] = {"FFI_OK", "FFI_ERR", "FFI_PANIC",
                                        "FFI_POISONED", "FFI_BAD_ARG"};
    static _Thread_local char other[32];
    if (code >= 0 && (size_t)code < sizeof names / sizeof names[0]) {
        return names[code];
    }
    snprintf(other, sizeof other, "code %" PRId32, code);
    return other;
}

void
conform_check_code(int32_t expected, int32_t actual, const char *expression,
                   const char *file, int line, const char *format, ...)
{
    count(file, line);
    if (expected != actual) {
        char left[32];
        snprintf(left, sizeof left, "%s", conform_code_name(expected));
        FAIL(PLACE(expression, file, line), left, conform_code_name(actual),
             format);
    }
}

#define WINDOW 16

/* "5 bytes, from 0: 01 02 03 04 05". */
static void
print_bytes(char *text, size_t cap, const uint8_t *bytes, size_t len,
            size_t from)
{
    if (bytes == NULL) {
        snprintf(text, cap, "NULL, %zu bytes", len);
        return;
    }
    int at = snprintf(text, cap, "%zu bytes, from %zu:", len, from);
    for (size_t i = from; i < len && i < from + WINDOW; i++) {
        at += snprintf(text + at, cap - (size_t)at, " %02x", bytes[i]);
    }
}

void
conform_check_bytes(const void *expected, size_t expected_len,
                    const void *actual, size_t actual_len,
                    const char *expression, const char *file, int line,
                    const char *format, ...)
{
    count(file, line);
    const uint8_t *left = expected;
    const uint8_t *right = actual;
    size_t common = expected_len < actual_len ? expected_len : actual_len;
    if (left == NULL || right == NULL) {
        common = 0;
    }
    bool same = common == 0 || memcmp(left, right, common) == 0;
    if (same && expected_len == actual_len && common == expected_len) {
        return;
    }
    size_t from = 0;
    while (from < common && left[from] == right[from]) {
        from++;
    }
    from = from > WINDOW / 4 ? from - WINDOW / 4 : 0;
    char left_text[128];
    char right_text[128];
    print_bytes(left_text, sizeof left_text, left, expected_len, from);
    print_bytes(right_text, sizeof right_text, right, actual_len, from);
    FAIL(PLACE(expression, file, line), left_text, right_text, format);
}

/* The text in quotes, with what cannot be printed as \xNN, cut to fit. */
static void
quote(char *text, size_t cap, const char *before, const void *bytes, size_t len)
{
    const unsigned char *from = bytes;
    size_t at = (size_t)snprintf(text, cap, "%s\"", before);
    size_t i = 0;
    while (i < len && at + 8 < cap) {
        unsigned char c = from[i++];
        if (c >= 0x20 && c != 0x7f && c < 0x80 && c != '"' && c != '\\') {
            text[at++] = (char)c;
        } else {
            at += (size_t)snprintf(text + at, cap - at, "\\x%02x", c);
        }
    }
    snprintf(text + at, cap - at, i < len ? "..." : "\"");
}

static bool
matches(enum conform_match how, const char *text, const void *actual,
        size_t actual_len)
{
    size_t len = strlen(text);
    if (actual == NULL) {
        return actual_len == 0 && (how == TEXT_LACKS || len == 0);
    }
    switch (how) {
    case TEXT_IS:
        return len == actual_len && memcmp(text, actual, len) == 0;
    case TEXT_BEGINS:
        return len <= actual_len && memcmp(text, actual, len) == 0;
    case TEXT_CONTAINS:
        return memmem(actual, actual_len, text, len) != NULL;
    case TEXT_LACKS:
        return memmem(actual, actual_len, text, len) == NULL;
    }
    return false;
}

void
conform_check_text(enum conform_match how, const char *text, const void *actual,
                   size_t actual_len, const char *expression, const char *file,
                   int line, const char *format, ...)
{
    static const char *const words[] = {"exactly ", "beginning with ",
                                        "containing ", "without "};
    count(file, line);
    if (matches(how, text, actual, actual_len)) {
        return;
    }
    char left[1024];
    char right[1024] = "NULL";
    quote(left, sizeof left, words[how], text, strlen(text));
    if (actual != NULL) {
        quote(right, sizeof right, "", actual, actual_len);
    }
    FAIL(PLACE(expression, file, line), left, right, format);
}
