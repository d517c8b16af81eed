// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
	"gusset.dev/go/cases/raw"
)

var background = context.Background()

// afterClose are the texts of what every call gets after Close.
const (
	textIsClosed = "gusset: handle is closed"
	textClosed   = "gusset: handle closed"
)

var _ = conform.Register(conform.Case{
	ID:       "h.errors.panic",
	Clauses:  "h.errors h.poison-fails-fast",
	Why:      "An operator who cannot see where the engine panicked cannot mend it.",
	Steps:    "Let the engine panic in a Call, in a Wait, and through the C API alone; call once more.",
	Expected: "ErrPanic and *Error with code, message, file and line as the C API has them; then ErrPoisoned, code 3.",
	Mutant:   "go-place-dropped go-panic-not-matched",
	Run: func(t *conform.T) {
		_, err := raw.Run(raw.Header{Flags: raw.Diagnostic}, panicking())
		native := conform.ErrorAs[*raw.Status](t, err, "the panic by the C API")
		for _, submitted := range []bool{false, true} {
			h := open(t, 1)
			err := panicOn(t, h, submitted)
			t.ErrorIs(err, gusset.ErrPanic, "a unit that panics")
			t.ErrorIsNot(err, gusset.ErrPoisoned, "a unit that panics")
			e := conform.ErrorAs[*gusset.Error](t, err, "a unit that panics")
			conform.Equal(t, raw.Panic, int(e.Code), "its code")
			conform.Equal(t, native.Msg, e.Msg, "its message")
			conform.Equal(t, native.File, e.File, "its file")
			conform.Equal(t, int(native.Line), int(e.Line), "its line")
			_, err = h.Call(background, echo("again"))
			t.ErrorIs(err, gusset.ErrPoisoned, "a call on the poisoned handle")
			t.ErrorIsNot(err, gusset.ErrPanic, "a call on the poisoned handle")
			t.NoError(h.Close(), "close")
		}
	},
})

func panicOn(t *conform.T, h *gusset.Handle, submitted bool) error {
	if !submitted {
		_, err := h.Call(background, panicking())
		return err
	}
	ticket, err := h.Submit(background, panicking())
	t.NoError(err, "submit")
	_, err = h.Wait(background, ticket)
	return err
}

var _ = conform.Register(conform.Case{
	ID:       "h.errors.engine",
	Clauses:  "h.errors",
	Why:      "An engine's own words that are lost, or taken for something else, mislead whoever reads them.",
	Steps:    "Call a unit that ends with an error, and the same through the C API alone.",
	Expected: "*Error with code 1 and the C API's message; none of the package's errors matches.",
	Mutant:   "go-message-dropped",
	Run: func(t *conform.T) {
		h := open(t, 1)
		_, err := raw.Run(raw.Header{Flags: raw.Diagnostic}, refused())
		native := conform.ErrorAs[*raw.Status](t, err, "the error by the C API")
		_, err = h.Call(background, refused())
		e := conform.ErrorAs[*gusset.Error](t, err, "the unit's error")
		conform.Equal(t, raw.Err, int(e.Code), "its code")
		conform.Equal(t, native.Msg, e.Msg, "its message")
		conform.Equal(t, "", e.File, "its file")
		for _, other := range []error{gusset.ErrClosed, gusset.ErrPanic, gusset.ErrPoisoned,
			gusset.ErrUnknownTicket, gusset.ErrTicketBusy, gusset.ErrBufferBudget, gusset.ErrShutdown,
			gusset.ErrShutdownIncomplete, context.Canceled, context.DeadlineExceeded} {
			t.ErrorIsNot(err, other, "the unit's error")
		}
		t.NoError(h.Close(), "close")
	},
})

var _ = conform.Register(conform.Case{
	ID:       "h.errors.tickets",
	Clauses:  "h.errors",
	Why:      "A ticket that is waited for twice gives one result to two owners.",
	Steps:    "Wait for a ticket twice, discard it, discard one twice, wait for one that nobody issued.",
	Expected: "The result once, else ErrUnknownTicket.",
	Mutant:   "go-unknown-ticket-is-closed",
	Run: func(t *conform.T) {
		h := open(t, 2)
		ticket, err := h.Submit(background, echo("once"))
		t.NoError(err, "submit")
		result, err := h.Wait(background, ticket)
		t.NoError(err, "the first wait")
		t.Bytes(echo("once"), result, "the result")
		_, err = h.Wait(background, ticket)
		t.ErrorIs(err, gusset.ErrUnknownTicket, "the second wait")
		_, err = h.WaitBuffer(background, ticket)
		t.ErrorIs(err, gusset.ErrUnknownTicket, "a WaitBuffer after that")
		t.ErrorIs(h.Discard(ticket), gusset.ErrUnknownTicket, "a Discard after that")
		ticket, err = h.Submit(background, echo("given up"))
		t.NoError(err, "submit")
		t.NoError(h.Discard(ticket), "the first discard")
		t.ErrorIs(h.Discard(ticket), gusset.ErrUnknownTicket, "the second discard")
		_, err = h.Wait(background, ticket^1<<40)
		t.ErrorIs(err, gusset.ErrUnknownTicket, "a ticket that nobody issued")
		t.NoError(h.Close(), "close")
	},
})

var _ = conform.Register(conform.Case{
	ID:       "h.errors.busy",
	Clauses:  "h.errors",
	Why:      "Two waiters on one ticket would take one result twice.",
	Steps:    "Two goroutines wait for the ticket of a long unit; when one has returned the other's context is ended.",
	Expected: "The first to return has ErrTicketBusy, the other the error of its context.",
	Mutant:   "go-second-waiter-let-in",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		h := open(t, 1)
		ticket, err := h.Submit(background, long())
		t.NoError(err, "submit")
		ctx, cancel := context.WithCancel(background)
		errs := make(chan error, 2)
		for range 2 {
			t.Go(func() {
				_, err := h.Wait(ctx, ticket)
				errs <- err
			})
		}
		first := conform.Receive(t, errs, "one of the waiters returns")
		t.ErrorIs(first, gusset.ErrTicketBusy, "the first to return, of two waiters")
		cancel()
		second := conform.Receive(t, errs, "the other waiter returns")
		t.ErrorIs(second, context.Canceled, "the one that waited")
		t.NoError(h.Close(), "close")
	},
})

var _ = conform.Register(conform.Case{
	ID:       "h.errors.context",
	Clauses:  "h.errors",
	Why:      "A caller that cannot tell its deadline from a failure retries what it should not.",
	Steps:    "Units that end by the deadline and by the cancellation of Call's, Submit's and Wait's context.",
	Expected: "DeadlineExceeded and Canceled, each only itself.",
	Mutant:   "go-stop-has-no-cause",
	Tags:     conform.Sleeps,
	Run: func(t *conform.T) {
		h := open(t, 4)
		for _, deadline := range []bool{true, false} {
			want, other := context.Canceled, context.DeadlineExceeded
			if deadline {
				want, other = other, want
			}
			for name, end := range map[string]func(context.Context) error{
				"Call":   func(ctx context.Context) error { return callLong(ctx, h) },
				"Submit": func(ctx context.Context) error { return submitLong(t, ctx, h) },
				"Wait":   func(ctx context.Context) error { return waitLong(t, ctx, h) },
			} {
				err := end(endingContext(t, deadline))
				t.ErrorIs(err, want, "%s whose context ended", name)
				t.ErrorIsNot(err, other, "%s whose context ended", name)
				t.ErrorIsNot(err, gusset.ErrShutdown, "%s whose context ended", name)
			}
		}
		t.NoError(h.Close(), "close")
	},
})

// endingContext ends by its deadline, in a moment, or by cancellation, once
// the next submission has reached native code.
func endingContext(t *conform.T, deadline bool) context.Context {
	if deadline {
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	ctx, cancel := context.WithCancel(background)
	before := raw.Count(raw.Submit)
	t.Go(func() {
		t.Eventually(func() bool { return raw.Count(raw.Submit) > before }, "a submission")
		cancel()
	})
	return ctx
}

func callLong(ctx context.Context, h *gusset.Handle) error {
	_, err := h.Call(ctx, cooperative(255))
	return err
}

// submitLong ends the context of the submission and waits without one.
func submitLong(t *conform.T, ctx context.Context, h *gusset.Handle) error {
	ticket, err := h.Submit(ctx, cooperative(255))
	if err != nil {
		return err
	}
	_, err = h.Wait(background, ticket)
	return err
}

func waitLong(t *conform.T, ctx context.Context, h *gusset.Handle) error {
	ticket, err := h.Submit(background, cooperative(255))
	t.NoError(err, "submit")
	_, err = h.Wait(ctx, ticket)
	return err
}

var _ = conform.Register(conform.Case{
	ID:       "h.errors.buffer-budget",
	Clauses:  "h.errors",
	Why:      "A budget that native code has to be asked about is none.",
	Steps:    "With a budget of 8192 bytes: 4096, 4096, one more; free one; one more.",
	Expected: "The third is ErrBufferBudget and never reaches native code; the last succeeds.",
	Mutant:   "go-budget-after-native go-budget-not-given-back",
	Run: func(t *conform.T) {
		h := open(t, 1, gusset.WithBufferBudget(8192))
		one, err := h.NewBuffer(4096)
		t.NoError(err, "the first half")
		two, err := h.NewBuffer(4096)
		t.NoError(err, "the second half")
		before := raw.Count(raw.BufAlloc)
		_, err = h.NewBuffer(1)
		t.ErrorIs(err, gusset.ErrBufferBudget, "one byte more")
		conform.Equal(t, before, raw.Count(raw.BufAlloc), "calls of gusset_buf_alloc")
		t.NoError(one.Free(), "free")
		three, err := h.NewBuffer(4096)
		t.NoError(err, "what Free gave back")
		t.NoError(errors.Join(two.Free(), three.Free(), h.Close()), "the end")
	},
})

var _ = conform.Register(conform.Case{
	ID:       "h.errors.closed",
	Clauses:  "h.errors h.close",
	Why:      "A call on freed memory of a closed handle crashes the service.",
	Steps:    "Close a handle; then make every call on it.",
	Expected: "Each is ErrClosed with its text, and none reaches native code.",
	Mutant:   "go-closed-text-changed",
	Run: func(t *conform.T) {
		h := open(t, 1)
		buffer, err := h.NewBuffer(64)
		t.NoError(err, "a buffer")
		t.NoError(h.Close(), "close")
		mark := raw.Now()
		_, err = h.Call(background, echo("late"))
		checkClosed(t, err, "Call")
		_, err = h.CallBuffer(background, buffer)
		checkClosed(t, err, "CallBuffer")
		_, err = h.Submit(background, echo("late"))
		checkClosed(t, err, "Submit")
		_, err = h.Submit(background, buffer)
		checkClosed(t, err, "Submit of a buffer")
		_, err = h.Wait(background, 1)
		checkClosed(t, err, "Wait")
		_, err = h.WaitBuffer(background, 1)
		checkClosed(t, err, "WaitBuffer")
		checkClosed(t, h.Discard(1), "Discard")
		_, err = h.NewBuffer(64)
		checkClosed(t, err, "NewBuffer")
		for _, f := range []raw.Function{raw.Submit, raw.Take, raw.Cancel, raw.BufAlloc} {
			calls, _ := raw.Since(mark, f)
			conform.Equal(t, 0, len(calls), "native calls of function %d after Close", f)
		}
	},
})

func checkClosed(t *conform.T, err error, what string) {
	t.ErrorIs(err, gusset.ErrClosed, "%s after Close", what)
	t.Contains(err.Error(), textIsClosed, "the text of %s after Close", what)
}
