// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errors to compare with errors.Is. What carries more than its kind is an
// *Error and matches these all the same.
var (
	// ErrClosed is what every call gets after Close, and every waiter whose
	// ticket Close or the loss of the completion pipe ended.
	ErrClosed = errors.New("gusset: handle is closed")
	// ErrPanic: the engine panicked in this job. The handle is poisoned.
	ErrPanic = errors.New("gusset: engine panicked")
	// ErrPoisoned: an earlier job panicked; the handle takes no new work.
	// Close it and open another.
	ErrPoisoned = errors.New("gusset: handle is poisoned")
	// ErrUnknownTicket: the ticket was never issued by this handle, or its
	// result was collected, discarded or given up before.
	ErrUnknownTicket = errors.New("gusset: unknown ticket")
	// ErrTicketBusy: somebody else is waiting for the ticket.
	ErrTicketBusy = errors.New("gusset: ticket is being waited for")
	// ErrBufferBudget: the buffer would exceed WithBufferBudget.
	ErrBufferBudget = errors.New("gusset: buffer budget exceeded")
	// ErrShutdown: Shutdown was called; the process takes no new work.
	ErrShutdown = errors.New("gusset: runtime is shut down")
	// ErrShutdownIncomplete: the budget of Shutdown expired with work in
	// flight.
	ErrShutdownIncomplete = errors.New("gusset: shutdown budget expired with work in flight")
)

// Error is a failure that the library reported.
type Error struct {
	// Code is the status code: 1 error, 2 panic, 3 poisoned, 4 bad argument.
	Code int32
	// Msg is the library's or the engine's text, byte for byte.
	Msg string
	// File and Line are the place of a panic, where it is known.
	File string
	Line int

	cause error
}

// Error returns the text with the place of the panic, if it is known.
func (e *Error) Error() string {
	text := e.Msg
	if text == "" {
		text = fmt.Sprintf("library reported code %d without a message", e.Code)
	}
	if !strings.HasPrefix(text, "gusset") {
		text = "gusset: " + text
	}
	if e.File != "" {
		text = fmt.Sprintf("%s (%s:%d)", text, e.File, e.Line)
	}
	return text
}

// Is matches ErrPanic and ErrPoisoned by the code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrPanic:
		return e.Code == codePanic
	case ErrPoisoned:
		return e.Code == codePoisoned
	}
	return false
}

// Unwrap returns context.DeadlineExceeded, context.Canceled or ErrShutdown if
// that is what ended the job, else nil.
func (e *Error) Unwrap() error { return e.cause }

// The texts by which the library says why a job was stopped. They are part of
// the ABI and compared whole: an engine may use the same words in a text of
// its own.
const (
	textDeadline = "cancelled: DeadlineExceeded"
	textExplicit = "cancelled: Explicit"
	textShutdown = "cancelled: Shutdown"
	// A refusal's text is compared as containing.
	textShuttingDown = "gusset runtime is shutting down"
)

// stopCause is the reason of a stopped job, or nil if e is something else. An
// explicit stop after Shutdown is Shutdown's, because a job that was running
// then may be reported so.
func stopCause(e *Error, shutdown bool) error {
	if e.Code != codeErr {
		return nil
	}
	switch e.Msg {
	case textDeadline:
		return context.DeadlineExceeded
	case textShutdown:
		return ErrShutdown
	case textExplicit:
		if shutdown {
			return ErrShutdown
		}
		return context.Canceled
	}
	return nil
}

// refusalCause is what a refused call means beyond its code.
func refusalCause(e *Error) error {
	if e.Code == codeErr && strings.Contains(e.Msg, textShuttingDown) {
		return ErrShutdown
	}
	return nil
}

// closedError is ErrClosed as a waiter sees it, with what ended the reader.
type closedError struct{ cause error }

func (e *closedError) Error() string {
	if e.cause == nil {
		return "gusset: handle closed"
	}
	return "gusset: handle closed: " + e.cause.Error()
}

func (e *closedError) Is(target error) bool { return target == ErrClosed }

func (e *closedError) Unwrap() error { return e.cause }

// errWaiterClosed ends the waiters of a handle that was closed in order.
var errWaiterClosed error = &closedError{}

var (
	errNilContext  = errors.New("gusset: nil context")
	errNilBuffer   = errors.New("gusset: nil buffer")
	errFreedBuffer = errors.New("gusset: buffer is freed")
	errOtherHandle = errors.New("gusset: buffer belongs to another handle")
)

func errInputTooLong(n int) error {
	return fmt.Errorf("gusset: input of %d bytes exceeds %d; use NewBuffer for more",
		n, maxInlineInput)
}
