/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "same_file.h"

#include <stdlib.h>
#include <string.h>

bool
same_file_case(const struct case_info *info)
{
    return strcmp(info->clauses.items[0], "a.same-file") == 0;
}

/* The value of a key in "KEY\tVALUE\n" lines; the last one counts. */
static char *
value_of(const char *evidence, const char *key)
{
    size_t width = strlen(key);
    char *value = NULL;
    for (const char *at = evidence ? evidence : ""; *at != '\0';) {
        size_t len = strcspn(at, "\n");
        if (len > width && strncmp(at, key, width) == 0 && at[width] == '\t') {
            free(value);
            value = need_format("%.*s", (int)(len - width - 1), at + width + 1);
        }
        at += len + (at[len] == '\n');
    }
    return value;
}

void
same_file_note(struct subject *subject, const char *expected,
               const struct result *result)
{
    char *id = value_of(result->evidence, "build-id");
    if (id == NULL || expected == NULL) {
        free(id);
        return;
    }
    subject->images++;
    if (strcmp(id, expected) != 0 && subject->stranger == NULL)
        subject->stranger = need_format("%s, not %s", id, expected);
    free(id);
}

static void
add_evidence(struct result *result, const char *key, const char *value)
{
    struct text text = {0};
    if (strchr(value, '\n') != NULL)
        return;
    text_add(&text, "%s%s\t%s\n", result->evidence ? result->evidence : "", key,
             value);
    free(result->evidence);
    result->evidence = text_take(&text);
}

/* One check; the first that fails decides. */
#define check(...) check_at(__LINE__, __VA_ARGS__)
static void
check_at(unsigned line, struct result *result, bool holds, const char *expected,
         const char *actual, const char *about)
{
    result->checks++;
    if (holds || result->verdict != VERDICT_PASS)
        return;
    result->verdict = VERDICT_FAIL;
    free(result->reason);
    result->reason = need_copy(about);
    free(result->message);
    result->message = need_copy(about);
    free(result->file);
    result->file = need_copy(__FILE__);
    result->line = line;
    free(result->expected);
    result->expected = need_copy(expected);
    free(result->actual);
    result->actual = need_copy(actual);
}

static void
check_file(struct result *result, const char *path, const char *sha256,
           const struct file_mark *mark, const char *what)
{
    char now[65] = "unreadable";
    struct file_mark marked;
    struct text about = {0};
    file_sha256(path, now);
    text_add(&about, "the SHA-256 of the %s is not what it was", what);
    check(result, strcmp(now, sha256) == 0, sha256, now, text_get(&about));
    text_free(&about);
    text_add(&about, "the %s was replaced or written to during the run", what);
    check(result, file_mark(path, &marked) && file_mark_same(mark, &marked),
          "the same inode, size and times of change", "others",
          text_get(&about));
    text_free(&about);
    text_add(&about, "sha256 of the %s", what);
    add_evidence(result, text_get(&about), now);
    text_free(&about);
}

static void
check_images(const struct subject *subject, struct result *result)
{
    char *seen = need_format("%zu", subject->images);
    add_evidence(result, "images compared", seen);
    free(seen);
    if (subject->images > 0) {
        check(result, subject->stranger == NULL, "one image",
              subject->stranger ? subject->stranger : "one image",
              "a case ran another image than the file that is judged");
        return;
    }
    if (result->verdict != VERDICT_PASS)
        return;
    result->verdict = VERDICT_OUT_OF_REACH;
    result->reason = need_copy("no build id shows which image was mapped "
                               "(link with --build-id)");
}

void
same_file_check(const struct subject *subject, struct result *result)
{
    const struct artifact *artifact = &subject->artifact;
    if (!subject->has_artifact)
        return;
    check_file(result, artifact->path, artifact->sha256, &artifact->mark,
               "artifact");
    for (size_t i = 0; i < subject->program_count; i++) {
        const struct linked *linked = &subject->linked[i];
        if (linked->build_id != NULL)
            add_evidence(result, "build id of the linked program",
                         linked->build_id);
        if (linked->path != NULL)
            check_file(result, linked->path, linked->sha256, &linked->mark,
                       "linked program");
    }
    if (subject->link_line != NULL) {
        check(result, strstr(subject->link_line, artifact->path) != NULL,
              artifact->path, subject->link_line,
              "the link line does not name the artifact");
        add_evidence(result, "link", subject->link_line);
    }
    if (subject->go_line != NULL) {
        check(result, strstr(subject->go_line, artifact->path) != NULL,
              artifact->path, subject->go_line,
              "the commands that built the Go cases do not name the artifact");
        add_evidence(result, "go build", subject->go_line);
    }
    check_images(subject, result);
}
