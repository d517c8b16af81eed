// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// collected runs the collector until cond holds.
func collected(cond func() bool) bool {
	return eventually(func() bool { runtime.GC(); return cond() })
}

func TestDroppedBuffersAreFreed(t *testing.T) {
	h := open(t, WithBufferBudget(20<<20))
	before := Stats().LiveBytes
	func() {
		for range 10 {
			newBuffer(t, h, 1<<20)
		}
		ticket := submit(t, h, generate(1<<20, 0))
		if _, err := h.WaitBuffer(bound(t), ticket); err != nil {
			t.Error(err)
		}
	}()
	if !collected(func() bool { return Stats().LiveBytes <= before }) {
		t.Errorf("%d bytes live, %d before", Stats().LiveBytes, before)
	}
	if used := h.core.budgetUsed.Load(); used != 0 {
		t.Errorf("%d bytes charged", used)
	}
}

// 48 handles dropped at once: all are closed, a job that does not end holds up
// no other cleanup, and no thread stays for each.
func TestDroppedHandlesAreClosed(t *testing.T) {
	before, goroutines, threads := Stats().LiveBytes, runtime.NumGoroutine(), Threads()
	func() {
		for range 48 {
			h, err := Open(WithDiagnosticEngine(), WithPoolSize(1))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Submit(bound(t), stubborn(3)); err != nil {
				t.Fatal(err)
			}
		}
	}()
	if !collected(func() bool {
		return Stats().LiveBytes <= before && runtime.NumGoroutine() <= goroutines
	}) {
		t.Errorf("%d bytes live, %d before; %d goroutines, %d before",
			Stats().LiveBytes, before, runtime.NumGoroutine(), goroutines)
	}
	if after := Threads(); after > threads+16 {
		t.Errorf("threads rose from %d to %d", threads, after)
	}
}

// Dropped handles whose engines do not end hold up no other cleanup: in one
// round at least, a dropped buffer is freed while they are still being closed.
func TestDroppedHandlesHoldUpNoCleanup(t *testing.T) {
	h := open(t, WithBufferBudget(1<<20))
	for range 10 {
		if bufferFreedBeforeHandles(t, h) {
			return
		}
	}
	t.Error("the dropped buffer always waited for the handles")
}

func bufferFreedBeforeHandles(t *testing.T, h *Handle) bool {
	cores := dropBusyHandles(t, 8)
	if !collected(func() bool {
		return slices.ContainsFunc(cores, func(c *core) bool { return c.gate.isShut() })
	}) {
		t.Fatal("no dropped handle is being closed")
	}
	func() { newBuffer(t, h, 1<<20) }()
	if !collected(func() bool { return h.core.budgetUsed.Load() == 0 }) {
		t.Fatal("the dropped buffer is not freed")
	}
	first := slices.ContainsFunc(cores, func(c *core) bool {
		select {
		case <-c.dispatched:
			return false
		default:
			return true
		}
	})
	for _, c := range cores {
		must(t, c.close())
	}
	return first
}

// dropBusyHandles opens and drops handles with a job that runs for 1 s.
func dropBusyHandles(t *testing.T, n int) (cores []*core) {
	for range n {
		busy, err := Open(WithDiagnosticEngine(), WithPoolSize(2))
		must(t, err)
		submit(t, busy, stubborn(100))
		must(t, begun(busy))
		cores = append(cores, busy.core)
	}
	return cores
}

// A Buffer that is still held keeps its handle open, and its bytes.
func TestLiveBufferKeepsItsHandle(t *testing.T) {
	b := func() *Buffer {
		h, err := Open(WithDiagnosticEngine())
		if err != nil {
			t.Fatal(err)
		}
		return newBuffer(t, h, 256<<10)
	}()
	view := b.Bytes()
	for i := range view {
		view[i] = byte(i)
	}
	for range 5 {
		runtime.GC()
	}
	if b.handle.core.gate.isShut() {
		t.Fatal("the handle is closed under its buffer")
	}
	for i, v := range view {
		if v != byte(i) {
			t.Fatalf("byte %d is %d", i, v)
		}
	}
	h := b.handle
	runtime.KeepAlive(b)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A Handle that only a running call holds is not closed under it.
func TestRunningCallKeepsItsHandle(t *testing.T) {
	for _, do := range []func(*Handle) error{
		func(h *Handle) error { return second(h.Call(bound(t), stubborn(5, 0))) },
		func(h *Handle) error {
			ticket, err := h.Submit(bound(t), stubborn(5, 0))
			if err != nil {
				return err
			}
			return second(h.Wait(bound(t), ticket))
		},
	} {
		h, err := Open(WithDiagnosticEngine())
		if err != nil {
			t.Fatal(err)
		}
		c := h.core
		done := make(chan error)
		go func(h *Handle) { done <- do(h) }(h)
		h = nil
		for ended := false; !ended; {
			runtime.GC()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
				ended = true
			default:
			}
		}
		if !collected(func() bool { return c.gate.isShut() }) {
			t.Error("the dropped handle is not closed")
		}
		if err := c.close(); err != nil { // Waits for the cleanup's.
			t.Error(err)
		}
	}
}

// Everything with the collector running all the time.
func TestUnderConstantCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	h := open(t)
	ctx := bound(t)
	for round := range 100 {
		b := newBuffer(t, h, 8192)
		b.Bytes()[0], b.Bytes()[100] = 0, 100
		ticket := submit(t, h, b)
		if round%2 == 0 {
			b = nil // A dropped input is the job's until that ends.
		}
		runtime.GC()
		out, err := h.WaitBuffer(ctx, ticket)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Bytes(); len(got) != 8192 || got[100] != 100 {
			t.Fatalf("%d bytes, byte 100 is %d", len(got), got[100])
		}
		runtime.KeepAlive(out)
		copied, err := h.Call(ctx, generate(65536, 1))
		if err != nil {
			t.Fatal(err)
		}
		generated(t, copied, 65536, 1)
		if b != nil {
			b.Free()
		}
	}
}

// A metrics hook and a dropped handle do not keep each other.
func TestHandleWithHookIsCollected(t *testing.T) {
	before := Stats().LiveBytes
	func() {
		h, err := Open(WithDiagnosticEngine(), WithMetrics(func(Sample) {}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Call(bound(t), []byte{0}); err != nil {
			t.Error(err)
		}
	}()
	if !collected(func() bool { return Stats().LiveBytes <= before }) {
		t.Errorf("%d bytes live, %d before", Stats().LiveBytes, before)
	}
}
