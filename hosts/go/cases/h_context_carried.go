// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
	"gusset.dev/go/cases/raw"
)

// oneSubmission is the only one that native code has seen since a mark.
func oneSubmission(t *conform.T, mark raw.Mark, what string) raw.Call {
	calls, _ := raw.Since(mark, raw.Submit)
	conform.Equal(t, 1, len(calls), "native submissions by %s", what)
	return calls[0]
}

// eachWay makes one submission of an input with a context, in each way that
// there is, and hands over what native code saw of it.
func eachWay(t *conform.T, h *gusset.Handle, ctx context.Context, input []byte, look func(string, raw.Call, []byte)) {
	ways := []struct {
		name string
		run  func() ([]byte, error)
	}{
		{"Call", func() ([]byte, error) { return h.Call(ctx, input) }},
		{"Submit", func() ([]byte, error) { return submitAndWait(h, ctx, input) }},
		{"CallBuffer", func() ([]byte, error) { return callBuffer(t, h, ctx, input) }},
		{"Submit of a buffer", func() ([]byte, error) {
			buffer := filled(t, h, input)
			result, err := submitAndWait(h, ctx, buffer)
			return result, errors.Join(err, buffer.Free())
		}},
	}
	for _, way := range ways {
		mark := raw.Now()
		result, err := way.run()
		t.NoError(err, "%s", way.name)
		look(way.name, oneSubmission(t, mark, way.name), result)
	}
}

func submitAndWait(h *gusset.Handle, ctx context.Context, input any) ([]byte, error) {
	ticket, err := h.Submit(ctx, input)
	if err != nil {
		return nil, err
	}
	return h.Wait(background, ticket)
}

func filled(t *conform.T, h *gusset.Handle, input []byte) *gusset.Buffer {
	buffer, err := h.NewBuffer(len(input))
	t.NoError(err, "a buffer")
	copy(buffer.Bytes(), input)
	return buffer
}

func callBuffer(t *conform.T, h *gusset.Handle, ctx context.Context, input []byte) ([]byte, error) {
	buffer := filled(t, h, input)
	result, err := h.CallBuffer(ctx, buffer)
	if err != nil {
		return nil, err
	}
	return slices.Clone(result.Bytes()), errors.Join(result.Free(), buffer.Free())
}

var _ = conform.Register(conform.Case{
	ID:       "h.context-carried.deadline",
	Clauses:  "h.context-carried",
	Why:      "An engine that does not know the deadline works on for a client that has gone.",
	Steps:    "Submit in each way with deadlines of a minute, an hour, and none; read the header that native code got.",
	Expected: "timeout_ns is the time that was left then, between what is left before and after; 0 without a deadline.",
	Mutant:   "go-timeout-absolute go-timeout-of-buffers-lost go-timeout-in-milliseconds",
	Run: func(t *conform.T) {
		h := open(t, 2)
		for _, timeout := range []time.Duration{time.Minute, time.Hour} {
			ctx, cancel := context.WithTimeout(background, timeout)
			deadline, _ := ctx.Deadline()
			before := time.Until(deadline)
			eachWay(t, h, ctx, echo("in time"), func(way string, call raw.Call, _ []byte) {
				after := time.Until(deadline)
				conform.AtMost(t, uint64(before), call.TimeoutNS, "timeout_ns of %s, %v before the deadline", way, before)
				conform.AtLeast(t, uint64(after), call.TimeoutNS, "timeout_ns of %s, %v before the deadline", way, after)
				before = time.Until(deadline)
			})
			cancel()
		}
		eachWay(t, h, background, echo("no hurry"), func(way string, call raw.Call, _ []byte) {
			conform.Equal(t, 0, call.TimeoutNS, "timeout_ns of %s without a deadline", way)
		})
		t.NoError(h.Close(), "close")
	},
})

var _ = conform.Register(conform.Case{
	ID:      "h.context-carried.deadline-after-waiting",
	Clauses: "h.context-carried",
	Why:     "A timeout that was worked out before the wait for a place runs past the deadline by that wait.",
	Steps: "A pool of one is kept busy for 200 ms; a call with a deadline in a minute waits for its place; read the " +
		"header that native code got.",
	Expected: "timeout_ns is at most what was left when the first unit can have ended.",
	Mutant:   "go-timeout-before-permit",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		const busy = 200 * time.Millisecond
		h := open(t, 1)
		ctx, cancel := context.WithTimeout(background, time.Minute)
		defer cancel()
		deadline, _ := ctx.Deadline()
		started := time.Until(deadline)
		_, err := h.Submit(background, deaf(byte(busy/(10*time.Millisecond))))
		t.NoError(err, "submit")
		mark := raw.Now()
		_, err = h.Call(ctx, echo("patient"))
		t.NoError(err, "the call that waits")
		call := oneSubmission(t, mark, "the call that waits")
		conform.AtMost(t, uint64(started-busy), call.TimeoutNS, "timeout_ns after the wait")
		conform.AtLeast(t, uint64(time.Until(deadline)), call.TimeoutNS, "timeout_ns after the wait")
		t.NoError(h.Close(), "close")
	},
})

var _ = conform.Register(conform.Case{
	ID:      "h.context-carried.span",
	Clauses: "h.context-carried",
	Why:     "An engine's traces that hang in the air cannot be joined with the request's.",
	Steps: "Submit in each way with the ids of a context, of a span function, of both, and with none; read the " +
		"header that native code got, and what the engine saw.",
	Expected: "The ids of the context, else of the function, else zeros.",
	Mutant:   "go-span-dropped go-span-of-the-function-first go-silent-span-function-heeded",
	Run: func(t *conform.T) {
		own := span{trace: [16]byte{1, 2, 3, 15: 16}, id: [8]byte{17, 7: 24}}
		other := span{trace: [16]byte{0xa1, 15: 0xb6}, id: [8]byte{0xc7, 7: 0xd8}}
		plain := open(t, 2)
		function := open(t, 2, gusset.WithSpanFunc(func(context.Context) ([16]byte, [8]byte, bool) {
			return other.trace, other.id, true
		}))
		silent := open(t, 2, gusset.WithSpanFunc(func(context.Context) ([16]byte, [8]byte, bool) {
			return other.trace, other.id, false
		}))
		with := gusset.ContextWithSpan(background, own.trace, own.id)
		checkSpan(t, plain, with, own, "a context with ids")
		checkSpan(t, plain, background, span{}, "a context without ids")
		checkSpan(t, function, background, other, "a span function")
		checkSpan(t, function, with, own, "a span function and a context with ids")
		checkSpan(t, silent, background, span{}, "a span function without ids")
		t.NoError(errors.Join(plain.Close(), function.Close(), silent.Close()), "close")
	},
})

type span struct {
	trace [16]byte
	id    [8]byte
}

func checkSpan(t *conform.T, h *gusset.Handle, ctx context.Context, want span, what string) {
	eachWay(t, h, ctx, ids(), func(way string, call raw.Call, result []byte) {
		conform.Equal(t, want.trace, call.TraceID, "trace_id of %s with %s", way, what)
		conform.Equal(t, want.id, call.SpanID, "span_id of %s with %s", way, what)
		t.Bytes(slices.Concat(want.trace[:], want.id[:]), result, "what the engine sees of %s with %s", way, what)
	})
}

var _ = conform.Register(conform.Case{
	ID:       "h.context-carried.cancel",
	Clauses:  "h.context-carried h.deadline-bounds-caller",
	Why:      "An engine that is not told works on, and keeps its place in the pool, for nobody.",
	Steps:    "End the context of a Call, a Submit, a Wait and a CallBuffer while the unit runs.",
	Expected: "gusset_cancel of that very ticket; the place in the pool is free long before the unit's own end.",
	Mutant:   "go-end-of-call-not-cancelled go-end-of-submit-not-cancelled",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		h := open(t, 1)
		ends := map[string]func(context.Context) error{
			"Call":   func(ctx context.Context) error { return callLong(ctx, h) },
			"Submit": func(ctx context.Context) error { return submitLong(t, ctx, h) },
			"Wait":   func(ctx context.Context) error { return waitLong(t, ctx, h) },
			"CallBuffer": func(ctx context.Context) error {
				buffer := filled(t, h, cooperative(255))
				_, err := h.CallBuffer(ctx, buffer)
				return errors.Join(err, buffer.Free())
			},
		}
		for name, end := range ends {
			mark := raw.Now()
			err := end(endingContext(t, false))
			t.ErrorIs(err, context.Canceled, "%s", name)
			ticket := oneSubmission(t, mark, name).Ticket
			t.Eventually(func() bool { return cancelled(mark, ticket) }, "gusset_cancel of the ticket of %s", name)
			calls, _ := raw.Since(mark, raw.Cancel)
			for _, call := range calls {
				conform.Equal(t, ticket, call.Ticket, "the ticket that is cancelled after %s", name)
			}
		}
		t.NoError(h.Close(), "close")
	},
})

func cancelled(mark raw.Mark, ticket uint64) bool {
	calls, _ := raw.Since(mark, raw.Cancel)
	return slices.ContainsFunc(calls, func(call raw.Call) bool { return call.Ticket == ticket })
}
