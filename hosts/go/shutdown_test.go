// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"
)

func is(got, want error) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("got error %v, want %v", got, want)
	}
	return nil
}

// refusedAll checks that nothing new is taken on h.
func refusedAll(h *Handle) error {
	ctx := context.Background()
	_, call := h.Call(ctx, nil)
	_, submit := h.Submit(ctx, []byte{0})
	_, buffer := h.NewBuffer(64)
	return errors.Join(is(call, ErrShutdown), is(submit, ErrShutdown), is(buffer, ErrShutdown))
}

func shutdownRefuses() error {
	ctx := context.Background()
	old, err := Open(WithDiagnosticEngine())
	if err != nil {
		return err
	}
	in, err := old.NewBuffer(5000)
	if err != nil {
		return err
	}
	finished, err := old.Submit(ctx, generate(5000, 3))
	if err != nil {
		return err
	}
	unwanted, err := old.Submit(ctx, []byte{0})
	if err != nil {
		return err
	}
	if !eventually(func() bool { return old.Load().InFlight == 0 }) {
		return errors.New("the jobs do not end")
	}
	// A unit may stay in flight for a moment after its completion.
	if !eventually(func() bool { return Shutdown(-time.Hour) == nil }) {
		return errors.New("an idle process does not drain")
	}
	_, buffered := old.CallBuffer(ctx, in)
	if err := errors.Join(refusedAll(old), is(buffered, ErrShutdown)); err != nil {
		return err
	}
	if errors.Is(buffered, context.Canceled) {
		return errors.New("ErrShutdown matches context.Canceled")
	}
	// What the contract lets go on.
	out, err := old.WaitBuffer(ctx, finished)
	if err != nil || len(out.Bytes()) != 5000 || out.Bytes()[256] != 3 {
		return fmt.Errorf("a finished result after Shutdown: %v", err)
	}
	if err := errors.Join(out.Free(), in.Free(), old.Discard(unwanted)); err != nil {
		return err
	}
	fresh, err := Open(WithDiagnosticEngine())
	if err != nil {
		return err
	}
	return errors.Join(refusedAll(fresh), old.Close(), fresh.Close(), Shutdown(0))
}

func shutdownDrains() error {
	ctx := context.Background()
	h, err := Open(WithDiagnosticEngine(), WithPoolSize(2))
	if err != nil {
		return err
	}
	ticket, err := h.Submit(ctx, cooperative(250))
	if err != nil {
		return err
	}
	if err := Shutdown(time.Minute); err != nil {
		return err
	}
	_, err = h.Wait(ctx, ticket)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("a job that Shutdown stopped is the caller's own cancel: %v", err)
	}
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Errorf("no *Error: %v", err)
	}
	return errors.Join(is(err, ErrShutdown), h.Close())
}

func shutdownIncomplete() error {
	ctx := context.Background()
	h, err := Open(WithDiagnosticEngine(), WithPoolSize(8))
	if err != nil {
		return err
	}
	begin := time.Now()
	var tickets []uint64
	for range 7 {
		ticket, err := h.Submit(ctx, stubborn(255))
		if err != nil {
			return err
		}
		tickets = append(tickets, ticket)
	}
	if err := begun(h); err != nil {
		return err
	}
	err = Shutdown(time.Millisecond)
	if slow := time.Since(begin) > 2*time.Second; !slow || err != nil {
		if err := is(err, ErrShutdownIncomplete); err != nil {
			return err
		}
	}
	for _, ticket := range tickets {
		if _, err := h.Wait(ctx, ticket); err != nil && !errors.Is(err, ErrShutdown) {
			return fmt.Errorf("a job that outlasted the budget: %w", err)
		}
	}
	return errors.Join(Shutdown(time.Minute), h.Close())
}

// shutdownFirst opens nothing before the Shutdown: the first Open would call
// gusset_init.
func shutdownFirst() error {
	if err := Shutdown(math.MaxInt64); err != nil {
		return err
	}
	h, err := Open(WithDiagnosticEngine())
	if err != nil {
		return err
	}
	// Past the package's own latch, the library has to refuse too.
	var st status
	_, code := nativeSubmit(h.core.native, &callHeader{flags: flagDiagnostic}, nil, 0, &st)
	if code != codeErr {
		return fmt.Errorf("the library takes work after Shutdown: code %d", code)
	}
	return errors.Join(is(newError(&st), ErrShutdown), h.Close())
}

// shutdownWaiters has a caller without a permit when the process shuts down.
func shutdownWaiters() error {
	ctx := context.Background()
	h, err := Open(WithDiagnosticEngine(), WithPoolSize(1))
	if err != nil {
		return err
	}
	ticket, err := h.Submit(ctx, cooperative(255))
	if err != nil {
		return err
	}
	queued := make(chan error)
	go func() {
		_, err := h.Call(ctx, []byte{0})
		queued <- err
	}()
	if !eventually(func() bool { return h.Load().Waiting == 1 }) {
		return errors.New("the caller does not wait")
	}
	shut := make(chan error)
	go func() { shut <- Shutdown(time.Minute) }()
	if err := is(<-queued, ErrShutdown); err != nil {
		return err
	}
	if err := h.Discard(ticket); err != nil {
		return err
	}
	return errors.Join(<-shut, h.Close())
}

func TestDrainMillis(t *testing.T) {
	for _, tt := range []struct {
		budget time.Duration
		want   uint32
	}{
		{math.MinInt64, 0},
		{-1, 0},
		{0, 0},
		{1, 1},
		{time.Millisecond, 1},
		{time.Millisecond + 1, 2},
		{math.MaxUint32 * time.Millisecond, math.MaxUint32},
		{(math.MaxUint32 + 5) * time.Millisecond, math.MaxUint32},
		{math.MaxInt64, math.MaxUint32},
	} {
		if got := drainMillis(tt.budget); got != tt.want {
			t.Errorf("drainMillis(%d) = %d, want %d", tt.budget, got, tt.want)
		}
	}
}
