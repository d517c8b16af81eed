// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"testing"
	"time"
)

func TestPaceFollowsTheJobs(t *testing.T) {
	var p pace
	if got := p.budget(); got != spinShort {
		t.Errorf("budget of a new handle: %v", got)
	}
	for range 100 {
		p.note(100 * time.Microsecond)
	}
	if got := p.budget(); got < 150*time.Microsecond || got > spinShort+150*time.Microsecond {
		t.Errorf("budget for jobs of 100 us: %v", got)
	}
	for range 100 {
		p.note(50 * time.Millisecond)
	}
	if got := p.budget(); got != spinShort {
		t.Errorf("budget for jobs of 50 ms: %v", got)
	}
	for range 200 {
		p.note(0)
	}
	if got := p.budget(); got > 2*spinShort {
		t.Errorf("budget for jobs of no time: %v", got)
	}
}

// Polling ends with its budget, and with the number of pollers.
func TestSpinnerEnds(t *testing.T) {
	w := newTestRing(t, 2)
	turn := 0
	s := spinner{budget: time.Microsecond}
	rounds := 0
	for s.round(w.ring, &turn) {
		if rounds++; rounds > 1e6 {
			t.Fatal("no end")
		}
	}
	s.end()
	pollers.Add(maxPollers)
	defer pollers.Add(-maxPollers)
	crowded := spinner{budget: time.Hour}
	if crowded.round(w.ring, &turn) {
		t.Error("one poller too many")
	}
	crowded.end()
	if n := pollers.Load(); n != maxPollers {
		t.Errorf("%d pollers are left", n-maxPollers)
	}
	w.publish(words(1))
	if ready := (&spinner{}); !ready.round(w.ring, &turn) || !ready.start.IsZero() {
		t.Error("a record that is there took a look at the clock")
	}
}

func TestTurnEnds(t *testing.T) {
	turn := 0
	for range spinTurn - 1 {
		yieldAfter(&turn, 1)
	}
	if turn != spinTurn-1 {
		t.Fatalf("turn %d", turn)
	}
	if yieldAfter(&turn, 1); turn != 0 {
		t.Errorf("turn %d at its end", turn)
	}
}
