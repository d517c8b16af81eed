// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// A check counts itself; the first that fails, on whichever goroutine, is
// recorded with its place and ends the process where it stands: whatever the
// subject holds goes with it. The words are about what is checked, in the form
// of fmt.Sprintf.

// failure is what a failed check has to tell.
type failure struct {
	check            string
	expected, actual string
}

// passed counts a check and says whether it held.
func (t *T) passed(ok bool) bool {
	t.page.countCheck()
	return ok
}

// failed ends the run. It is called by the check itself, whose caller is the
// place that is blamed.
func (t *T) failed(f failure, words string, args ...any) {
	_, file, line, _ := runtime.Caller(2)
	t.fail(f, inTree(file), line, fmt.Sprintf(words, args...))
}

// True checks a condition.
func (t *T) True(condition bool, words string, args ...any) {
	if !t.passed(condition) {
		t.failed(failure{"True", "true", "false"}, words, args...)
	}
}

// Fail fails always.
func (t *T) Fail(words string, args ...any) {
	t.passed(false)
	t.failed(failure{"Fail", "not to come here", "came here"}, words, args...)
}

// NoError checks that there is no error.
func (t *T) NoError(err error, words string, args ...any) {
	if !t.passed(err == nil) {
		t.failed(failure{"NoError", "no error", describe(err)}, words, args...)
	}
}

// ErrorIs checks that errors.Is(err, target).
func (t *T) ErrorIs(err, target error, words string, args ...any) {
	if !t.passed(errors.Is(err, target)) {
		t.failed(failure{"ErrorIs", "an error that is " + describe(target), describe(err)}, words, args...)
	}
}

// ErrorIsNot checks that there is an error, and that it does not match target.
func (t *T) ErrorIsNot(err, target error, words string, args ...any) {
	if !t.passed(err != nil && !errors.Is(err, target)) {
		t.failed(failure{"ErrorIsNot", "an error that is not " + describe(target), describe(err)}, words, args...)
	}
}

// ErrorText checks that the error's text is exactly this.
func (t *T) ErrorText(err error, text string, words string, args ...any) {
	if !t.passed(err != nil && err.Error() == text) {
		t.failed(failure{"ErrorText", fmt.Sprintf("%q", text), describe(err)}, words, args...)
	}
}

// Contains checks that a text contains another.
func (t *T) Contains(text, part string, words string, args ...any) {
	if !t.passed(strings.Contains(text, part)) {
		t.failed(failure{"Contains", fmt.Sprintf("a text with %q", part), short(text)}, words, args...)
	}
}

// Bytes checks that two slices hold the same bytes.
func (t *T) Bytes(expected, actual []byte, words string, args ...any) {
	if !t.passed(bytes.Equal(expected, actual)) {
		t.failed(failure{"Bytes", around(expected, actual), around(actual, expected)}, words, args...)
	}
}

// Equal checks that two values are equal.
func Equal[V comparable](t *T, expected, actual V, words string, args ...any) {
	if !t.passed(expected == actual) {
		t.failed(failure{"Equal", value(expected), value(actual)}, words, args...)
	}
}

// NotEqual checks that two values differ.
func NotEqual[V comparable](t *T, unexpected, actual V, words string, args ...any) {
	if !t.passed(unexpected != actual) {
		t.failed(failure{"NotEqual", "not " + value(unexpected), value(actual)}, words, args...)
	}
}

// AtMost checks an upper bound.
func AtMost[V cmp.Ordered](t *T, bound, actual V, words string, args ...any) {
	if !t.passed(actual <= bound) {
		t.failed(failure{"AtMost", "at most " + value(bound), value(actual)}, words, args...)
	}
}

// AtLeast checks a lower bound.
func AtLeast[V cmp.Ordered](t *T, bound, actual V, words string, args ...any) {
	if !t.passed(actual >= bound) {
		t.failed(failure{"AtLeast", "at least " + value(bound), value(actual)}, words, args...)
	}
}

// ErrorAs checks that err has an E in its chain, and returns that.
func ErrorAs[E error](t *T, err error, words string, args ...any) E {
	found, ok := errors.AsType[E](err)
	if !t.passed(ok) {
		t.failed(failure{"ErrorAs", fmt.Sprintf("an error that is a %T", found), describe(err)}, words, args...)
	}
	return found
}

func value(v any) string {
	if text, ok := v.(string); ok {
		return short(text)
	}
	return fmt.Sprintf("%v", v)
}

func describe(err error) string {
	if err == nil {
		return "no error"
	}
	return fmt.Sprintf("%T: %s", err, short(err.Error()))
}

const shownBytes = 240

func short(text string) string {
	if len(text) > shownBytes {
		return fmt.Sprintf("%q... (%d bytes)", text[:shownBytes], len(text))
	}
	return fmt.Sprintf("%q", text)
}

// around shows bytes from where they first differ from others.
func around(bytes, others []byte) string {
	at := 0
	for at < len(bytes) && at < len(others) && bytes[at] == others[at] {
		at++
	}
	end := min(at+16, len(bytes))
	return fmt.Sprintf("%d bytes, at %d: % x", len(bytes), at, bytes[at:end])
}
