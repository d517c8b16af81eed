// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// process is what the contract makes one thing for the whole process: whether
// the library is shut down. In Go that is one-way.
var process = processState{ended: make(chan struct{})}

type processState struct {
	once    sync.Once
	initErr error

	down  atomic.Bool
	ended chan struct{} // closed with down
	turn  sync.Mutex    // one caller in the library's shutdown at a time
}

// init calls gusset_init before the first open, and never after a Shutdown,
// which it would undo.
func (p *processState) init() error {
	p.once.Do(func() {
		if code := nativeInit(); code != codeOK {
			p.initErr = fmt.Errorf("gusset: gusset_init returned code %d", code)
		}
	})
	return p.initErr
}

// Shutdown ends the work of the whole process, for good: from its call on every
// submission and NewBuffer on every handle, old or new, is ErrShutdown, and
// what is queued or running is cancelled. It waits for that at most budget, and
// returns ErrShutdownIncomplete if something is still in flight then. Wait,
// WaitBuffer, Discard, Free and Close go on. Calls after the first wait for
// their turn.
func Shutdown(budget time.Duration) error {
	p := &process
	p.turn.Lock()
	defer p.turn.Unlock()
	p.once.Do(func() {})
	if !p.down.Swap(true) {
		close(p.ended)
	}
	if code := nativeShutdown(drainMillis(budget)); code != codeOK {
		return ErrShutdownIncomplete
	}
	return nil
}

// drainMillis rounds up, so that a small budget is not none, and stays within
// what the library can be told.
func drainMillis(budget time.Duration) uint32 {
	if budget <= 0 {
		return 0
	}
	ms := (uint64(budget) + uint64(time.Millisecond) - 1) / uint64(time.Millisecond)
	return uint32(min(ms, math.MaxUint32))
}
