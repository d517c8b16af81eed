// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import "sync/atomic"

// permits bounds the jobs in flight by the pool. A permit belongs to a job and
// comes back when the job is delivered, whoever waits for it or has left.
type permits struct {
	held    chan struct{}
	waiting atomic.Int64
}

func (p *permits) init(pool int) { p.held = make(chan struct{}, pool) }

// acquire waits for a permit, for the end of the caller's context, of the
// handle or of the process. It reports whether it has the permit.
func (p *permits) acquire(done, ended, down <-chan struct{}) bool {
	select {
	case p.held <- struct{}{}:
		return true
	default:
	}
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	select {
	case p.held <- struct{}{}:
		return true
	case <-done:
	case <-ended:
	case <-down:
	}
	return false
}

func (p *permits) release() { <-p.held }
