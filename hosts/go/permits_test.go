// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"errors"
	"runtime"
	"testing"
)

// Each of the three ends releases a caller without a permit.
func TestAcquireEnds(t *testing.T) {
	open := make(chan struct{})
	closed := make(chan struct{})
	close(closed)
	for name, ends := range map[string][3]<-chan struct{}{
		"context": {closed, open, open},
		"handle":  {open, closed, open},
		"process": {open, open, closed},
	} {
		var p permits
		p.init(1)
		if !p.acquire(closed, closed, closed) {
			t.Fatal("a permit that is there was refused")
		}
		got := make(chan bool)
		go func() { got <- p.acquire(ends[0], ends[1], ends[2]) }()
		if <-got {
			t.Errorf("%s: a permit out of nothing", name)
		}
		if p.waiting.Load() != 0 || len(p.held) != 1 {
			t.Errorf("%s: %d waiting, %d held", name, p.waiting.Load(), len(p.held))
		}
		go func() { got <- p.acquire(open, open, open) }()
		if !eventually(func() bool { return p.waiting.Load() == 1 }) {
			t.Fatal("the second caller does not wait")
		}
		p.release()
		if !<-got || len(p.held) != 1 {
			t.Errorf("%s: the released permit is lost", name)
		}
	}
}

// Callers that were waiting for a permit when the panic came do not enter
// native code with it: they get the package's own refusal.
func TestPoisonReachesQueuedCallers(t *testing.T) {
	both(t, func(t *testing.T, transport Option) {
		h := open(t, WithPoolSize(1), transport)
		ctx := bound(t)
		ticket := submit(t, h, stubborn(10, 1))
		queued := make(chan error, 8)
		for range 8 {
			go func() { queued <- second(h.Call(ctx, []byte{0})) }()
		}
		waiting := func() bool { return h.Load().Waiting == 8 || h.core.poisoned.Load() }
		if !eventually(waiting) {
			t.Fatal("the callers do not wait")
		}
		for range 8 {
			if err := <-queued; err != ErrPoisoned {
				t.Errorf("a queued caller: %v", err)
			}
		}
		if _, err := h.Wait(ctx, ticket); !errors.Is(err, ErrPanic) {
			t.Error(err)
		}
		if l := h.Load(); l != (Load{Permits: 1}) {
			t.Errorf("load at rest: %+v", l)
		}
	})
}

func TestGate(t *testing.T) {
	var g gate
	g.init()
	for range 3 {
		if !g.enter() {
			t.Fatal("an open gate refused")
		}
	}
	shut := make(chan struct{})
	go func() {
		g.shut()
		if g.n.Load() != gateShut {
			t.Error("shut returned with somebody inside")
		}
		close(shut)
	}()
	if !eventually(g.isShut) {
		t.Fatal("not shut")
	}
	for range 3 {
		for range 100 {
			if g.enter() {
				t.Fatal("a shut gate let somebody in")
			}
			runtime.Gosched()
		}
		select {
		case <-shut:
			t.Fatal("shut did not wait")
		default:
		}
		g.exit()
	}
	<-shut
	if g.enter() {
		t.Error("a shut gate let somebody in")
	}
}
