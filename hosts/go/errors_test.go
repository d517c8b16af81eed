// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"errors"
	"testing"
)

// Only the exact texts are reasons; an engine may use the words in its own.
func TestStopCause(t *testing.T) {
	for _, tt := range []struct {
		code     int32
		msg      string
		shutdown bool
		want     error
	}{
		{codeErr, "cancelled: DeadlineExceeded", false, context.DeadlineExceeded},
		{codeErr, "cancelled: DeadlineExceeded", true, context.DeadlineExceeded},
		{codeErr, "cancelled: Explicit", false, context.Canceled},
		{codeErr, "cancelled: Explicit", true, ErrShutdown},
		{codeErr, "cancelled: Shutdown", false, ErrShutdown},
		{codeErr, "cancelled: Explicit ", false, nil},
		{codeErr, " cancelled: Explicit", false, nil},
		{codeErr, "not cancelled: DeadlineExceeded really", true, nil},
		{codeErr, "CANCELLED: SHUTDOWN", true, nil},
		{codeErr, "", true, nil},
		{codePanic, "cancelled: Explicit", false, nil},
	} {
		if got := stopCause(&Error{Code: tt.code, Msg: tt.msg}, tt.shutdown); got != tt.want {
			t.Errorf("%d %q: %v, want %v", tt.code, tt.msg, got, tt.want)
		}
	}
}

func TestErrorKinds(t *testing.T) {
	kinds := []error{ErrClosed, ErrPanic, ErrPoisoned, ErrUnknownTicket, ErrTicketBusy,
		ErrBufferBudget, ErrShutdown, ErrShutdownIncomplete, context.Canceled, context.DeadlineExceeded}
	for _, tt := range []struct {
		err  error
		want error
	}{
		{&Error{Code: codePanic, Msg: "PANIC: x"}, ErrPanic},
		{&Error{Code: codePoisoned}, ErrPoisoned},
		{&Error{Code: codeErr, Msg: "x"}, nil},
		{&Error{Code: codeErr, Msg: textShutdown, cause: ErrShutdown}, ErrShutdown},
		{errWaiterClosed, ErrClosed},
		{&closedError{errors.New("why")}, ErrClosed},
	} {
		for _, kind := range kinds {
			if got, want := errors.Is(tt.err, kind), kind == tt.want; got != want {
				t.Errorf("errors.Is(%v, %v) = %v", tt.err, kind, got)
			}
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{ErrClosed, "gusset: handle is closed"},
		{errWaiterClosed, "gusset: handle closed"},
		{&closedError{errors.New("why")}, "gusset: handle closed: why"},
		{&Error{Code: 1, Msg: "x"}, "gusset: x"},
		{&Error{Code: 1, Msg: "gusset: no engine"}, "gusset: no engine"},
		{&Error{Code: 2, Msg: "PANIC: x", File: "a.c", Line: 7}, "gusset: PANIC: x (a.c:7)"},
		{&Error{Code: 4}, "gusset: library reported code 4 without a message"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestRefusalCause(t *testing.T) {
	if refusalCause(&Error{Code: codeErr, Msg: "gusset runtime is shutting down"}) != ErrShutdown {
		t.Error("a refusal for shutdown is not ErrShutdown")
	}
	if refusalCause(&Error{Code: codeErr, Msg: "queue is full"}) != nil {
		t.Error("another refusal has a cause")
	}
}
