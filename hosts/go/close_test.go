// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestClosedHandleSaysSo(t *testing.T) {
	h := open(t)
	ctx := bound(t)
	b, err := h.NewBuffer(64)
	if err != nil {
		t.Fatal(err)
	}
	ticket := submit(t, h, []byte{0})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Call":       second(h.Call(ctx, nil)),
		"CallBuffer": second(h.CallBuffer(ctx, b)),
		"nil buffer": second(h.CallBuffer(ctx, nil)),
		"string":     second(h.Submit(ctx, "text")),
		"Submit":     second(h.Submit(ctx, []byte{0})),
		"Submit b":   second(h.Submit(ctx, b)),
		"Wait":       second(h.Wait(ctx, ticket)),
		"WaitBuffer": second(h.WaitBuffer(ctx, ticket)),
		"Discard":    h.Discard(ticket),
		"NewBuffer":  second(h.NewBuffer(64)),
	} {
		if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "gusset: handle is closed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.Bytes() != nil || b.Free() != nil || b.Free() != nil {
		t.Error("a Buffer of a closed handle is still something")
	}
	if err := h.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// sleepers counts the waiters that sleep.
func sleepers(h *Handle) (n int) {
	h.core.table.mu.Lock()
	defer h.core.table.mu.Unlock()
	for _, j := range h.core.table.jobs {
		if j.asleep {
			n++
		}
	}
	return n
}

func TestCloseReleasesEveryWaiter(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(2), transport)
		ctx := bound(t)
		ticket := submit(t, h, cooperative(255))
		waiters := make(chan error, 3)
		queued := make(chan error, 3)
		go func() { waiters <- second(h.Wait(ctx, ticket)) }()
		go func() { waiters <- second(h.Call(ctx, cooperative(255))) }()
		if !eventually(func() bool { return sleepers(h) == 2 }) {
			t.Fatal("the waiters do not wait")
		}
		for range 3 {
			go func() { queued <- second(h.Call(ctx, []byte{0})) }()
		}
		if !eventually(func() bool { return h.Load().Waiting == 3 }) {
			t.Fatal("the callers do not wait")
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := h.Close(); err != nil {
					t.Error(err)
				}
				// Every closer returns when the join is done.
				select {
				case <-h.core.dispatched:
				default:
					t.Error("a Close returned before the first was done")
				}
			})
		}
		for range 2 {
			err := <-waiters
			if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "gusset: handle closed") {
				t.Errorf("a waiter: %v", err)
			}
		}
		for range 3 {
			if err := <-queued; !errors.Is(err, ErrClosed) {
				t.Errorf("a queued caller: %v", err)
			}
		}
		group.Wait()
	})
}

// The library's close does not begin while somebody is inside the library, or
// reads its memory.
func TestCloseWaitsForTheGate(t *testing.T) {
	h := open(t)
	if !h.core.gate.enter() {
		t.Fatal("the gate is shut")
	}
	closed := make(chan error)
	go func() { closed <- h.Close() }()
	if !eventually(h.core.gate.isShut) {
		t.Fatal("Close does not begin")
	}
	// It could be anywhere by now; the longer this looks, the more it sees.
	select {
	case <-h.core.dispatched:
		t.Error("Close went on beside somebody inside")
	case <-time.After(200 * time.Millisecond):
	}
	h.core.gate.exit()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A child process may hold a copy of the pipe's write end; Close does not wait
// for the end of the pipe.
func TestCloseBesideACopyOfTheWriteEnd(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, transport)
		dup := dupWriteEnd(t, h)
		defer syscall.Close(dup)
		if _, err := h.Call(bound(t), []byte{0}); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

// dupWriteEnd opens the write end of the handle's completion pipe once more.
func dupWriteEnd(t *testing.T, h *Handle) int {
	conn, err := h.core.pipe.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	fd := -1
	var opened error
	err = conn.Control(func(read uintptr) {
		path := fmt.Sprintf("/proc/self/fd/%d", read)
		fd, opened = syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	})
	if err := errors.Join(err, opened); err != nil {
		t.Fatal(err)
	}
	return fd
}

// Close against every call at once: whatever the order, each call ends and
// says something true.
func TestCloseRaces(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	both(t, func(t *testing.T, transport Option) {
		for round := range rounds {
			closeRace(t, uint64(round), transport)
		}
	})
}

func closeRace(t *testing.T, seed uint64, transport Option) {
	rng := rand.New(rand.NewPCG(7, seed))
	h := open(t, WithPoolSize(1+rng.IntN(4)), transport)
	var group sync.WaitGroup
	calls := 1 + rng.IntN(30)
	begun := make(chan struct{}, 8)
	for g := range 8 {
		rng := rand.New(rand.NewPCG(seed, uint64(g)))
		group.Go(func() {
			begun <- struct{}{}
			for {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+rng.IntN(3000))*time.Microsecond)
				err := anyCall(ctx, h, rng)
				cancel()
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) &&
					!errors.Is(err, ErrUnknownTicket) && !errors.Is(err, errFreedBuffer) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 8 {
		<-begun
	}
	for range calls {
		_, _ = h.Call(context.Background(), []byte{0})
	}
	for range 1 + rng.IntN(3) {
		group.Go(func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// anyCall does one of the things that a handle can do.
func anyCall(ctx context.Context, h *Handle, rng *rand.Rand) error {
	switch rng.IntN(6) {
	case 0:
		return second(h.Call(ctx, []byte{0, 1, 2}))
	case 1:
		return second(h.Call(ctx, generate(70000, 0)))
	case 2:
		return second(h.Call(ctx, stubborn(0, 0)))
	case 3:
		ticket, err := h.Submit(ctx, generate(9000, 0))
		if err != nil {
			return err
		}
		return h.Discard(ticket)
	case 4:
		ticket, err := h.Submit(ctx, cooperative(1))
		if err != nil {
			return err
		}
		out, err := h.WaitBuffer(ctx, ticket)
		if err == nil {
			err = out.Free()
		}
		return err
	}
	b, err := h.NewBuffer(5000)
	if err != nil {
		return err
	}
	out, err := h.CallBuffer(ctx, b)
	if err == nil && len(out.Bytes()) != 5000 && !h.core.gate.isShut() {
		return errors.New("CallBuffer lost bytes")
	}
	return errors.Join(err, b.Free(), out.Free())
}

// A completion record that makes no sense ends the handle with its reason.
func TestCorruptRecordEndsTheHandle(t *testing.T) {
	h := open(t)
	ctx := bound(t)
	ticket := submit(t, h, cooperative(255))
	waiter := make(chan error)
	go func() { waiter <- second(h.Wait(ctx, ticket)) }()
	if !eventually(func() bool { return sleepers(h) == 1 }) {
		t.Fatal("nobody waits")
	}
	dup := dupWriteEnd(t, h)
	defer syscall.Close(dup)
	if _, err := syscall.Write(dup, bytes.Repeat([]byte{0xFF}, 16)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{<-waiter, second(h.Call(ctx, nil))} {
		if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "corrupt completion record") {
			t.Errorf("got %v", err)
		}
	}
}
