/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The glue to Check: one suite, one test case, one test, no fork. Check gives
 * the fixture and the way out of a failed check; what happened is on the page,
 * because Check's own word would not survive the process.
 */
#define _GNU_SOURCE
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static pthread_t main_thread;
static uint32_t threads_before;
static bool body_returned;

void
conform_wait_for_the_end(void)
{
    for (;;) {
        pause();
    }
}

void
conform_leave_case(void)
{
    if (conform_in_child()) {
        _exit(CONFORM_EXIT_FAILED_ASIDE);
    }
    if (!pthread_equal(pthread_self(), main_thread)) {
        if (conform_run.foreground) {
            (void)conform_show();
            fflush(stdout);
        }
        _exit(CONFORM_EXIT_FAILED_ASIDE);
    }
    ck_abort_msg("the page says why");
    abort();
}

/*
 * A thread that cannot unwind to the runner ends the run where it stands: what
 * is recorded is whole, and no failure, so the end is an orderly one.
 */
static void
end_here_if_aside(void)
{
    if (pthread_equal(pthread_self(), main_thread)) {
        return;
    }
    int code = conform_run.foreground ? conform_show() : 0;
    fflush(stdout);
    conform_page_phase(CONFORM_PHASE_ENDED);
    _exit(code);
}

/* Ends the case with a reason in place of a judgement. */
__attribute__((noreturn)) static void
end_with_reason(enum conform_outcome outcome, const char *format, va_list args)
{
    char reason[sizeof conform_page->reason];
    vsnprintf(reason, sizeof reason, format, args);
    if (conform_in_child()) {
        fprintf(stderr, "conform: in a forked child: %s\n", reason);
    } else if (conform_page_claim()) {
        conform_page_text(conform_page->reason, sizeof conform_page->reason,
                          reason);
        conform_page_outcome(outcome);
        end_here_if_aside();
    } else {
        conform_wait_for_the_end();
    }
    conform_leave_case();
}

void
conform_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_with_reason(CONFORM_OUTCOME_SKIPPED, format, args);
}

void
conform_out_of_reach(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_with_reason(CONFORM_OUTCOME_OUT_OF_REACH, format, args);
}

void
conform_broken(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_with_reason(CONFORM_OUTCOME_BROKEN, format, args);
}

uint32_t
conform_transport(void)
{
    return conform_run.transport;
}

/* How many times fewer rounds a survey has. */
enum { SURVEY_SHARE = 16 };

uint32_t
conform_rounds(uint32_t core, uint32_t nightly)
{
    /* Where a nightly run has the smaller number it is no count of rounds. */
    if (conform_run.effort == CONFORM_EFFORT_SURVEY && core < nightly)
        return (core + SURVEY_SHARE - 1) / SURVEY_SHARE;
    return conform_run.effort == CONFORM_EFFORT_NIGHTLY ? nightly : core;
}

const char *
conform_impl_path(void)
{
    return conform_run.impl;
}

/* Cancelled before it runs, most likely; disabled, it ends by itself. */
static void *
uncancelled(void *argument)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return argument;
}

/*
 * The first pthread_exit or pthread_cancel of a process makes the C library
 * load the unwinder and take a signal for itself: a subject that uses them
 * must not be blamed for either.
 */
static void
warm_c_library(void)
{
    pthread_t thread;
    (void)dlopen("libgcc_s.so.1", RTLD_NOW);
    if (pthread_create(&thread, NULL, uncancelled, NULL) != 0) {
        conform_broken("no thread for the warm-up of the C library");
    }
    (void)pthread_cancel(thread);
    pthread_join(thread, NULL);
}

/*
 * Check handles these while it runs tests, for timeouts that are not its
 * business here; the subject is to see them as the host started with them.
 */
static const int check_signals[] = {SIGALRM, SIGINT, SIGTERM};
#define CHECK_SIGNALS (sizeof check_signals / sizeof check_signals[0])
static struct sigaction host_actions[CHECK_SIGNALS];

static void
save_signals(void)
{
    for (size_t i = 0; i < CHECK_SIGNALS; i++) {
        sigaction(check_signals[i], NULL, &host_actions[i]);
    }
}

static void
restore_signals(void)
{
    for (size_t i = 0; i < CHECK_SIGNALS; i++) {
        sigaction(check_signals[i], &host_actions[i], NULL);
    }
}

static void
set_up(void)
{
    const struct conform_case *declared = conform_run.declared;
    restore_signals();
    conform_memory_reserve();
    warm_c_library();
    conform_calibrate();
    /* A sanitizer starts its own thread with the first one of the program. */
    conform_threads_baseline();
    conform_load_note();
    conform_subject_load(conform_run.impl);
    conform_load_compare();
    conform_image_evidence();
    conform_guard_install();
    conform_claims_begin();
    if (conform_needs(declared, "engine") && !conform_engine_present()) {
        conform_out_of_reach("the subject has no gse_ engine API");
    }
    if (conform_needs(declared, "test-engine")) {
        conform_test_engine_start();
    }
    if (conform_subject_present() && (declared->tags & CONFORM_COLD) == 0) {
        conform_warm_up();
    }
}

/*
 * Both censuses belong to the test, not to its fixture: Check changes the
 * descriptor of its own messages in between.
 */
static void
take_first_census(void)
{
    threads_before = conform_thread_count();
    conform_page->census_before_bytes = conform_census_write(
        conform_page->census_before, sizeof conform_page->census_before);
    conform_page_phase(CONFORM_PHASE_BODY);
}

static void
take_second_census(void)
{
    conform_fences_end();
    if ((conform_run.declared->tags & CONFORM_NO_CENSUS) == 0) {
        conform_settle_threads(threads_before);
    }
    conform_page->census_after_bytes = conform_census_write(
        conform_page->census_after, sizeof conform_page->census_after);
    conform_page_phase(CONFORM_PHASE_RETURNED);
}

/* A case left half-way owes no clean state: its verdict stands. */
START_TEST(run_declared)
{
    take_first_census();
    conform_run.declared->run();
    conform_guard_end();
    conform_claims_heed_children();
    take_second_census();
    body_returned = true;
}
END_TEST

/* A bare ck_assert of Check in a case counts as well as one of ours. */
static void
take_over_from_check(SRunner *runner)
{
    TestResult **failures = srunner_failures(runner);
    if (failures == NULL || failures[0] == NULL) {
        return;
    }
    conform_page_count_check();
    conform_page_text(conform_page->file, sizeof conform_page->file,
                      tr_lfile(failures[0]));
    conform_page->line = (uint32_t)tr_lno(failures[0]);
    conform_page_text(conform_page->message, sizeof conform_page->message,
                      tr_msg(failures[0]));
    conform_page_outcome(CONFORM_OUTCOME_FAILED);
    free(failures);
}

void
conform_run_case(void)
{
    main_thread = pthread_self();
    save_signals();
    Suite *suite = suite_create("conform");
    TCase *test_case = tcase_create(conform_run.declared->id);
    tcase_add_checked_fixture(test_case, set_up, NULL);
    tcase_add_test(test_case, run_declared);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_SILENT);
    int failed = srunner_ntests_failed(runner);
    if (conform_page_outcome_now() == CONFORM_OUTCOME_NONE) {
        if (failed != 0 || !body_returned) {
            take_over_from_check(runner);
        } else {
            conform_page_outcome(CONFORM_OUTCOME_PASSED);
        }
    }
    srunner_free(runner);
}
