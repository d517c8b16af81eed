/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "waivers.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clauses.h"
#include "exit_codes.h"

static const char *const members[] = {"clause", "kind", "owner",
                                      "reason", "link", "expires"};
enum { MEMBERS = sizeof members / sizeof members[0], LONGEST = 4096 };

/* An item of the file while it is read. */
struct place {
    const char *path;
    size_t number; /* from 1 */
};

__attribute__((noreturn, format(printf, 2, 3))) static void
refuse(const struct place *place, const char *format, ...)
{
    struct text what = {0};
    va_list arguments;
    va_start(arguments, format);
    text_addv(&what, format, arguments);
    va_end(arguments);
    quit(EXIT_USAGE, "--waive %s: item %zu: %s", place->path, place->number,
         text_get(&what));
}

/* What came from the file is cleaned before it is shown. */
static char *
shown(const char *words)
{
    struct text text = {0};
    text_add_clean(&text, words, strlen(words));
    return text_take(&text);
}

static const char *
member(const struct place *place, const json_t *item, const char *name)
{
    const json_t *value = json_object_get(item, name);
    if (value == NULL)
        refuse(place, "%s is missing", name);
    if (!json_is_string(value))
        refuse(place, "%s is no text", name);
    const char *text = json_string_value(value);
    if (text[strspn(text, " ")] == '\0')
        refuse(place, "%s is empty", name);
    for (const char *at = text; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == '\177')
            refuse(place, "%s holds a control character", name);
    }
    if (strlen(text) > LONGEST)
        refuse(place, "%s is longer than %d bytes", name, LONGEST);
    return text;
}

static void
check_members(const struct place *place, json_t *item)
{
    const char *name = NULL;
    json_t *value = NULL;
    if (!json_is_object(item))
        refuse(place, "is no object");
    json_object_foreach(item, name, value)
    {
        bool known = false;
        for (int i = 0; i < MEMBERS; i++)
            known = known || strcmp(name, members[i]) == 0;
        if (!known)
            refuse(place, "there is no member %s", shown(name));
    }
}

static enum verdict
read_kind(const struct place *place, const char *word)
{
    for (int i = 0; i < VERDICT_COUNT; i++) {
        if (verdict_against((enum verdict)i) &&
            strcmp(verdict_word((enum verdict)i), word) == 0)
            return (enum verdict)i;
    }
    refuse(place, "kind %s is not FAIL, CRASH, HANG or LEAK", shown(word));
}

static bool
is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days are compared as text: the form makes their order that of time. */
static bool
is_day(const char *word)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30,
                                  31, 31, 30, 31, 30, 31};
    static const char form[] = "0000-00-00";
    if (strlen(word) != strlen(form))
        return false;
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool digit = word[i] >= '0' && word[i] <= '9';
        if (form[i] == '0' ? !digit : word[i] != form[i])
            return false;
    }
    int year = atoi(word), month = atoi(word + 5), day = atoi(word + 8);
    if (year == 0 || month < 1 || month > 12)
        return false;
    return day >= 1 &&
           day <= lengths[month - 1] + (month == 2 && is_leap(year));
}

/* Something to follow: http or https and a host. */
static bool
is_url(const char *word)
{
    size_t scheme = strncmp(word, "https://", 8) == 0  ? 8
                    : strncmp(word, "http://", 7) == 0 ? 7
                                                       : 0;
    size_t host = scheme ? strcspn(word + scheme, "/:?# ") : 0;
    return host > 0 && strpbrk(word, " \"<>") == NULL;
}

static struct waiver
read_item(const struct place *place, json_t *item, const char *today)
{
    check_members(place, item);
    const char *texts[MEMBERS];
    for (int i = 0; i < MEMBERS; i++)
        texts[i] = member(place, item, members[i]);
    if (clause_find(texts[0]) == NULL)
        refuse(place, "the contract has no clause %s", shown(texts[0]));
    enum verdict kind = read_kind(place, texts[1]);
    if (!is_url(texts[4]))
        refuse(place, "link %s is no http or https URL", shown(texts[4]));
    if (!is_day(texts[5]))
        refuse(place, "expires %s is no day YYYY-MM-DD", shown(texts[5]));
    return (struct waiver){.clause = need_copy(texts[0]),
                           .kind = kind,
                           .owner = shown(texts[2]),
                           .reason = shown(texts[3]),
                           .link = shown(texts[4]),
                           .expires = need_copy(texts[5]),
                           .expired = strcmp(texts[5], today) < 0};
}

static json_t *
read_file(const char *path)
{
    struct text text = {0};
    json_error_t error;
    if (!text_read_file(&text, path))
        quit(EXIT_USAGE, "--waive %s: %s", path, strerror(errno));
    json_t *root =
        json_loadb(text_get(&text), text.len, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        quit(EXIT_USAGE, "--waive %s:%d: no JSON: %s", path, error.line,
             shown(error.text));
    if (!json_is_array(root))
        quit(EXIT_USAGE, "--waive %s: must be an array of waivers", path);
    text_free(&text);
    return root;
}

void
waivers_read(struct waivers *waivers, const char *path)
{
    char today[16];
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(today, sizeof today, "%Y-%m-%d", &utc);
    json_t *root = read_file(path);
    *waivers = (struct waivers){.path = path};
    waivers->items = need_memory(json_array_size(root), sizeof *waivers->items);
    for (size_t i = 0; i < json_array_size(root); i++) {
        struct place place = {path, i + 1};
        struct waiver read = read_item(&place, json_array_get(root, i), today);
        for (size_t j = 0; j < i; j++) {
            if (waivers->items[j].kind == read.kind &&
                strcmp(waivers->items[j].clause, read.clause) == 0)
                refuse(&place, "%s of %s is waived by item %zu already",
                       verdict_word(read.kind), read.clause, j + 1);
        }
        waivers->items[waivers->count++] = read;
    }
    json_decref(root);
}

const struct waiver *
waivers_find(const struct waivers *waivers, const char *clause,
             enum verdict kind)
{
    for (size_t i = 0; waivers != NULL && i < waivers->count; i++) {
        const struct waiver *waiver = &waivers->items[i];
        if (!waiver->expired && waiver->kind == kind &&
            strcmp(waiver->clause, clause) == 0)
            return waiver;
    }
    return NULL;
}
