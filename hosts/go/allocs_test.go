// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
)

// allocs is AllocsPerRun of a function, in the steady state: no collection
// takes the pooled jobs away meanwhile.
func allocs(runs int, f func()) float64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	return testing.AllocsPerRun(runs, f)
}

func must(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

func TestCallAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	both(t, func(t *testing.T, transport Option) {
		h := open(t, transport)
		background := context.Background()
		deadline := bound(t)
		for name, tt := range map[string]struct {
			ctx   context.Context
			input []byte
			most  float64
		}{
			"noop":          {background, []byte{0}, 1},
			"empty":         {background, nil, 0},
			"48 bytes":      {background, make([]byte, 48), 1},
			"with deadline": {deadline, []byte{0}, 1},
			"4096 bytes":    {background, make([]byte, 4096), 1},
			"opcode, span":  {ContextWithSpan(ContextWithOpcode(deadline, 0), [16]byte{1}, [8]byte{2}), []byte{0}, 1},
		} {
			got := allocs(500, func() { must(t, second(h.Call(tt.ctx, tt.input))) })
			if got > tt.most {
				t.Errorf("%s: %v allocations, at most %v", name, got, tt.most)
			}
		}
	})
}

// A small inline success needs two entries at most: the submission, and a
// wake-up's none.
func TestInlineSuccessTakesNothing(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	must(t, second(h.Call(ctx, []byte{0})))
	entries := runtime.NumCgoCall()
	for range 1000 {
		must(t, second(h.Call(ctx, []byte{0, 1, 2})))
	}
	if n := runtime.NumCgoCall() - entries; n != 1000 {
		t.Errorf("%d entries into native code for 1000 calls", n)
	}
}

// The imports themselves allocate nothing.
func TestImportsAllocateNothing(t *testing.T) {
	h := open(t, func(cfg *config) error { cfg.pipeOnly = true; return nil })
	native := h.core.native
	input := []byte{0, 1, 2, 3}
	logs := make([]byte, 256)
	for name, f := range map[string]func(){
		"submit refused": func() {
			var st status
			var hdr callHeader
			hdr.flags = 1 << 31
			_, code := nativeSubmit(native, &hdr, input, 0, &st)
			nativeStatusFree(&st)
			if code == codeOK {
				t.Error("unknown flag taken")
			}
		},
		"take": func() {
			var st status
			if _, _, _, code := nativeTake(native, 12345, &st); code != codeErr {
				t.Error("unknown ticket taken")
			}
			nativeStatusFree(&st)
		},
		"cancel": func() {
			var st status
			if nativeCancel(native, 12345, &st) != codeOK {
				t.Error("cancel refused")
			}
		},
		"cancel all": func() {
			var st status
			if nativeCancelAll(native, &st) != codeOK {
				t.Error("cancel_all refused")
			}
		},
		"buffer": func() {
			var st status
			id, _, code := nativeBufAlloc(native, 64, &st)
			if code != codeOK || nativeBufFree(native, id, &st) != codeOK {
				t.Error("no buffer")
			}
		},
		"stats":  func() { _ = Stats() },
		"logs":   func() { _ = DrainLogs(logs) },
		"layout": func() { _ = nativeABI() },
		"init":   func() { nativeInit() },
	} {
		if got := allocs(200, f); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

// An accepted submission and its take, without the package around them.
func TestAcceptedSubmitAllocatesNothing(t *testing.T) {
	h := open(t, func(cfg *config) error { cfg.pipeOnly = true; return nil })
	c := h.core
	input := make([]byte, 64)
	got := allocs(200, func() {
		// The dispatch goroutine reads the completion as any other.
		c.permits.held <- struct{}{}
		c.outstanding.Add(1)
		hdr := callHeader{flags: flagDiagnostic}
		var st status
		ticket, code := nativeSubmit(c.native, &hdr, input, 0, &st)
		if code != codeOK {
			t.Fatal("refused")
		}
		j, err := c.table.claim(ticket, true, nil, c.stamp())
		must(t, err)
		must(t, c.asleep(context.Background(), j, nil))
		res := j.res
		recycle(j)
		c.dispose(&res)
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestZeroCopyAllocatesNoPayload(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	in := newBuffer(t, h, 1<<20)
	defer in.Free()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 50 {
		out, err := h.CallBuffer(ctx, in)
		must(t, err)
		must(t, out.Free())
	}
	runtime.ReadMemStats(&after)
	if per := (after.TotalAlloc - before.TotalAlloc) / 50; per > 4096 {
		t.Errorf("%d bytes of Go heap for each call", per)
	}
}
