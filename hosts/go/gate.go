// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import "sync/atomic"

// gate counts the goroutines that are inside the library on a handle, or that
// look at its memory, so that Close can wait for them: after the library's own
// close no call on the handle may follow. None of them blocks.
type gate struct {
	n       atomic.Int64
	drained chan struct{}
}

// gateShut is added to the count to shut the gate: it makes it negative for
// any number of goroutines.
const gateShut = -1 << 62

func (g *gate) init() { g.drained = make(chan struct{}, 1) }

// enter reports false if the gate is shut; exit is then not called.
func (g *gate) enter() bool {
	if g.n.Add(1) > 0 {
		return true
	}
	g.exit()
	return false
}

func (g *gate) exit() {
	if g.n.Add(-1) == gateShut {
		g.signal()
	}
}

// isShut reports whether the library's memory may be gone.
func (g *gate) isShut() bool { return g.n.Load() < 0 }

// shut lets nobody in any more and waits for those inside. It is called once.
func (g *gate) shut() {
	if g.n.Add(gateShut) == gateShut {
		g.signal()
	}
	<-g.drained
}

// signal may be called more than once, by goroutines that were turned away.
func (g *gate) signal() {
	select {
	case g.drained <- struct{}{}:
	default:
	}
}
