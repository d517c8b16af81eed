// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestMetricsHook(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		var mu sync.Mutex
		var samples []Sample
		h := open(t, WithPoolSize(1), transport, WithMetrics(func(s Sample) {
			mu.Lock()
			defer mu.Unlock()
			samples = append(samples, s)
		}))
		ctx := bound(t)
		// A call that queues behind another: its sample says so.
		ticket := submit(t, h, stubborn(10))
		must(t, second(h.Call(ctx, stubborn(2))))
		must(t, second(h.Wait(ctx, ticket)))
		leaves, leave := context.WithCancel(ctx)
		gone := make(chan error)
		go func() { gone <- second(h.Call(leaves, cooperative(255))) }()
		if !eventually(func() bool { return h.Load().InFlight == 1 }) {
			t.Fatal("the job does not begin")
		}
		leave()
		if err := <-gone; err != context.Canceled {
			t.Fatal(err)
		}
		_, _ = h.Call(ContextWithOpcode(ctx, 3), nil)
		if len(samples) != 4 {
			t.Fatalf("%d samples: %+v", len(samples), samples)
		}
		call, wait, left, refused := samples[0], samples[1], samples[2], samples[3]
		if call.Queued <= 0 || call.Ran < 20*time.Millisecond || call.Took < call.Queued+20*time.Millisecond || call.Err != nil {
			t.Errorf("call: %+v", call)
		}
		if wait.Queued != 0 || wait.Ran < 100*time.Millisecond || wait.Err != nil || wait.Load.Permits != 1 {
			t.Errorf("wait: %+v", wait)
		}
		if left.Err == nil || left.Ran != 0 || left.Took <= 0 {
			t.Errorf("left: %+v", left)
		}
		var e *Error
		if refused.Opcode != 3 || !errors.As(refused.Err, &e) {
			t.Errorf("refused: %+v", refused)
		}
	})
}

func TestLoad(t *testing.T) {
	h := open(t, WithPoolSize(3))
	begin := time.Now()
	for range 2 {
		submit(t, h, stubborn(20))
	}
	got, want := h.Load(), Load{InFlight: 2, Permits: 1}
	if running := time.Since(begin) < 200*time.Millisecond; running && got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := (*Handle)(nil).Load(); got != (Load{}) {
		t.Errorf("nil handle: %+v", got)
	}
}
