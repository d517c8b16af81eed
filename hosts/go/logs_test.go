// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

func drainAll() (all []byte) {
	buf := make([]byte, 4096)
	for n := DrainLogs(buf); n > 0; n = DrainLogs(buf) {
		all = append(all, buf[:n]...)
	}
	return all
}

func TestDrainLogs(t *testing.T) {
	h := open(t)
	drainAll()
	if DrainLogs(nil) != 0 || DrainLogs([]byte{}) != 0 {
		t.Error("no buffer took something")
	}
	must(t, second(h.Call(bound(t), []byte{14, 3})))
	if got, want := string(drainAll()), "worker log event 0\nworker log event 1\nworker log event 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.b.String(), "worker log event")
}

func TestLogTo(t *testing.T) {
	h := open(t)
	drainAll()
	must(t, second(h.Call(bound(t), []byte{14, 200})))
	var out syncBuffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	if n := LogTo(bound(t), logger, slog.LevelWarn); n != 200 {
		t.Errorf("%d lines", n)
	}
	for i := range 200 {
		want := fmt.Sprintf("level=WARN msg=\"worker log event %d\" source=gusset\n", i)
		if !strings.Contains(out.b.String(), want) {
			t.Errorf("no line %q", want)
		}
	}
	if n := LogTo(bound(t), logger, slog.LevelWarn); n != 0 {
		t.Errorf("%d lines of an empty log", n)
	}
}

func TestForwardLogs(t *testing.T) {
	h := open(t)
	drainAll()
	var out syncBuffer
	logger := slog.New(slog.NewTextHandler(&out, nil))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- ForwardLogs(ctx, logger, slog.LevelInfo, time.Millisecond) }()
	must(t, second(h.Call(bound(t), []byte{14, 50})))
	if !eventually(func() bool { return out.lines() == 50 }) {
		t.Errorf("%d lines", out.lines())
	}
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if err := ForwardLogs(ctx, logger, slog.LevelInfo, 0); err == nil {
		t.Error("a period of 0 was taken")
	}
	// What was written before the end is forwarded.
	must(t, second(h.Call(bound(t), []byte{14, 5})))
	if err := ForwardLogs(ctx, logger, slog.LevelInfo, time.Hour); err != context.Canceled || out.lines() != 55 {
		t.Errorf("%v, %d lines", err, out.lines())
	}
}
