// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
	"gusset.dev/go/cases/raw"
)

// A Shutdown in Go is for the whole process and for good, which is why each of
// these cases needs a process of its own; every case has one.

// shutdown ends the process's work; nothing is in flight that could not end.
func shutdown(t *conform.T, budget time.Duration) {
	t.NoError(gusset.Shutdown(budget), "Shutdown with a budget of %v", budget)
}

var _ = conform.Register(conform.Case{
	ID:       "h.shutdown.refuses",
	Clauses:  "h.shutdown",
	Why:      "Work that a process accepts after it was told to end is lost with it.",
	Steps:    "Shut down; submit in every way on an old handle and on a new one; shut down again; once more.",
	Expected: "ErrShutdown each time, which is no cancellation; gusset_init is never called again.",
	Mutant:   "go-shutdown-not-latched go-open-initialises-again",
	Run: func(t *conform.T) {
		old := open(t, 1)
		buffer, err := old.NewBuffer(64)
		t.NoError(err, "a buffer")
		shutdown(t, time.Second)
		inits := raw.Count(raw.Init)
		for range 2 {
			checkRefusing(t, old, buffer)
			if fresh, err := gusset.Open(gusset.WithDiagnosticEngine()); err == nil {
				checkRefusing(t, fresh, nil)
				t.NoError(fresh.Close(), "close of the new handle")
			} else {
				t.ErrorIs(err, gusset.ErrShutdown, "an Open that is refused")
			}
			shutdown(t, time.Second)
		}
		conform.Equal(t, inits, raw.Count(raw.Init), "calls of gusset_init")
		t.NoError(buffer.Free(), "free")
		t.NoError(old.Close(), "close of the old handle")
	},
})

func checkRefusing(t *conform.T, h *gusset.Handle, buffer *gusset.Buffer) {
	_, err := h.Call(background, echo("late"))
	checkShutdown(t, err, "Call")
	_, err = h.Submit(background, echo("late"))
	checkShutdown(t, err, "Submit")
	_, err = h.NewBuffer(64)
	checkShutdown(t, err, "NewBuffer")
	if buffer != nil {
		_, err = h.CallBuffer(background, buffer)
		checkShutdown(t, err, "CallBuffer")
	}
}

func checkShutdown(t *conform.T, err error, what string) {
	t.ErrorIs(err, gusset.ErrShutdown, "%s after Shutdown", what)
	t.ErrorIsNot(err, context.Canceled, "%s after Shutdown", what)
}

var _ = conform.Register(conform.Case{
	ID:       "h.shutdown.keeps-results",
	Clauses:  "h.shutdown",
	Why:      "What was finished before the end is a client's answer.",
	Steps:    "Finish units, small and large; shut down; wait, wait for a buffer, discard, free, close.",
	Expected: "All work; the results are right.",
	Mutant:   "go-wait-refused-in-shutdown",
	Run: func(t *conform.T) {
		const pool, large = 4, 100000
		h := open(t, pool)
		var tickets [pool]uint64
		for i, input := range [][]byte{echo("kept"), generated(large, 0), generated(large, 7), echo("left")} {
			ticket, err := h.Submit(background, input)
			t.NoError(err, "submit")
			tickets[i] = ticket
		}
		finish(t, h, pool)
		buffer, err := h.NewBuffer(64)
		t.NoError(err, "a buffer")
		shutdown(t, 5*time.Second)
		result, err := h.Wait(background, tickets[0])
		t.NoError(err, "Wait after Shutdown")
		t.Bytes(echo("kept"), result, "the result of Wait")
		result, err = h.Wait(background, tickets[1])
		t.NoError(err, "Wait for a large result after Shutdown")
		t.Bytes(pattern(large, 0), result, "the large result")
		kept, err := h.WaitBuffer(background, tickets[2])
		t.NoError(err, "WaitBuffer after Shutdown")
		t.Bytes(pattern(large, 7), kept.Bytes(), "the result of WaitBuffer")
		t.NoError(h.Discard(tickets[3]), "Discard after Shutdown")
		t.NoError(errors.Join(kept.Free(), buffer.Free(), h.Close()), "Free and Close after Shutdown")
	},
})

// pattern is what generated(n, seed) gives.
func pattern(n int, seed byte) []byte {
	bytes := make([]byte, n)
	for i := range bytes {
		bytes[i] = byte(i) ^ seed
	}
	return bytes
}

// finish waits until the units that were submitted so far have ended and their
// completions were read: it holds every place of the pool at once.
func finish(t *conform.T, h *gusset.Handle, pool int) {
	var places []uint64
	for range pool {
		ticket, err := h.Submit(background, cooperative(255))
		t.NoError(err, "submit")
		places = append(places, ticket)
	}
	for _, ticket := range places {
		t.NoError(h.Discard(ticket), "discard")
	}
}

var _ = conform.Register(conform.Case{
	ID:       "h.shutdown.cancels",
	Clauses:  "h.shutdown h.errors",
	Why:      "A shutdown that waits for requests to end by themselves takes as long as the slowest.",
	Steps:    "Units that run and callers that wait for a permit; shut down with a large budget.",
	Expected: "All of them end with ErrShutdown, which is no cancellation; Shutdown returns nil.",
	Mutant:   "go-shutdown-is-a-cancel",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		const pool, callers = 2, 6
		h := open(t, pool)
		errs := make(chan error, callers)
		before := raw.Count(raw.Submit)
		for range callers {
			t.Go(func() {
				_, err := h.Call(background, deaf(20, cooperative(255)...))
				errs <- err
			})
		}
		t.Eventually(func() bool { return raw.Count(raw.Submit) == before+pool }, "the pool is full")
		shutdown(t, 20*time.Second)
		for range callers {
			err := conform.Receive(t, errs, "each caller is released")
			checkShutdown(t, err, "a Call that was under way")
		}
		t.NoError(h.Close(), "close")
	},
})

var _ = conform.Register(conform.Case{
	ID:      "h.shutdown.incomplete",
	Clauses: "h.shutdown h.errors",
	Why:     "A process that is told that all has ended, and it has not, frees what an engine still uses.",
	Steps: "In a process of its own: shut down with a budget of 10 ms while a unit sleeps; again with time. Where " +
		"the unit had not begun, and so ended at once, again with a longer pause.",
	Expected: "ErrShutdownIncomplete; then nil; the library was given 10 and 20000 ms.",
	Mutant:   "go-shutdown-always-complete go-shutdown-budget-cut shutdown-code-always-ok",
	Tags:     conform.Sleeps,
	Timeout:  60 * time.Second,
	Run: func(t *conform.T) {
		for pause := 5 * time.Millisecond; ; pause *= 4 {
			ended := t.RunChild("shutdown-incomplete", nil, pause.String())
			if ended.Code == complete && pause < 1500*time.Millisecond {
				continue
			}
			conform.Equal(t, 0, ended.Code, "exit status of the process, which said: %s", ended.Output)
			t.Evidence("pause", "%v", pause)
			return
		}
	},
})

// complete is the child's exit code when nothing was in flight any more.
const complete = 3

var _ = conform.RegisterChild("shutdown-incomplete", func(arguments []string) int {
	pause, err := time.ParseDuration(arguments[0])
	if err != nil {
		return report("pause", err)
	}
	h, err := gusset.Open(gusset.WithPoolSize(1), gusset.WithDiagnosticEngine())
	if err != nil {
		return report("open", err)
	}
	if _, err = h.Submit(background, long()); err != nil {
		return report("submit", err)
	}
	time.Sleep(pause)
	mark := raw.Now()
	err = gusset.Shutdown(10 * time.Millisecond)
	if err == nil {
		report("a Shutdown of 10 ms", err)
		return complete
	}
	if !errors.Is(err, gusset.ErrShutdownIncomplete) || errors.Is(err, gusset.ErrShutdown) {
		return report("a Shutdown of 10 ms", err)
	}
	if err = gusset.Shutdown(20 * time.Second); err != nil {
		return report("a Shutdown of 20 s", err)
	}
	calls, _ := raw.Since(mark, raw.Shutdown)
	if len(calls) != 2 || calls[0].Number != 10 || calls[1].Number != 20000 {
		return report(fmt.Sprintf("native shutdowns %+v", calls), nil)
	}
	if err := h.Close(); err != nil {
		return report("close", err)
	}
	return 0
})

// report tells the case what a child saw.
func report(what string, err error) int {
	fmt.Printf("%s: %v\n", what, err)
	return 1
}
