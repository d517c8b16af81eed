/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Design notes. `judge` asks a fixed row of questions; the first that has an
 * answer decides. The order matters: what the system saw (a hang, a signal)
 * outranks what the process wrote about itself, and everything that speaks
 * against the case outranks its own PASSED.
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "census.h"

static const char *const phases[] = {
    "before it mapped its page", "while loading the implementation",
    "in its body", "after its body", "after its recorded end"};

__attribute__((format(printf, 3, 4))) static bool
decide(struct result *result, enum verdict verdict, const char *format, ...)
{
    struct text reason = {0};
    va_list arguments;
    va_start(arguments, format);
    text_addv(&reason, format, arguments);
    va_end(arguments);
    free(result->reason);
    result->verdict = verdict;
    result->reason = text_take(&reason);
    return true;
}

static bool
terminated(const char *field, size_t bytes)
{
    return memchr(field, '\0', bytes) != NULL;
}

/* NULL, or what makes the page impossible. */
static const char *
page_fault(const struct observation *seen)
{
    const struct conform_page *page = seen->page;
    if (seen->page_trouble != NULL)
        return seen->page_trouble;
    if (page->magic != CONFORM_PAGE_MAGIC ||
        page->version != CONFORM_PAGE_VERSION || page->bytes != sizeof *page)
        return "its head is overwritten";
    if (page->phase > CONFORM_PHASE_ENDED)
        return "no such phase";
    if (page->outcome > CONFORM_OUTCOME_BROKEN)
        return "no such outcome";
    if (!terminated(page->file, sizeof page->file) ||
        !terminated(page->expression, sizeof page->expression) ||
        !terminated(page->expected, sizeof page->expected) ||
        !terminated(page->actual, sizeof page->actual) ||
        !terminated(page->message, sizeof page->message) ||
        !terminated(page->reason, sizeof page->reason) ||
        !terminated(page->marker, sizeof page->marker))
        return "a text has no end";
    if (page->census_before_bytes > CONFORM_CENSUS_BYTES ||
        page->census_after_bytes > CONFORM_CENSUS_BYTES ||
        page->evidence_bytes > CONFORM_EVIDENCE_BYTES)
        return "a length is past its field";
    return NULL;
}

static char *
clean(const char *bytes, size_t len)
{
    struct text text = {0};
    if (len == 0)
        return NULL;
    text_add_clean(&text, bytes, len);
    return text_take(&text);
}

static void
copy_page(const struct conform_page *page, struct result *result)
{
    result->checks = page->checks;
    result->line = page->line;
    result->file = clean(page->file, strlen(page->file));
    result->expression = clean(page->expression, strlen(page->expression));
    result->expected = clean(page->expected, strlen(page->expected));
    result->actual = clean(page->actual, strlen(page->actual));
    result->message = clean(page->message, strlen(page->message));
    result->marker = clean(page->marker, strlen(page->marker));
    result->evidence = clean(page->evidence, page->evidence_bytes);
}

/* The words of UBSan, "FILE:LINE:COLUMN: runtime error: ", and not those of a
 * panic in Go, "panic: runtime error: ". */
static bool
undefined_behaviour(const char *output)
{
    static const char words[] = ": runtime error: ", panic[] = "panic";
    const size_t before = strlen(panic);
    const char *at = output;
    while ((at = strstr(at, words)) != NULL) {
        if ((size_t)(at - output) < before ||
            strncmp(at - before, panic, before) != 0)
            return true;
        at += strlen(words);
    }
    return false;
}

static const char *
sanitizer(const char *output)
{
    static const struct {
        const char *words;
        const char *name;
    } known[] = {
        {"ERROR: AddressSanitizer", "AddressSanitizer"},
        {"WARNING: ThreadSanitizer", "ThreadSanitizer"},
        {"FATAL: ThreadSanitizer", "ThreadSanitizer"},
        {"WARNING: MemorySanitizer", "MemorySanitizer"},
        {"ERROR: LeakSanitizer", "LeakSanitizer"},
        {"WARNING: DATA RACE", "Go's race detector"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strstr(output, known[i].words) != NULL)
            return known[i].name;
    }
    return undefined_behaviour(output) ? "UndefinedBehaviorSanitizer" : NULL;
}

/* The exit codes that sanitizers use when the output was cut or redirected. */
static const char *
sanitizer_code(int code)
{
    if (code == 66)
        return "; 66 is ThreadSanitizer's code";
    return code == 23 ? "; 23 is LeakSanitizer's code" : "";
}

/* Also a thread that was about to record a failure and never came to it; but
 * whoever ends the case otherwise claims those fields too. */
static bool
check_failed(const struct conform_page *page)
{
    return page->outcome == CONFORM_OUTCOME_FAILED ||
           (page->failing != 0 && (page->outcome == CONFORM_OUTCOME_NONE ||
                                   page->outcome == CONFORM_OUTCOME_PASSED));
}

/* A recorded failure, said in one line. */
static bool
decide_failed(const struct observation *seen, struct result *result)
{
    struct text then = {0};
    const char *what = result->message;
    if (what == NULL)
        what = result->expression ? result->expression : "a check failed";
    if (WIFSIGNALED(seen->wait_status)) {
        text_add(&then, "; then ");
        describe_ending(seen->wait_status, &then);
    }
    decide(result, VERDICT_FAIL, "%.*s%s", (int)strcspn(what, "\n"), what,
           text_get(&then));
    text_free(&then);
    return true;
}

static bool
ask_start(const struct observation *seen, struct result *result)
{
    if (seen->not_started == NULL)
        return false;
    return decide(result, VERDICT_BROKEN, "could not be started: %s",
                  seen->not_started);
}

static bool
ask_hang(const struct observation *seen, struct result *result, bool readable)
{
    if (!seen->timed_out)
        return false;
    return decide(result, VERDICT_HANG, "no end within %.2f s, %s%s%s%s%s%s",
                  seen->patience_s,
                  readable ? phases[seen->page->phase] : "page unreadable",
                  result->marker ? " past marker " : "",
                  result->marker ? result->marker : "",
                  seen->states[0] ? " (" : "", seen->states,
                  seen->states[0] ? ")" : "");
}

/* The declared death: exactly this signal, after exactly this marker. */
static bool
died_as_declared(const struct observation *seen, struct result *result)
{
    const struct case_info *info = seen->info;
    const char *reached = seen->page->marker;
    if (WTERMSIG(seen->wait_status) != info->dies_by) {
        struct text wanted = {0};
        text_add(&wanted, "%s", signal_name(info->dies_by));
        decide(result, VERDICT_CRASH, "killed by %s, declared to die by %s",
               signal_name(WTERMSIG(seen->wait_status)), text_get(&wanted));
        text_free(&wanted);
        return true;
    }
    if (info->marker == NULL)
        return decide(result, VERDICT_BROKEN,
                      "declares a death but no marker before it");
    if (strcmp(reached, info->marker) != 0)
        return decide(result, VERDICT_CRASH,
                      "killed by %s before the marker %s (last marker: %s)",
                      signal_name(info->dies_by), info->marker,
                      result->marker ? result->marker : "none");
    return decide(result, VERDICT_PASS, "died by %s after %s, as declared",
                  signal_name(info->dies_by), info->marker);
}

static bool
ask_signal(const struct observation *seen, struct result *result,
           const char *fault)
{
    if (!WIFSIGNALED(seen->wait_status))
        return false;
    if (fault == NULL && check_failed(seen->page))
        return decide_failed(seen, result);
    if (seen->info->dies_by != 0 && fault == NULL)
        return died_as_declared(seen, result);
    struct text ending = {0};
    describe_ending(seen->wait_status, &ending);
    decide(result, VERDICT_CRASH, "%s, %s", text_get(&ending),
           fault == NULL ? phases[seen->page->phase]
                         : "and its page is garbage");
    text_free(&ending);
    return true;
}

/* How an exit without a signal is to be read, its own words aside. */
static bool
ask_exit(const struct observation *seen, struct result *result)
{
    const struct conform_page *page = seen->page;
    int code = WEXITSTATUS(seen->wait_status);
    if (check_failed(page))
        return decide_failed(seen, result);
    if (page->phase == CONFORM_PHASE_EMPTY)
        return decide(result, VERDICT_BROKEN, "never mapped its page (exit %d)",
                      code);
    if (page->phase != CONFORM_PHASE_ENDED)
        return decide(result, VERDICT_FAIL,
                      "exit %d without a recorded end, %s, after %llu checks%s",
                      code, phases[page->phase],
                      (unsigned long long)page->checks, sanitizer_code(code));
    if (code != 0)
        return decide(result, VERDICT_FAIL, "exit %d after its recorded end%s",
                      code, sanitizer_code(code));
    return false;
}

/* What the case says of itself, when nothing else speaks against it. */
static bool
ask_outcome(const struct observation *seen, struct result *result)
{
    const struct conform_page *page = seen->page;
    char *reason = clean(page->reason, strcspn(page->reason, "\n"));
    const char *why = reason ? reason : "no reason given";
    switch (page->outcome) {
    case CONFORM_OUTCOME_SKIPPED:
        decide(result, reason ? VERDICT_SKIP : VERDICT_BROKEN, "%s", why);
        break;
    case CONFORM_OUTCOME_OUT_OF_REACH:
        decide(result, reason ? VERDICT_OUT_OF_REACH : VERDICT_BROKEN, "%s",
               why);
        break;
    case CONFORM_OUTCOME_BROKEN:
        decide(result, VERDICT_BROKEN, "%s", why);
        break;
    case CONFORM_OUTCOME_PASSED:
        free(reason);
        return false;
    default:
        decide(result, VERDICT_BROKEN, "ended without an outcome");
        break;
    }
    free(reason);
    return true;
}

/* The census, where one is due. */
static void
ask_census(const struct observation *seen, struct result *result)
{
    const struct conform_page *page = seen->page;
    struct text words = {0};
    if (seen->info->tags & CASE_NO_CENSUS)
        return;
    enum census_answer answer =
        census_compare(page->census_before, page->census_before_bytes,
                       page->census_after, page->census_after_bytes, &words);
    const char *first = text_get(&words);
    if (answer == CENSUS_DIFFERS)
        decide(result, VERDICT_LEAK, "%.*s", (int)strcspn(first, "\n"), first);
    if (answer == CENSUS_UNREADABLE)
        decide(result, VERDICT_BROKEN, "%.*s", (int)strcspn(first, "\n"),
               first);
    result->differences = text_take(&words);
}

/* The file that ran must be the file that is judged [a.same-file]. */
static bool
ask_image(const struct observation *seen, struct result *result)
{
    static const char key[] = "build-id\t";
    const char *at = result->evidence;
    while (seen->build_id != NULL && at != NULL && *at != '\0') {
        size_t len = strcspn(at, "\n");
        const char *id = at + strlen(key);
        if (strncmp(at, key, strlen(key)) == 0 &&
            (at + len != id + strlen(seen->build_id) ||
             strncmp(id, seen->build_id, strlen(seen->build_id)) != 0))
            return decide(result, VERDICT_BROKEN,
                          "ran the image %.*s, not the one judged, %s",
                          (int)(at + len - id), id, seen->build_id);
        at += len + (at[len] == '\n');
    }
    return false;
}

static void
ask_passed(const struct observation *seen, struct result *result)
{
    if (seen->info->dies_by != 0) {
        decide(result, VERDICT_FAIL, "survived, declared to die by %s",
               signal_name(seen->info->dies_by));
        return;
    }
    if (seen->page->checks == 0) {
        decide(result, VERDICT_BROKEN, "passed without executing a check");
        return;
    }
    result->verdict = VERDICT_PASS;
    free(result->reason);
    result->reason = NULL;
    ask_census(seen, result);
}

/* What spoils a verdict that was not bad so far. */
static void
ask_spoilers(const struct observation *seen, struct result *result)
{
    const char *report = sanitizer(seen->output);
    size_t left = strcspn(seen->leftovers, "\n");
    bool good =
        !verdict_against(result->verdict) && !verdict_unclear(result->verdict);
    if (left > 0) {
        struct text words = {0};
        text_add(&words, "%s%s", result->differences ? result->differences : "",
                 seen->leftovers);
        free(result->differences);
        result->differences = text_take(&words);
        if (good)
            decide(result, VERDICT_LEAK, "%.*s", (int)left, seen->leftovers);
    }
    if (report == NULL || seen->timed_out)
        return;
    struct text ending = {0};
    describe_ending(seen->wait_status, &ending);
    bool leak = strcmp(report, "LeakSanitizer") == 0;
    if (result->verdict != VERDICT_FAIL || result->expression == NULL)
        decide(result, leak ? VERDICT_LEAK : VERDICT_FAIL,
               "%s reported (%s), see its output", report, text_get(&ending));
    text_free(&ending);
}

void
judge(const struct observation *seen, struct result *result)
{
    result->verdict = VERDICT_FAIL;
    result->reason = need_copy("nothing proves that it passed");
    if (ask_start(seen, result))
        return;
    const char *fault = page_fault(seen);
    struct text ending = {0};
    if (seen->timed_out)
        text_add(&ending, "still running, killed by the watchdog");
    else
        describe_ending(seen->wait_status, &ending);
    result->ending = text_take(&ending);
    if (fault == NULL)
        copy_page(seen->page, result);
    if (ask_hang(seen, result, fault == NULL) ||
        ask_signal(seen, result, fault)) {
        ask_spoilers(seen, result);
        return;
    }
    if (fault != NULL)
        decide(result, VERDICT_BROKEN, "its page is garbage: %s", fault);
    else if (!ask_exit(seen, result) && !ask_image(seen, result) &&
             !ask_outcome(seen, result))
        ask_passed(seen, result);
    ask_spoilers(seen, result);
}
