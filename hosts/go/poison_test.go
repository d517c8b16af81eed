// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestPanicIsAnError(t *testing.T) {
	for _, tt := range []struct {
		input []byte
		text  string
	}{
		{[]byte{1}, "PANIC: plain panic"},
		{[]byte{2}, "PANIC: panic with embedded NUL \x00 byte"},
		{[]byte{3}, "PANIC: panic payload (i32): 42"},
		{[]byte{15, 1}, "PANIC: Unknown Rust panic payload"},
	} {
		h := open(t)
		_, err := h.Call(bound(t), tt.input)
		var e *Error
		if !errors.Is(err, ErrPanic) || !errors.As(err, &e) {
			t.Errorf("mode %d: %v", tt.input[0], err)
			continue
		}
		if e.Code != codePanic || !strings.HasPrefix(e.Msg, tt.text) || e.File == "" || e.Line <= 0 {
			t.Errorf("mode %d: %#v", tt.input[0], e)
		}
		if !strings.Contains(err.Error(), e.File) {
			t.Errorf("the text %q lacks the place", err)
		}
		if errors.Is(err, ErrPoisoned) || errors.Is(err, ErrClosed) {
			t.Errorf("a panic is something else too: %v", err)
		}
	}
}

func TestPoisonFailsFast(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(8), transport)
		ctx := bound(t)
		in, err := h.NewBuffer(64)
		if err != nil {
			t.Fatal(err)
		}
		sizes := []int{0, 1, 47, 48, 49, 4096, 4097}
		var tickets []uint64
		for _, n := range sizes {
			tickets = append(tickets, submit(t, h, generate(uint32(n), 9)))
		}
		large := submit(t, h, generate(65536, 9))
		running := submit(t, h, stubborn(10, 0, 1, 2))
		if _, err := h.Call(ctx, []byte{1}); !errors.Is(err, ErrPanic) {
			t.Fatal(err)
		}
		if !eventually(func() bool { return h.Load().InFlight == 0 }) {
			t.Fatal("the siblings do not end")
		}
		entries := runtime.NumCgoCall()
		for range 100 {
			_, call := h.Call(ctx, []byte{0})
			_, buffer := h.CallBuffer(ctx, in)
			_, sub := h.Submit(ctx, in)
			_, alloc := h.NewBuffer(64)
			for _, err := range []error{call, buffer, sub, alloc} {
				if !errors.Is(err, ErrPoisoned) {
					t.Fatalf("got %v, want ErrPoisoned", err)
				}
			}
		}
		if n := runtime.NumCgoCall() - entries; n != 0 {
			t.Errorf("%d entries into native code", n)
		}
		for i, n := range sizes {
			out, err := h.Wait(ctx, tickets[i])
			if err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			generated(t, out, n, 9)
		}
		out, err := h.WaitBuffer(ctx, large)
		if err != nil {
			t.Fatal(err)
		}
		generated(t, out.Bytes(), 65536, 9)
		if got, err := h.Wait(ctx, running); err != nil || !bytes.Equal(got, []byte{0, 1, 2}) {
			t.Errorf("the running sibling: % x, %v", got, err)
		}
		if err := errors.Join(out.Free(), in.Free()); err != nil {
			t.Error(err)
		}
		if _, err := h.Wait(ctx, large); !errors.Is(err, ErrUnknownTicket) {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if _, err := h.Call(ctx, nil); !errors.Is(err, ErrClosed) || errors.Is(err, ErrPoisoned) {
			t.Errorf("poisoned and closed: %v", err)
		}
	})
}

// Poison that only the library knows of is learned from its first reply.
func TestPoisonedReplyLatches(t *testing.T) {
	h := open(t)
	if _, err := h.Call(bound(t), []byte{1}); !errors.Is(err, ErrPanic) {
		t.Fatal(err)
	}
	h.core.poisoned.Store(false)
	_, err := h.Call(bound(t), []byte{0})
	var e *Error
	if !errors.Is(err, ErrPoisoned) || !errors.As(err, &e) || e.Code != codePoisoned {
		t.Fatalf("the library's reply: %v", err)
	}
	entries := runtime.NumCgoCall()
	if _, err := h.Call(bound(t), []byte{0}); err != ErrPoisoned {
		t.Errorf("got %v", err)
	}
	if n := runtime.NumCgoCall() - entries; n != 0 {
		t.Errorf("%d entries into native code", n)
	}
	h.core.poisoned.Store(false)
	if _, err := h.NewBuffer(64); !errors.Is(err, ErrPoisoned) || !h.core.poisoned.Load() {
		t.Errorf("the reply to NewBuffer: %v", err)
	}
}

func TestPanicStorm(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(8), transport)
		ctx := bound(t)
		start := make(chan struct{})
		var panics, poisoned, healthy atomic.Int64
		var group sync.WaitGroup
		for i := range 128 {
			group.Go(func() {
				<-start
				input := []byte{byte(i % 4)}
				out, err := h.Call(ctx, input)
				switch {
				case errors.Is(err, ErrPanic):
					panics.Add(1)
				case errors.Is(err, ErrPoisoned):
					poisoned.Add(1)
				case err == nil && bytes.Equal(out, input):
					healthy.Add(1)
				default:
					t.Errorf("mode %d: %v", input[0], err)
				}
			})
		}
		close(start)
		group.Wait()
		if panics.Load() == 0 || panics.Load()+poisoned.Load()+healthy.Load() != 128 {
			t.Errorf("%d panics, %d poisoned, %d healthy", panics.Load(), poisoned.Load(), healthy.Load())
		}
		if _, err := h.Call(ctx, []byte{0}); err != ErrPoisoned {
			t.Errorf("after the storm: %v", err)
		}
	})
}
