// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"runtime"
	"sync/atomic"
	"time"
)

// spinJobs is the most jobs in flight for a caller to poll. With more of them
// the CPUs have enough to do, and a token wakes a reader soon enough.
var spinJobs = int64(runtime.NumCPU())

const (
	// spinShort is polled whatever the handle's jobs took before: waking a
	// sleeping thread costs about as much.
	spinShort = 20 * time.Microsecond
	// spinLong is what a handle's jobs may take on the average for a caller to
	// poll as long as that.
	spinLong = time.Millisecond
	// spinLooks is the number of looks at the ring between two at the clock:
	// one round.
	spinLooks = 64
	// spinTurn is how many rounds other goroutines are kept from the
	// scheduler, some 50 us; a call that ends in its first round counts as
	// spinCall of them.
	spinTurn = 400
	spinCall = 8
)

// pollers counts the callers of all handles that poll beyond their first round.
// At most half of the CPUs do, so that many handles with a job each cannot take
// from the jobs what they wait for.
var (
	pollers    atomic.Int64
	maxPollers = int64(max(1, runtime.NumCPU()/2))
)

// pace remembers about how long the handle's jobs take, of those that somebody
// waited for.
type pace struct{ ns atomic.Int64 }

// note takes one job into the moving average. Losing one to a race is
// harmless.
func (p *pace) note(took time.Duration) {
	old := p.ns.Load()
	if now := old + (int64(took)-old)/8; now != old {
		p.ns.Store(now)
	}
}

// budget is how long to poll for the next job.
func (p *pace) budget() time.Duration {
	if typical := time.Duration(p.ns.Load()); typical <= spinLong {
		return spinShort + typical + typical/2
	}
	return spinShort
}

// spinner is one caller's polling. It takes no time stamp before the second
// round, which most small jobs do not reach.
type spinner struct {
	start  time.Time
	budget time.Duration
	counts bool // among pollers
}

// round looks at the ring a number of times. It reports false when polling has
// to end. turn counts the rounds since other goroutines had their chance.
func (s *spinner) round(r *ring, turn *int) bool {
	for range spinLooks {
		if r.ready() {
			return true
		}
	}
	if s.start.IsZero() {
		s.start = time.Now()
		s.counts = true
		if pollers.Add(1) > maxPollers {
			return false
		}
	} else if time.Since(s.start) > s.budget {
		return false
	}
	yieldAfter(turn, 1)
	return true
}

// end is called once, when polling has ended.
func (s *spinner) end() {
	if s.counts {
		pollers.Add(-1)
	}
}

// yieldAfter adds rounds to the turn and ends it when it was long enough.
func yieldAfter(turn *int, rounds int) {
	if *turn += rounds; *turn >= spinTurn {
		*turn = 0
		runtime.Gosched()
	}
}
