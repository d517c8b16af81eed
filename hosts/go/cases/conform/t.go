// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"time"
)

// exitFailedAside ends a run whose failed check does not return to the runner.
const exitFailedAside = 97

// T is the run of one case. Its methods may be called from any goroutine.
type T struct {
	page    *page
	options *options
	rand    *rand.Rand
	started sync.WaitGroup // of Go
}

// Impl is the path of the artifact, or empty.
func (t *T) Impl() string { return t.options.impl }

// surveyShare is how many times fewer rounds a survey has.
const surveyShare = 16

// Rounds is how often to repeat: core, or most under --effort nightly.
func (t *T) Rounds(core, most int) int {
	switch {
	case t.options.effort == nightly:
		return most
	case t.options.effort == survey && core < most:
		return (core + surveyShare - 1) / surveyShare
	}
	return core
}

// Rand draws from the seed that the report names. One goroutine only.
func (t *T) Rand() *rand.Rand { return t.rand }

// Patience is how long to wait for what must come; scaled by the run. Never a
// time that the subject has to keep.
func (t *T) Patience() time.Duration {
	return time.Duration(t.options.scale * float64(10*time.Second))
}

// Eventually waits for a condition, up to Patience; then the check fails. Use
// it only for what no handshake can show.
func (t *T) Eventually(condition func() bool, words string, args ...any) {
	for end := time.Now().Add(t.Patience()); ; time.Sleep(time.Millisecond) {
		if condition() {
			t.passed(true)
			return
		}
		if time.Now().After(end) {
			t.passed(false)
			t.failed(failure{"Eventually", "true within " + t.Patience().String(), "false"}, words, args...)
		}
	}
}

// Receive waits for a value from a channel, up to Patience; then the check
// fails.
func Receive[V any](t *T, from <-chan V, words string, args ...any) V {
	timer := time.NewTimer(t.Patience())
	defer timer.Stop()
	select {
	case got := <-from:
		t.passed(true)
		return got
	case <-timer.C:
		t.passed(false)
		t.failed(failure{"Receive", "a value within " + t.Patience().String(), "none"}, words, args...)
		panic("unreachable")
	}
}

// Go starts a goroutine that the end of the case waits for.
func (t *T) Go(body func()) { t.started.Go(body) }

// Evidence adds a fact to the report.
func (t *T) Evidence(key, format string, args ...any) {
	t.page.addEvidence(key, fmt.Sprintf(format, args...))
}

// Marker says how far the case came, for the report of a hang or a crash.
func (t *T) Marker(name string) {
	put(t.page.marker[:], name)
	if t.page.foreground {
		fmt.Fprintf(os.Stderr, "conform: marker %s\n", name)
	}
}

// Skip ends the case: it does not apply here.
func (t *T) Skip(format string, args ...any) {
	t.endWith(outcomeSkipped, fmt.Sprintf(format, args...))
}

// OutOfReach ends the case: the subject or the machine lacks what it needs.
func (t *T) OutOfReach(format string, args ...any) {
	t.endWith(outcomeOutOfReach, fmt.Sprintf(format, args...))
}

// Broken ends the case: it could not judge.
func (t *T) Broken(format string, args ...any) {
	t.endWith(outcomeBroken, fmt.Sprintf(format, args...))
}

func (t *T) endWith(outcome uint32, reason string) {
	t.own()
	put(t.page.reason[:], reason)
	t.page.end(outcome)
	t.exit(0)
}

func (t *T) fail(f failure, file string, line int, message string) {
	t.own()
	p := t.page
	put(p.file[:], file)
	p.line = uint32(line)
	put(p.expression[:], f.check)
	put(p.expected[:], f.expected)
	put(p.actual[:], f.actual)
	put(p.message[:], message)
	p.end(outcomeFailed)
	t.exit(exitFailedAside)
}

// own lets the first one tell what ended the case; others wait for the end.
func (t *T) own() {
	if !t.page.claim() {
		select {}
	}
}

// exit ends the process where it stands.
func (t *T) exit(code int) {
	if t.page.foreground {
		code = t.page.show(t.options.run)
	}
	t.page.enter(phaseEnded)
	os.Exit(code)
}

// settle gives what ends in the background the time to end: goroutines,
// threads of the library, and what the garbage collector has to give back.
func (t *T) settle(before *census) {
	for end := time.Now().Add(t.Patience() / 2); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		now := look()
		if (now.goroutines <= before.goroutines && now.threads <= before.threads) ||
			time.Now().After(end) {
			return
		}
	}
}
