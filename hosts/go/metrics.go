// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import "time"

// Load is what a handle has to do at one moment.
type Load struct {
	Waiting  int // callers that wait for a permit: the depth of the queue
	InFlight int // jobs that hold one
	Permits  int // permits left
}

// Load reads the gauges of the handle; zero for one that was never open.
func (h *Handle) Load() Load {
	c, err := h.inner()
	if err != nil {
		return Load{}
	}
	held := len(c.permits.held)
	return Load{
		Waiting:  int(c.permits.waiting.Load()),
		InFlight: held,
		Permits:  c.cfg.pool - held,
	}
}

// Sample is one finished Call, CallBuffer, Wait or WaitBuffer, for WithMetrics.
type Sample struct {
	Opcode uint32        // of a call; 0 for a wait
	Queued time.Duration // from the call to the submission; 0 for a wait
	Ran    time.Duration // from the submission to the delivery; 0 if the caller left before
	Took   time.Duration // from the call or wait to its return
	Err    error         // what the caller got
	Load   Load          // at the end
}

// observe calls the hook, if there is one. Times that are not known are zero.
func (c *core) observe(opcode uint32, begin, accepted, settled time.Time, err error) {
	if c.cfg.hook == nil {
		return
	}
	s := Sample{Opcode: opcode, Took: time.Since(begin), Err: err}
	if accepted.After(begin) {
		s.Queued = accepted.Sub(begin)
	}
	if !settled.IsZero() {
		s.Ran = max(settled.Sub(accepted), 0)
	}
	held := len(c.permits.held)
	s.Load = Load{int(c.permits.waiting.Load()), held, c.cfg.pool - held}
	c.cfg.hook(s)
}
