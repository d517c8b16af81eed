// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"sync"
)

// watch turns the end of the context that a Submit was given into a cancel of
// its ticket, for as long as the job runs. It starts before the submission,
// because a context is the caller's code and may panic; the ticket comes
// later.
type watch struct {
	core *core
	ctx  context.Context
	stop func() bool

	mu     sync.Mutex
	ticket uint64
	fired  bool
}

// newWatch returns nil for a context that never ends.
func newWatch(c *core, ctx context.Context) *watch {
	if ctx.Done() == nil {
		return nil
	}
	w := &watch{core: c, ctx: ctx}
	w.stop = context.AfterFunc(ctx, w.fire)
	return w
}

func (w *watch) fire() {
	w.mu.Lock()
	w.fired = true
	ticket := w.ticket
	w.mu.Unlock()
	if ticket != 0 {
		w.core.contextEnded(ticket, w.ctx.Err())
	}
}

// bind names the ticket.
func (w *watch) bind(ticket uint64) {
	w.mu.Lock()
	w.ticket = ticket
	fired := w.fired
	w.mu.Unlock()
	if fired {
		w.core.contextEnded(ticket, w.ctx.Err())
	}
}

// contextEnded cancels a job whose submitter's context ended with err.
func (c *core) contextEnded(ticket uint64, err error) {
	if c.table.contextEnded(ticket, err) {
		c.cancel(ticket)
	}
}
