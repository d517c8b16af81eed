// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
	"gusset.dev/go/cases/raw"
)

var _ = conform.Register(conform.Case{
	ID:       "h.close.twice",
	Clauses:  "h.close",
	Why:      "A second Close frees what the first one freed.",
	Steps:    "Open; close; close, also from eight goroutines at once.",
	Expected: "All return nil; native code is asked once.",
	Mutant:   "go-close-again",
	Run: func(t *conform.T) {
		for range t.Rounds(20, 400) {
			mark := raw.Now()
			h := open(t, 2)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { t.NoError(h.Close(), "one Close of eight at once") })
			}
			all.Wait()
			t.NoError(h.Close(), "Close once more")
			calls, _ := raw.Since(mark, raw.HandleClose)
			conform.Equal(t, 1, len(calls), "calls of gusset_handle_close")
		}
	},
})

var _ = conform.Register(conform.Case{
	ID:      "h.close.second-waits",
	Clauses: "h.close",
	Why:     "Who closed a handle may free what its engine used; a Close that returns early lets that go too soon.",
	Steps: "One goroutine closes a handle whose unit does not end yet; when it is inside native code another " +
		"closes, too.",
	Expected: "When the second returns, the native close of the first has returned.",
	Mutant:   "go-second-close-returns",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		for range t.Rounds(3, 30) {
			closeTwice(t)
		}
	},
})

func closeTwice(t *conform.T) {
	h := open(t, 1)
	_, err := h.Submit(background, deaf(30))
	t.NoError(err, "submit")
	mark, before := raw.Now(), raw.Count(raw.HandleClose)
	t.Go(func() { t.NoError(h.Close(), "the first Close") })
	t.Eventually(func() bool { return raw.Count(raw.HandleClose) > before }, "the first Close is inside native code")
	t.NoError(h.Close(), "the second Close")
	ended, _ := raw.Since(mark, raw.HandleClose)
	conform.Equal(t, 1, len(ended), "native closes that had returned when the second Close did")
}

var _ = conform.Register(conform.Case{
	ID:       "h.close.releases-waiters",
	Clauses:  "h.close h.errors",
	Why:      "A request that is left waiting for a closed handle never answers its client.",
	Steps:    "Goroutines in Call, more than the pool takes, and in Wait and WaitBuffer; close.",
	Expected: "Close returns; each of them has ErrClosed, as a waiter or as a late caller.",
	Mutant:   "go-close-leaves-waiters go-close-native-first go-closed-error-not-matched go-permit-waiters-outlive-close",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		const pool, callers, tickets = 6, 6, 4
		h := open(t, pool)
		errs := make(chan error, callers+tickets)
		for i := range tickets {
			ticket, err := h.Submit(background, cooperative(255))
			t.NoError(err, "submit")
			t.Go(func() { errs <- waitEither(h, ticket, i%2 == 0) })
		}
		before := raw.Count(raw.Submit)
		for range callers {
			t.Go(func() {
				_, err := h.Call(background, cooperative(255))
				errs <- err
			})
		}
		t.Eventually(func() bool { return raw.Count(raw.Submit) == before+pool-tickets }, "the pool is full")
		t.NoError(h.Close(), "close")
		for range callers + tickets {
			err := conform.Receive(t, errs, "each waiter is released")
			t.ErrorIs(err, gusset.ErrClosed, "a waiter at Close")
			text := err.Error()
			t.True(text == textClosed || text == textIsClosed, "the text of a waiter at Close is %q", text)
		}
	},
})

func waitEither(h *gusset.Handle, ticket uint64, buffer bool) error {
	if buffer {
		_, err := h.WaitBuffer(background, ticket)
		return err
	}
	_, err := h.Wait(background, ticket)
	return err
}

var _ = conform.Register(conform.Case{
	ID:       "h.close.races-calls",
	Clauses:  "h.close",
	Why:      "A Close beside running calls is the end of every service; a call into a freed handle crashes it.",
	Steps:    "Four goroutines call, buffers among the inputs, until they are refused; close in the middle.",
	Expected: "Each call has the right result or ErrClosed; no native call on the handle follows the native close.",
	Run: func(t *conform.T) {
		for round := range t.Rounds(40, 1000) {
			raceClose(t, round)
		}
	},
})

func raceClose(t *conform.T, round int) {
	h := open(t, 2)
	mark := raw.Now()
	var callers sync.WaitGroup
	begun := make(chan bool, 4)
	for i := range 4 {
		callers.Go(func() {
			for n := 0; ; n++ {
				if err := callOnce(t, h, fmt.Sprintf("%d.%d.%d", round, i, n), n%4 == 3); err != nil {
					t.ErrorIs(err, gusset.ErrClosed, "a call beside Close")
					return
				}
				if n == 0 {
					begun <- true
				}
			}
		})
	}
	conform.Receive(t, begun, "the first call is through")
	t.NoError(h.Close(), "close")
	callers.Wait()
	checkNothingAfterClose(t, mark)
}

// callOnce calls an echo, of a buffer or not, and checks what comes back.
func callOnce(t *conform.T, h *gusset.Handle, text string, inBuffer bool) error {
	input := echo(text)
	if !inBuffer {
		result, err := h.Call(context.Background(), input)
		if err == nil {
			t.Bytes(input, result, "an echo beside Close")
		}
		return err
	}
	buffer, err := h.NewBuffer(len(input))
	if err != nil {
		return err
	}
	copy(buffer.Bytes(), input)
	result, err := h.CallBuffer(context.Background(), buffer)
	if err == nil {
		result.Free()
	}
	buffer.Free()
	return err
}

// checkNothingAfterClose looks at the order in which native calls returned.
func checkNothingAfterClose(t *conform.T, mark raw.Mark) {
	closed := false
	for _, call := range raw.All(mark) {
		switch call.Function {
		case raw.HandleClose:
			closed = true
		case raw.Submit, raw.Take, raw.Cancel, raw.CancelAll, raw.BufAlloc, raw.BufFree:
			t.True(!closed, "native call of function %d, after the native close", call.Function)
		}
	}
	t.True(closed, "the native close is in the log")
}

var _ = conform.Register(conform.Case{
	ID:       "h.close.waits-for-calls",
	Clauses:  "h.close",
	Why:      "A handle that is freed under a call that is inside native code crashes the service.",
	Steps:    "Keep a submission on its way into native code; close; let it go on as soon as the native close begins, or after 100 ms.",
	Expected: "The native close does not begin before the submission has returned.",
	Mutant:   "go-gate-not-shut",
	Run: func(t *conform.T) {
		h := open(t, 1)
		submits, closes := raw.Count(raw.Submit), raw.Count(raw.HandleClose)
		release := raw.Hold(raw.Submit)
		t.Go(func() {
			if _, err := h.Call(background, echo("inside")); err != nil {
				t.ErrorIs(err, gusset.ErrClosed, "the call")
			}
		})
		t.Eventually(func() bool { return raw.Count(raw.Submit) > submits }, "a submission is inside")
		closed := make(chan error, 1)
		t.Go(func() { closed <- h.Close() })
		// What must not happen can only be given time to happen.
		for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
			conform.Equal(t, closes, raw.Count(raw.HandleClose), "native closes begun while a submission is inside")
		}
		release()
		t.NoError(conform.Receive(t, closed, "Close returns"), "close")
	},
})
