// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func newBuffer(t testing.TB, h *Handle, n int) *Buffer {
	t.Helper()
	b, err := h.NewBuffer(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCallBuffer(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, transport)
		ctx := bound(t)
		for _, n := range []int{1, 32, 48, 4096, 4097, 65536, 1 << 20} {
			in := newBuffer(t, h, n)
			for i := range in.Bytes() {
				in.Bytes()[i] = byte(i * 3)
			}
			in.Bytes()[0] = 0
			out, err := h.CallBuffer(ctx, in)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(in.Bytes(), out.Bytes()) || out.ID() == 0 || out.ID() == in.ID() {
				t.Errorf("%d bytes: got %d, ids %d and %d", n, len(out.Bytes()), in.ID(), out.ID())
			}
			// A result is an input like any other.
			again, err := h.CallBuffer(ctx, out)
			if err != nil || !bytes.Equal(again.Bytes(), in.Bytes()) {
				t.Errorf("a result as input: %v", err)
			}
			if err := errors.Join(in.Free(), out.Free(), again.Free(), in.Free()); err != nil {
				t.Error(err)
			}
			if in.Bytes() != nil {
				t.Error("a freed Buffer has bytes")
			}
			if _, err := h.CallBuffer(ctx, in); err == nil {
				t.Error("a freed Buffer was taken as input")
			}
		}
	})
}

// A result that has no memory of the library is a Buffer all the same.
func TestSmallResultBuffers(t *testing.T) {
	h := open(t)
	ctx := bound(t)
	for _, input := range [][]byte{{}, {0, 1, 2}} {
		ticket := submit(t, h, input)
		out, err := h.WaitBuffer(ctx, ticket)
		if err != nil || !bytes.Equal(out.Bytes(), input) || out.Bytes() == nil {
			t.Fatalf("got % x, %v", out.Bytes(), err)
		}
		again, err := h.CallBuffer(ctx, out)
		if err != nil || !bytes.Equal(again.Bytes(), input) {
			t.Errorf("as input: %v", err)
		}
		if err := errors.Join(again.Free(), out.Free()); err != nil || out.Bytes() != nil {
			t.Errorf("freed: %v, %d bytes", err, len(out.Bytes()))
		}
	}
}

func TestBufferLengths(t *testing.T) {
	h := open(t)
	before := Stats().LiveBytes
	for n, words := range map[int]string{
		0: "greater than zero", -1: "greater than zero", math.MinInt: "greater than zero",
		1<<30 + 1: "maximum", math.MaxInt: "maximum",
	} {
		_, err := h.NewBuffer(n)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("NewBuffer(%d): %v", n, err)
		}
	}
	if live := Stats().LiveBytes; live != before {
		t.Errorf("live bytes %d, %d before", live, before)
	}
}

func TestBufferOfAnotherHandle(t *testing.T) {
	a, b := open(t), open(t)
	buf := newBuffer(t, a, 64)
	defer buf.Free()
	if _, err := b.CallBuffer(bound(t), buf); err == nil || !strings.Contains(err.Error(), "another handle") {
		t.Errorf("got %v", err)
	}
	if _, err := b.Submit(bound(t), buf); err == nil {
		t.Error("Submit took a foreign buffer")
	}
}

func TestBufferBudget(t *testing.T) {
	h := open(t, WithBufferBudget(100))
	a := newBuffer(t, h, 60)
	entries := runtime.NumCgoCall()
	for _, n := range []int{41, 100, 1 << 30} {
		if _, err := h.NewBuffer(n); !errors.Is(err, ErrBufferBudget) {
			t.Errorf("NewBuffer(%d): %v", n, err)
		}
	}
	if n := runtime.NumCgoCall() - entries; n != 0 {
		t.Errorf("%d entries into native code", n)
	}
	b := newBuffer(t, h, 40)
	if err := errors.Join(a.Free(), a.Free()); err != nil {
		t.Error(err)
	}
	if _, err := h.NewBuffer(61); !errors.Is(err, ErrBufferBudget) {
		t.Errorf("a second Free gave bytes back: %v", err)
	}
	c := newBuffer(t, h, 60)
	// Results are not NewBuffer's.
	out, err := h.CallBuffer(bound(t), c)
	if err != nil {
		t.Error(err)
	}
	if err := errors.Join(b.Free(), c.Free(), out.Free()); err != nil {
		t.Error(err)
	}
	newBuffer(t, h, 100).Free()
	if _, err := Open(WithBufferBudget(-1)); err == nil {
		t.Error("a negative budget was taken")
	}
	none := open(t, WithBufferBudget(0))
	if _, err := none.NewBuffer(1); !errors.Is(err, ErrBufferBudget) {
		t.Errorf("a budget of 0: %v", err)
	}
}

// What the library refuses is not charged.
func TestBudgetAfterRefusal(t *testing.T) {
	h := open(t, WithBufferBudget(100))
	if _, err := h.Call(bound(t), []byte{1}); !errors.Is(err, ErrPanic) {
		t.Fatal(err)
	}
	h.core.poisoned.Store(false)
	if _, err := h.NewBuffer(100); !errors.Is(err, ErrPoisoned) {
		t.Fatal(err)
	}
	if used := h.core.budgetUsed.Load(); used != 0 {
		t.Errorf("%d bytes charged", used)
	}
}

func TestBytesBesideFree(t *testing.T) {
	h := open(t)
	for range 40 {
		b := newBuffer(t, h, 256)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 500 {
					if n := len(b.Bytes()); n != 0 && n != 256 {
						t.Errorf("%d bytes", n)
					}
				}
			})
		}
		group.Go(func() {
			if err := b.Free(); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		if b.Bytes() != nil {
			t.Error("bytes after Free")
		}
	}
}
