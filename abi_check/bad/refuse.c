/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * abi-check-bad: every check of this folder on its good control and on each
 * planted wrong input. A check must refuse the wrong one with the stated
 * words, in its first fault; refused for another reason is a failure.
 *
 *   abi-check-bad FOLDER   of abi_check/bad/inputs.sh
 *
 * One line for each row, then `N passed, N failed, N skipped`. Exits 0 when
 * none failed, 1 when one did, 2 for a wrong command line.
 */
#include "abi_check/bad/refuse.h"

#include <stdio.h>
#include <string.h>

static struct {
    int passed, failed, skipped;
} tally;

static const char *folder;

const char *
refuse_path(const char *name, char *path, size_t size)
{
    if (name[0] == '/')
        snprintf(path, size, "%s", name);
    else
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static const char *
expectation_name(enum expectation expected)
{
    static const char *const names[] = {"passes", "refused", "skipped",
                                        "lacking", "broken"};
    return names[expected];
}

static enum expectation
outcome_of(struct findings *found)
{
    if (found->broken[0] != '\0')
        return BROKEN;
    if (findings_refuses(found))
        return REFUSED;
    if (found->lacks[0] != '\0')
        return LACKING;
    return found->skip[0] != '\0' ? SKIPPED : PASSES;
}

/* Where the stated words must stand; for a refusal in the first fault. */
static void
words_of(const struct findings *found, enum expectation outcome, char *words,
         size_t size)
{
    const char *text = outcome == BROKEN    ? found->broken
                       : outcome == LACKING ? found->lacks
                       : outcome == SKIPPED ? found->skip
                       : outcome == REFUSED ? found->faults
                                            : found->notes;
    snprintf(words, size, "%s", text == NULL ? "" : text);
    if (outcome == REFUSED)
        words[strcspn(words, "\n")] = '\0';
}

void
refuse_judge(const char *check, const char *input, enum expectation expected,
             const char *expected_words, struct findings *found)
{
    char words[8192];
    enum expectation outcome = outcome_of(found);
    words_of(found, outcome, words, sizeof words);
    bool absent = outcome == SKIPPED && expected != SKIPPED &&
                  strstr(words, "is not installed") != NULL;
    bool good = outcome == expected &&
                (expected_words == NULL || strstr(words, expected_words));
    if (absent) {
        tally.skipped++;
        printf("skip - %s: %s # %s\n", check, input, words);
    } else if (good) {
        tally.passed++;
        printf("ok - %s: %s %s%s%s\n", check, input, expectation_name(expected),
               expected_words == NULL ? "" : ": ",
               expected_words == NULL ? "" : expected_words);
    } else {
        tally.failed++;
        printf("not ok - %s: %s: expected %s with \"%s\", got %s with "
               "\"%.400s\"\n",
               check, input, expectation_name(expected),
               expected_words == NULL ? "" : expected_words,
               expectation_name(outcome), words);
    }
    findings_free(found);
}

void
refuse_skip(const char *check, const char *input, const char *reason)
{
    tally.skipped++;
    printf("skip - %s: %s # %s\n", check, input, reason);
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: abi-check-bad FOLDER\n");
        return 2;
    }
    folder = argv[1];
    setvbuf(stdout, NULL, _IOLBF, 0);
    refuse_artifacts();
    refuse_layouts();
    refuse_headers();
    refuse_hardened();
    printf("%d passed, %d failed, %d skipped\n", tally.passed, tally.failed,
           tally.skipped);
    return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}
