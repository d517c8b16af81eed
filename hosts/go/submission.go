// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"fmt"
	"time"
)

// prepare refuses what cannot be submitted and reads the context. Nothing is
// held afterwards.
func (c *core) prepare(ctx context.Context, r *request) error {
	if err := c.admit(); err != nil {
		return err
	}
	if ctx == nil {
		return errNilContext
	}
	if len(r.input) > maxInlineInput {
		return errInputTooLong(len(r.input))
	}
	if err := r.fromContext(ctx, &c.cfg); err != nil {
		return err
	}
	return ctx.Err()
}

// enter waits for a permit and goes through the gate. After nil both are held.
func (c *core) enter(ctx context.Context, r *request) error {
	if !c.permits.acquire(r.done, c.ended, process.ended) {
		if err := c.admit(); err != nil {
			return err
		}
		return ctx.Err()
	}
	err := c.admit()
	if err == nil && !r.setTimeout() {
		err = context.DeadlineExceeded
	}
	if err == nil && !c.gate.enter() {
		err = ErrClosed
	}
	if err != nil {
		c.permits.release()
	}
	return err
}

// submit hands the request to the library. Permit and gate are held; the
// permit is the job's after nil and given back after an error.
func (c *core) submit(r *request) (uint64, error) {
	var st status
	c.outstanding.Add(1)
	ticket, code := nativeSubmit(c.native, &r.header, r.input, r.buffer, &st)
	if code == codeOK {
		return ticket, nil
	}
	c.outstanding.Add(-1)
	c.permits.release()
	c.note(code)
	return 0, newError(&st)
}

// start submits a request for a caller that waits, and polls for a moment.
func (c *core) start(ctx context.Context, r *request) (*job, error) {
	if err := c.enter(ctx, r); err != nil {
		return nil, err
	}
	defer c.gate.exit()
	accepted := c.stamp()
	ticket, err := c.submit(r)
	if err != nil {
		return nil, err
	}
	j, err := c.table.claim(ticket, true, nil, accepted)
	if err != nil {
		return nil, err
	}
	r.begin = c.poll(j, r.done)
	return j, nil
}

// startDetached submits a request for a caller that takes the ticket away.
func (c *core) startDetached(ctx context.Context, r *request) (uint64, error) {
	w := newWatch(c, ctx)
	ticket, err := c.submitDetached(ctx, r, w)
	if w != nil {
		if err != nil {
			w.stop()
		} else {
			w.bind(ticket)
		}
	}
	return ticket, err
}

func (c *core) submitDetached(ctx context.Context, r *request, w *watch) (uint64, error) {
	if err := c.enter(ctx, r); err != nil {
		return 0, err
	}
	defer c.gate.exit()
	accepted := c.stamp()
	ticket, err := c.submit(r)
	if err != nil {
		return 0, err
	}
	var stop func() bool
	if w != nil {
		stop = w.stop
	}
	if _, err := c.table.claim(ticket, false, stop, accepted); err != nil {
		return 0, err
	}
	c.attend()
	return ticket, nil
}

// await returns when j is done, or with the error of ctx when that ends
// before; j is then not the caller's any more. begin is when polling began, or
// zero.
func (c *core) await(ctx context.Context, j *job, done <-chan struct{}, begin time.Time) error {
	if !j.done.Load() {
		if begin.IsZero() {
			begin = time.Now()
		}
		if err := c.asleep(ctx, j, done); err != nil {
			return err
		}
	}
	if begin.IsZero() {
		c.pace.note(0)
	} else {
		c.pace.note(time.Since(begin))
	}
	return nil
}

// asleep blocks until j is done or ctx ends.
func (c *core) asleep(ctx context.Context, j *job, done <-chan struct{}) error {
	if !c.table.sleep(j) {
		return nil
	}
	select {
	case <-j.ready:
		return nil
	case <-done:
	}
	ticket := j.ticket
	if !c.table.leave(j) {
		<-j.ready
		return nil
	}
	c.cancel(ticket)
	return ctx.Err()
}

// setInput takes the input of a Submit.
func (r *request) setInput(c *core, input any) error {
	switch v := input.(type) {
	case []byte:
		r.setBytes(v)
		return nil
	case *Buffer:
		return r.setBuffer(c, v)
	}
	return fmt.Errorf("gusset: input must be []byte or *Buffer, not %T", input)
}

// setBytes asks for a small result in the completion itself.
func (r *request) setBytes(b []byte) {
	r.input = b
	r.header.flags |= flagInline
}
