// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"
)

// TestMain ends with the census: no goroutine of the package and no byte of
// the library outlives the tests. Children run one scenario in place of the
// tests.
func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		os.Exit(runChild(name))
	}
	before := Stats().LiveBytes
	code := m.Run()
	if code == 0 {
		code = census(before)
	}
	os.Exit(code)
}

func census(before uint64) int {
	live := func() bool { runtime.GC(); return Stats().LiveBytes <= before }
	if !eventually(live) {
		fmt.Fprintf(os.Stderr, "%d live bytes after the tests, %d before\n", Stats().LiveBytes, before)
		return 1
	}
	return 0
}

// eventually polls for what another thread will bring about; only a defect
// lets it run into its limit.
func eventually(cond func() bool) bool {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if cond() {
			return true
		}
		runtime.Gosched()
	}
	return false
}

// open opens a handle on the diagnostic engine. At the end of the test it is
// closed, and then nothing of it is left.
func open(t testing.TB, opts ...Option) *Handle {
	t.Helper()
	goroutines := runtime.NumGoroutine()
	h, err := Open(append([]Option{WithDiagnosticEngine()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if !eventually(func() bool { return runtime.NumGoroutine() <= goroutines }) {
			t.Errorf("%d goroutines after Close, %d before Open", runtime.NumGoroutine(), goroutines)
		}
	})
	return h
}

// both runs a test on a handle with a ring and on one with the pipe alone.
func both(t *testing.T, run func(t *testing.T, transport Option)) {
	for _, pipeOnly := range []bool{false, true} {
		name := "ring"
		if pipeOnly {
			name = "pipe"
		}
		t.Run(name, func(t *testing.T) {
			run(t, func(cfg *config) error { cfg.pipeOnly = pipeOnly; return nil })
		})
	}
}

// bound is a context that fails the test rather than let it hang.
func bound(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// begun makes it all but certain that the jobs submitted before are running: a
// later one has ended. The handle has a worker to spare.
func begun(h *Handle) error {
	_, err := h.Call(context.Background(), []byte{0})
	return err
}

// Requests to the diagnostic engine.

func cooperative(steps byte) []byte { return []byte{5, steps} }

// stubborn sleeps steps of 10 ms without a check, then does what follows.
func stubborn(steps byte, then ...byte) []byte { return append([]byte{9, steps}, then...) }

func generate(n uint32, seed byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{16}, n), seed)
}

// generated checks the output of generate.
func generated(t testing.TB, got []byte, n int, seed byte) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d bytes, want %d", len(got), n)
	}
	for i, b := range got {
		if want := byte(i) ^ seed; b != want {
			t.Fatalf("byte %d is %#x, want %#x", i, b, want)
		}
	}
}
