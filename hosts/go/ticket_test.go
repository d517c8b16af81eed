// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"
)

func submit(t testing.TB, h *Handle, input any) uint64 {
	t.Helper()
	ticket, err := h.Submit(bound(t), input)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func TestWaitOnceOnly(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, transport)
		ctx := bound(t)
		for _, input := range [][]byte{{0, 1}, {9, 2, 0}, generate(70000, 1), {}, {5, 0}} {
			ticket := submit(t, h, input)
			if _, err := h.Wait(ctx, ticket); err != nil {
				t.Errorf("% x: %v", input[:min(len(input), 4)], err)
			}
			if _, err := h.Wait(ctx, ticket); !errors.Is(err, ErrUnknownTicket) {
				t.Errorf("second Wait: %v", err)
			}
			if err := h.Discard(ticket); !errors.Is(err, ErrUnknownTicket) {
				t.Errorf("Discard after Wait: %v", err)
			}
		}
	})
}

func TestUnknownTickets(t *testing.T) {
	h := open(t)
	other := open(t)
	foreign := submit(t, other, []byte{0})
	for _, ticket := range []uint64{0, 1, foreign, math.MaxUint64, 1 << 63} {
		if _, err := h.Wait(bound(t), ticket); !errors.Is(err, ErrUnknownTicket) {
			t.Errorf("Wait(%d): %v", ticket, err)
		}
		if _, err := h.WaitBuffer(bound(t), ticket); !errors.Is(err, ErrUnknownTicket) {
			t.Errorf("WaitBuffer(%d): %v", ticket, err)
		}
		if err := h.Discard(ticket); !errors.Is(err, ErrUnknownTicket) {
			t.Errorf("Discard(%d): %v", ticket, err)
		}
	}
}

func TestOneWaiterForEachTicket(t *testing.T) {
	h := open(t, WithPoolSize(1))
	ticket := submit(t, h, stubborn(20, 0))
	var group sync.WaitGroup
	var mu sync.Mutex
	var got, busy int
	for range 8 {
		group.Go(func() {
			_, err := h.Wait(bound(t), ticket)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				got++
			case errors.Is(err, ErrTicketBusy), errors.Is(err, ErrUnknownTicket):
				busy++
			default:
				t.Error(err)
			}
		})
	}
	if err := h.Discard(ticket); err != nil && !errors.Is(err, ErrTicketBusy) && !errors.Is(err, ErrUnknownTicket) {
		t.Errorf("Discard of a busy ticket: %v", err)
	}
	group.Wait()
	if got > 1 || got+busy != 8 {
		t.Errorf("%d results, %d refusals", got, busy)
	}
	if l := h.Load(); l.InFlight > 1 {
		t.Errorf("load: %+v", l)
	}
}

// A refused second waiter does not give the job's permit back.
func TestBusyKeepsThePermit(t *testing.T) {
	h := open(t, WithPoolSize(1))
	refused := false
	for range 20 {
		if refused = secondWaiter(t, h); refused {
			break
		}
	}
	if !refused {
		t.Error("no second waiter was refused")
	}
}

// secondWaiter reports false if the job ended before there were two.
func secondWaiter(t *testing.T, h *Handle) bool {
	begin := time.Now()
	ticket := submit(t, h, stubborn(30))
	first := make(chan error)
	go func() { first <- second(h.Wait(bound(t), ticket)) }()
	eventually(func() bool { return sleepers(h) == 1 || time.Since(begin) > 300*time.Millisecond })
	_, err := h.Wait(bound(t), ticket)
	l := h.Load()
	if running := time.Since(begin) < 300*time.Millisecond; running && sleepers(h) == 1 {
		if !errors.Is(err, ErrTicketBusy) {
			t.Errorf("the second waiter: %v", err)
		}
		if l.InFlight != 1 {
			t.Errorf("the permit is gone: %+v", l)
		}
	}
	if e := <-first; e != nil && !errors.Is(e, ErrTicketBusy) && !errors.Is(e, ErrUnknownTicket) {
		t.Error(e)
	}
	return errors.Is(err, ErrTicketBusy)
}

func TestAbandonedTicketIsSpent(t *testing.T) {
	h := open(t, WithPoolSize(1))
	for range 20 {
		ticket := submit(t, h, stubborn(30))
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		_, err := h.Wait(ctx, ticket)
		cancel()
		if _, err := h.Wait(bound(t), ticket); !errors.Is(err, ErrUnknownTicket) {
			t.Errorf("second Wait: %v", err)
		}
		if err := h.Discard(ticket); !errors.Is(err, ErrUnknownTicket) {
			t.Errorf("Discard: %v", err)
		}
		if err == context.DeadlineExceeded {
			return
		}
		if err != nil { // A slow machine sees the result.
			t.Fatalf("got %v", err)
		}
	}
	t.Error("no Wait was given up")
}

// The end of a Submit's context cancels its job, and Wait says why.
func TestSubmitContextEnds(t *testing.T) {
	h := open(t, WithPoolSize(1))
	ctx, cancel := context.WithCancel(context.Background())
	ticket, err := h.Submit(ctx, cooperative(255))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = h.Wait(bound(t), ticket)
	var e *Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Msg != textExplicit {
		t.Errorf("got %v", err)
	}
}

// Large results and panics of jobs that nobody waits for any more.
func TestAbandonedResults(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(2), transport)
		in, err := h.NewBuffer(300 << 10)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Free()
		copy(in.Bytes(), stubborn(10))
		before := Stats().LiveBytes
		for _, leave := range []func(uint64){
			func(ticket uint64) {
				if err := h.Discard(ticket); err != nil {
					t.Error(err)
				}
			},
			func(ticket uint64) {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
				defer cancel()
				b, err := h.WaitBuffer(ctx, ticket)
				if err != nil && err != context.DeadlineExceeded {
					t.Error(err)
				}
				must(t, b.Free()) // Of a machine too slow to leave in time.
			},
		} {
			ticket := submit(t, h, in)
			if err := begun(h); err != nil {
				t.Fatal(err)
			}
			leave(ticket)
			if !eventually(func() bool { return h.Load().InFlight == 0 }) {
				t.Fatal("the abandoned job keeps its permit")
			}
			if !eventually(func() bool { return Stats().LiveBytes <= before+(200<<10) }) {
				t.Errorf("the abandoned result is still there: %d bytes, %d before", Stats().LiveBytes, before)
			}
		}
	})
}

// A panic in a job that nobody waits for poisons all the same. A job that was
// discarded before it began does not panic; then the next one does.
func TestAbandonedPanicPoisons(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(2), transport)
		poisoned := eventually(func() bool {
			ticket := submit(t, h, stubborn(2, 1))
			if err := begun(h); err != nil {
				t.Fatal(err)
			}
			if err := h.Discard(ticket); err != nil {
				t.Fatal(err)
			}
			if !eventually(func() bool { return h.Load().InFlight == 0 }) {
				t.Fatal("the abandoned job keeps its permit")
			}
			entries := runtime.NumCgoCall()
			_, err := h.Call(bound(t), []byte{0})
			if err == nil {
				return false
			}
			if err != ErrPoisoned || runtime.NumCgoCall() != entries {
				t.Errorf("after an abandoned panic: %v, %d cgo calls", err, runtime.NumCgoCall()-entries)
			}
			return true
		})
		if !poisoned {
			t.Error("no abandoned panic poisoned the handle")
		}
	})
}

func TestDiscardFinished(t *testing.T) {
	h := open(t)
	before := Stats().LiveBytes
	ticket := submit(t, h, generate(1<<20, 0))
	if !eventually(func() bool { return h.Load().InFlight == 0 }) {
		t.Fatal("the job does not end")
	}
	if err := h.Discard(ticket); err != nil {
		t.Error(err)
	}
	if !eventually(func() bool { return Stats().LiveBytes <= before+(64<<10) }) {
		t.Errorf("%d bytes live, %d before", Stats().LiveBytes, before)
	}
}
