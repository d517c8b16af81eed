// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCallEchoesEverySize(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, transport)
		ctx := bound(t)
		for _, n := range []int{0, 1, 7, 8, 47, 48, 49, 64, 4095, 4096} {
			in := bytes.Repeat([]byte{0xA5}, n)
			out, err := h.Call(ctx, in)
			if err != nil || !bytes.Equal(out, in) || out == nil {
				t.Errorf("%d bytes: got %d, %v", n, len(out), err)
			}
		}
		for _, n := range []int{4097, 65536, 3 << 20} {
			out, err := h.Call(ctx, generate(uint32(n), 7))
			if err != nil {
				t.Fatal(err)
			}
			generated(t, out, n, 7)
		}
	})
}

func TestInputOverLimitNamesNewBuffer(t *testing.T) {
	h := open(t)
	ctx := bound(t)
	long := make([]byte, 4097)
	_, call := h.Call(ctx, long)
	_, submit := h.Submit(ctx, long)
	for _, err := range []error{call, submit} {
		if err == nil || !strings.Contains(err.Error(), "NewBuffer") {
			t.Errorf("got %v, want an error that names NewBuffer", err)
		}
	}
	if l := h.Load(); l.InFlight != 0 {
		t.Errorf("in flight after refusals: %d", l.InFlight)
	}
}

func TestCallFromManyGoroutines(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(4), transport)
		ctx := bound(t)
		before := Threads()
		var group sync.WaitGroup
		errs := make(chan error, 256)
		for g := range 256 {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(1, uint64(g)))
				for range 20 {
					in := make([]byte, 1+rng.IntN(100))
					for i := range in {
						in[i] = byte(rng.Uint32())
					}
					in[0] = 0
					out, err := h.Call(ctx, in)
					if err != nil || !bytes.Equal(out, in) {
						errs <- fmt.Errorf("goroutine %d: %v", g, err)
						return
					}
				}
			})
		}
		group.Wait()
		close(errs)
		for err := range errs {
			t.Error(err)
		}
		if after := Threads(); after > before+20 {
			t.Errorf("threads rose from %d to %d", before, after)
		}
		if l := h.Load(); l != (Load{Permits: 4}) {
			t.Errorf("load at rest: %+v", l)
		}
	})
}

func TestDeadlineReleasesTheCaller(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(1), transport)
		held := false
		for range 20 {
			if held = held || callerLeaves(t, h); held {
				break
			}
		}
		if !held {
			t.Error("no job kept its permit when its caller left")
		}
		// The next one waits for the permit, which comes with the real end.
		if _, err := h.Call(bound(t), []byte{0}); err != nil {
			t.Error(err)
		}
	})
}

// callerLeaves calls with a deadline that ends long before the job does, and
// reports whether the job then still has its permit. It has none if the machine
// was too slow for the job to begin.
func callerLeaves(t *testing.T, h *Handle) bool {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := h.Call(ctx, stubborn(100))
	if ended := time.Since(begin) > time.Second; !ended && err != context.DeadlineExceeded {
		t.Errorf("got %v, want context.DeadlineExceeded itself", err)
	}
	return h.Load().InFlight == 1
}

func TestCancelReleasesTheCaller(t *testing.T) {
	h := open(t, WithPoolSize(1))
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error)
	go func() {
		_, err := h.Call(ctx, cooperative(255))
		result <- err
	}()
	if !eventually(func() bool { return h.Load().InFlight == 1 }) {
		t.Fatal("the job does not start")
	}
	cancel()
	if err := <-result; err != context.Canceled {
		t.Errorf("got %v, want context.Canceled itself", err)
	}
	if _, err := h.Call(bound(t), []byte{0}); err != nil {
		t.Error(err)
	}
}

// The library notices the deadline of a cooperative job by itself.
func TestDeadlineTravels(t *testing.T) {
	h := open(t)
	var ticket uint64
	err := context.DeadlineExceeded
	for left := 30 * time.Millisecond; err == context.DeadlineExceeded; left *= 2 {
		// A slow machine may not come to the submission in time.
		ctx, cancel := context.WithTimeout(context.Background(), left)
		defer cancel()
		ticket, err = h.Submit(ctx, cooperative(255))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Wait(bound(t), ticket)
	var e *Error
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) {
		t.Errorf("got %#v", err)
	}
}

func TestDoneContextsHoldNothing(t *testing.T) {
	h := open(t, WithPoolSize(1))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	expired, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	for range 100 {
		if _, err := h.Call(cancelled, []byte{0}); err != context.Canceled {
			t.Fatalf("got %v", err)
		}
		if _, err := h.Submit(expired, []byte{0}); err != context.DeadlineExceeded {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := h.Call(bound(t), []byte{0}); err != nil {
		t.Error(err)
	}
}

func TestNilArgumentsAreErrors(t *testing.T) {
	h := open(t)
	ctx := bound(t)
	var none *Handle
	var noContext context.Context
	for name, err := range map[string]error{
		"nil handle":   second(none.Call(ctx, nil)),
		"nil handle W": second(none.Wait(ctx, 1)),
		"zero handle":  second(new(Handle).Call(ctx, nil)),
		"discard":      none.Discard(1),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"context":        second(h.Call(noContext, nil)),
		"submit context": second(h.Submit(noContext, []byte{0})),
		"wait context":   second(h.Wait(noContext, 1)),
		"nil buffer":     second(h.CallBuffer(ctx, nil)),
		"zero buffer":    second(h.CallBuffer(ctx, new(Buffer))),
		"nil input":      second(h.Submit(ctx, nil)),
		"string input":   second(h.Submit(ctx, "text")),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "gusset: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := none.Close(); err != nil {
		t.Errorf("Close of nil: %v", err)
	}
	var b *Buffer
	if b.Bytes() != nil || b.ID() != 0 || b.Free() != nil {
		t.Error("a nil Buffer is not empty")
	}
}

func second[T any](_ T, err error) error { return err }

// A context is the caller's code. One that panics or ends the goroutine takes
// no permit with it.
type hostileContext struct {
	context.Context
	act func()
}

func (c hostileContext) Value(any) any { c.act(); return nil }

func TestHostileContextsLoseNoPermit(t *testing.T) {
	h := open(t, WithPoolSize(1))
	for _, act := range []func(){
		func() { panic("context") },
		runtime.Goexit,
	} {
		for _, do := range []func(context.Context){
			func(ctx context.Context) { _, _ = h.Call(ctx, []byte{0}) },
			func(ctx context.Context) { _, _ = h.Submit(ctx, []byte{0}) },
		} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { _ = recover() }()
				do(hostileContext{context.Background(), act})
				t.Error("the context was not asked")
			}()
			<-done
		}
	}
	if _, err := h.Call(bound(t), []byte{0}); err != nil {
		t.Error(err)
	}
}

func TestHeaderReachesTheEngine(t *testing.T) {
	trace := [16]byte{1, 2, 3, 15: 16}
	span := [8]byte{9, 7: 8}
	want := append(trace[:], span[:]...)
	supplied := func(context.Context) ([16]byte, [8]byte, bool) {
		return [16]byte{0xEE}, [8]byte{0xDD}, true
	}
	h := open(t)
	withSpans := open(t, WithSpanFunc(supplied))
	ctx := ContextWithSpan(bound(t), trace, span)
	out, err := h.Call(ctx, []byte{7})
	if err != nil || !bytes.Equal(out, want) {
		t.Errorf("ids of the context: % x, %v", out, err)
	}
	out, err = h.Call(bound(t), []byte{7})
	if err != nil || !bytes.Equal(out, make([]byte, 24)) {
		t.Errorf("no ids: % x, %v", out, err)
	}
	out, err = withSpans.Call(bound(t), []byte{7})
	if err != nil || len(out) != 24 || out[0] != 0xEE || out[16] != 0xDD {
		t.Errorf("ids of the function: % x, %v", out, err)
	}
	out, err = withSpans.Call(ContextWithOpcode(ctx, 0), []byte{7})
	if err != nil || !bytes.Equal(out, want) {
		t.Errorf("the context's ids come first: % x, %v", out, err)
	}
	_, err = h.Call(ContextWithOpcode(ctx, 0xFFFFFFFF), []byte{0})
	if err == nil || !strings.Contains(err.Error(), "opcode 4294967295") {
		t.Errorf("opcode of the context: %v", err)
	}
}
