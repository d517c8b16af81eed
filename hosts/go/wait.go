// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"context"
	"errors"
	"time"
	"unsafe"
)

// wait makes the caller the waiter of a ticket and returns its result.
func (c *core) wait(ctx context.Context, ticket uint64) (res result, err error) {
	if err := c.alive(); err != nil {
		return res, err
	}
	if ctx == nil {
		return res, errNilContext
	}
	done := ctx.Done()
	j, err := c.table.find(ticket)
	if err != nil {
		return res, err
	}
	begin, accepted := c.stamp(), j.accepted
	var polled time.Time
	if !j.done.Load() && c.gate.enter() {
		polled = c.poll(j, done)
		c.gate.exit()
	}
	if err := c.await(ctx, j, done, polled); err != nil {
		c.observe(0, begin, accepted, time.Time{}, err)
		return res, err
	}
	settled := j.settled
	res, err = c.collect(ctx, j)
	c.observe(0, begin, accepted, settled, err)
	return res, err
}

// discard gives a ticket up.
func (c *core) discard(ticket uint64) error {
	if err := c.alive(); err != nil {
		return err
	}
	j, err := c.table.find(ticket)
	if err != nil {
		return err
	}
	if c.table.leave(j) {
		c.cancel(ticket)
		return nil
	}
	res := j.res
	recycle(j)
	if res.id != 0 && c.gate.enter() {
		defer c.gate.exit()
		return c.free(res.id)
	}
	return nil
}

// collect moves the result out of a finished job and ends the job.
func (c *core) collect(ctx context.Context, j *job) (result, error) {
	res, ctxErr := j.res, j.ctxErr
	recycle(j)
	e, ok := res.err.(*Error)
	if !ok {
		return res, res.err
	}
	cause := stopCause(e, process.down.Load())
	if cause == nil {
		return res, e
	}
	if err := ctx.Err(); err != nil && cause != ErrShutdown {
		return res, err
	}
	if ctxErr != nil && cause != ErrShutdown {
		cause = ctxErr
	}
	stopped := *e
	stopped.cause = cause
	return res, &stopped
}

func isDeadline(err error) bool {
	return err != nil && errors.Is(err, context.DeadlineExceeded)
}

// bytes turns a result into the caller's own memory and gives the library's
// back.
func (c *core) bytes(res *result) ([]byte, error) {
	if res.inline {
		return append([]byte{}, res.data[:res.n]...), nil
	}
	if res.id == 0 {
		return []byte{}, nil
	}
	if !c.gate.enter() {
		return nil, errWaiterClosed
	}
	defer c.gate.exit()
	out := bytes.Clone(unsafe.Slice((*byte)(res.ptr), res.n))
	return out, c.free(res.id)
}
