/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * text.h - growing strings, lists of strings, and the one way to give up.
 *
 * Nothing here fails: a supervisor without memory has nothing left to judge,
 * so it ends with EXIT_OUR_BUG and one line.
 */
#ifndef SUPERVISE_TEXT_H
#define SUPERVISE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A string that grows. All zero is the empty one; bytes[len] is NUL. */
struct text {
    char *bytes;
    size_t len;
    size_t cap;
};

void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_addv(struct text *text, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
void text_add_bytes(struct text *text, const char *bytes, size_t len);
/*
 * Adds bytes that came from outside in a form that a terminal, JSON and XML
 * all carry: bytes that are not UTF-8 and control characters other than
 * newline and tab are spelled \xNN.
 */
void text_add_clean(struct text *text, const char *bytes, size_t len);
/* Adds a word so that a shell reads it back as it is. */
void text_add_shell(struct text *text, const char *word);
/* The string, never NULL. */
const char *text_get(const struct text *text);
void text_free(struct text *text);
/* Hands the string over (caller frees) and leaves the text empty. */
char *text_take(struct text *text);

/*
 * Adds what is in the file. False with errno when it cannot be read, or is
 * larger than 16 MiB (EFBIG).
 */
bool text_read_file(struct text *text, const char *path);

/* A list of strings it owns. All zero is the empty one. */
struct strings {
    char **items;
    size_t count;
    size_t cap;
};

void strings_add(struct strings *list, const char *item);
bool strings_have(const struct strings *list, const char *item);
void strings_free(struct strings *list);
/* The items with NULL behind them, until the list changes. */
char **strings_argv(struct strings *list);
/* "a, b, c" into text. */
void strings_join(const struct strings *list, const char *between,
                  struct text *text);

/* Prints "gusset-conform: ..." as one line to stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, then exits with code. */
__attribute__((noreturn, format(printf, 2, 3))) void
quit(int code, const char *format, ...);

void *need_memory(size_t count, size_t bytes);
void *need_more(void *block, size_t count, size_t bytes);
char *need_copy(const char *string);
char *need_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Monotonic nanoseconds. */
uint64_t now_ns(void);

#endif /* SUPERVISE_TEXT_H */
