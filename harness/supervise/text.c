/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exit_codes.h"

void *
need_memory(size_t count, size_t bytes)
{
    void *block = calloc(count ? count : 1, bytes ? bytes : 1);
    if (block == NULL)
        quit(EXIT_OUR_BUG, "out of memory");
    return block;
}

void *
need_more(void *block, size_t count, size_t bytes)
{
    void *grown = reallocarray(block, count ? count : 1, bytes);
    if (grown == NULL)
        quit(EXIT_OUR_BUG, "out of memory");
    return grown;
}

char *
need_copy(const char *string)
{
    char *copy = strdup(string);
    if (copy == NULL)
        quit(EXIT_OUR_BUG, "out of memory");
    return copy;
}

char *
need_format(const char *format, ...)
{
    struct text text = {0};
    va_list arguments;
    va_start(arguments, format);
    text_addv(&text, format, arguments);
    va_end(arguments);
    return text_take(&text);
}

void
text_add_bytes(struct text *text, const char *bytes, size_t len)
{
    if (text->len + len + 1 > text->cap) {
        size_t cap = text->cap ? text->cap : 64;
        while (cap < text->len + len + 1)
            cap *= 2;
        text->bytes = need_more(text->bytes, cap, 1);
        text->cap = cap;
    }
    if (len > 0)
        memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
}

void
text_addv(struct text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0)
        return;
    char *line = need_memory((size_t)len + 1, 1);
    vsnprintf(line, (size_t)len + 1, format, arguments);
    text_add_bytes(text, line, (size_t)len);
    free(line);
}

void
text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_addv(text, format, arguments);
    va_end(arguments);
}

/* Length of the UTF-8 character at bytes, 0 when there is none. */
static size_t
character(const unsigned char *bytes, size_t len)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 65536}};
    if (bytes[0] < 0x80)
        return bytes[0] >= 0x20 && bytes[0] != 0x7f;
    for (size_t form = 0; form < 3; form++) {
        size_t size = form + 2;
        if ((bytes[0] & forms[form].mask) != forms[form].lead)
            continue;
        if (len < size)
            return 0;
        uint32_t value = bytes[0] & (unsigned char)~forms[form].mask;
        for (size_t i = 1; i < size; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (bytes[i] & 0x3f);
        }
        bool bad = value < forms[form].least || value > 0x10ffff ||
                   (value >= 0xd800 && value < 0xe000) || value == 0xfffe ||
                   value == 0xffff || (value >= 0x80 && value < 0xa0);
        return bad ? 0 : size;
    }
    return 0;
}

void
text_add_clean(struct text *text, const char *bytes, size_t len)
{
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < len;) {
        size_t size = character(at + i, len - i);
        if (at[i] == '\n' || at[i] == '\t')
            size = 1;
        if (size == 0) {
            text_add(text, "\\x%02x", at[i]);
            i++;
            continue;
        }
        text_add_bytes(text, bytes + i, size);
        i += size;
    }
}

void
text_add_shell(struct text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        text_add_bytes(text, word, strlen(word));
        return;
    }
    text_add_bytes(text, "'", 1);
    for (const char *at = word; *at; at++) {
        if (*at == '\'')
            text_add_bytes(text, "'\\''", 4);
        else
            text_add_bytes(text, at, 1);
    }
    text_add_bytes(text, "'", 1);
}

const char *
text_get(const struct text *text)
{
    return text->bytes ? text->bytes : "";
}

void
text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

char *
text_take(struct text *text)
{
    text_add_bytes(text, "", 0);
    char *bytes = text->bytes;
    *text = (struct text){0};
    return bytes;
}

bool
text_read_file(struct text *text, const char *path)
{
    enum { BLOCK = 65536, MOST = 16 * 1024 * 1024 };
    char block[BLOCK];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = 0;
    while ((got = read(fd, block, sizeof block)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            text_add_bytes(text, block, (size_t)got);
        if (text->len > MOST)
            errno = EFBIG;
        if (got < 0 || text->len > MOST)
            break;
    }
    int error = errno;
    close(fd);
    errno = error;
    return got == 0;
}

void
strings_add(struct strings *list, const char *item)
{
    if (list->count == list->cap) {
        list->cap = list->cap ? 2 * list->cap : 8;
        list->items = need_more(list->items, list->cap, sizeof(char *));
    }
    list->items[list->count++] = need_copy(item);
}

bool
strings_have(const struct strings *list, const char *item)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], item) == 0)
            return true;
    }
    return false;
}

void
strings_free(struct strings *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct strings){0};
}

char **
strings_argv(struct strings *list)
{
    strings_add(list, "");
    free(list->items[--list->count]);
    list->items[list->count] = NULL;
    return list->items;
}

void
strings_join(const struct strings *list, const char *between, struct text *text)
{
    for (size_t i = 0; i < list->count; i++)
        text_add(text, "%s%s", i ? between : "", list->items[i]);
}

static void
complainv(const char *format, va_list arguments)
{
    fflush(stdout);
    fputs("gusset-conform: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void
complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complainv(format, arguments);
    va_end(arguments);
}

void
quit(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complainv(format, arguments);
    va_end(arguments);
    exit(code);
}

uint64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
