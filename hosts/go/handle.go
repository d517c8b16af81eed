// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"runtime"
	"time"
)

// Handle is an open engine: a pool of the library's threads and the
// completions they send. Its methods may be called from any goroutines at the
// same time. A Handle that is dropped without Close is closed some time after
// the garbage collector finds it, not before the last of its Buffers is gone.
type Handle struct {
	core    *core
	cleanup runtime.Cleanup
}

// Open starts a handle. After Shutdown it may succeed; submissions on it are
// refused.
func Open(opts ...Option) (*Handle, error) {
	cfg, err := configure(opts)
	if err != nil {
		return nil, err
	}
	if err := process.init(); err != nil {
		return nil, err
	}
	c, err := newCore(cfg)
	if err != nil {
		return nil, err
	}
	h := &Handle{core: c}
	h.cleanup = runtime.AddCleanup(h, closeDropped, c)
	return h, nil
}

// inner is the handle's core; a nil or zero Handle counts as closed.
func (h *Handle) inner() (*core, error) {
	if h == nil || h.core == nil {
		return nil, ErrClosed
	}
	return h.core, nil
}

// Close cancels the jobs, releases every waiter with ErrClosed, joins the
// workers and frees all that the handle owned, Buffers included: their memory
// must not be used any more. It blocks while an engine does not return, 30 s
// at most, and then returns an error; what such an engine uses stays valid
// until it ends. Close may be called by several goroutines and again: all get
// the result of the first, when that is done.
func (h *Handle) Close() error {
	c, err := h.inner()
	if err != nil {
		return nil
	}
	h.cleanup.Stop()
	err = c.close()
	runtime.KeepAlive(h)
	return err
}

// Call runs one unit of work and returns its result, which is the caller's. The
// input is copied before the unit runs and may have up to 4096 bytes; NewBuffer
// and CallBuffer carry more. The deadline of ctx travels with the unit. When
// ctx ends first Call returns its error at once and the unit is cancelled; it
// keeps its place in the pool until it really ends.
func (h *Handle) Call(ctx context.Context, input []byte) ([]byte, error) {
	c, err := h.inner()
	if err != nil {
		return nil, err
	}
	var r request
	r.setBytes(input)
	res, err := c.call(ctx, &r)
	if err != nil {
		return nil, err
	}
	out, err := c.bytes(&res)
	runtime.KeepAlive(h)
	return out, err
}

// CallBuffer is Call with an input and a result that are not copied. The input
// is not written from the call on until it returns, or, if it returns the
// error of ctx, until the unit has ended.
func (h *Handle) CallBuffer(ctx context.Context, input *Buffer) (*Buffer, error) {
	c, err := h.inner()
	if err != nil {
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	var r request
	if err := r.setBuffer(c, input); err != nil {
		return nil, err
	}
	res, err := c.call(ctx, &r)
	runtime.KeepAlive(input)
	if err != nil {
		return nil, err
	}
	return h.resultBuffer(&res)
}

// Submit starts one unit of work, with a []byte of up to 4096 bytes or a
// *Buffer as input, and returns its ticket for one Wait, WaitBuffer or Discard.
// It blocks while the pool is full, until ctx ends. The end of ctx also cancels
// the unit for as long as that runs.
func (h *Handle) Submit(ctx context.Context, input any) (uint64, error) {
	c, err := h.inner()
	if err != nil {
		return 0, err
	}
	if err := c.admit(); err != nil {
		return 0, err
	}
	var r request
	if err := r.setInput(c, input); err != nil {
		return 0, err
	}
	if err := c.prepare(ctx, &r); err != nil {
		return 0, err
	}
	ticket, err := c.startDetached(ctx, &r)
	runtime.KeepAlive(input)
	runtime.KeepAlive(h)
	return ticket, err
}

// Wait returns the result of a ticket, once. When ctx ends first it returns its
// error at once, the unit is cancelled and the ticket is spent. While one
// goroutine waits another gets ErrTicketBusy; a ticket that is spent or was
// never issued is ErrUnknownTicket.
func (h *Handle) Wait(ctx context.Context, ticket uint64) ([]byte, error) {
	c, err := h.inner()
	if err != nil {
		return nil, err
	}
	res, err := c.wait(ctx, ticket)
	if err != nil {
		return nil, err
	}
	out, err := c.bytes(&res)
	runtime.KeepAlive(h)
	return out, err
}

// WaitBuffer is Wait with a result that is not copied.
func (h *Handle) WaitBuffer(ctx context.Context, ticket uint64) (*Buffer, error) {
	c, err := h.inner()
	if err != nil {
		return nil, err
	}
	res, err := c.wait(ctx, ticket)
	if err != nil {
		return nil, err
	}
	return h.resultBuffer(&res)
}

// Discard gives a ticket up: its unit is cancelled if it has not ended, its
// result is freed. Errors are as for Wait.
func (h *Handle) Discard(ticket uint64) error {
	c, err := h.inner()
	if err != nil {
		return err
	}
	err = c.discard(ticket)
	runtime.KeepAlive(h)
	return err
}

// call runs a request to its end.
func (c *core) call(ctx context.Context, r *request) (res result, err error) {
	if err := c.prepare(ctx, r); err != nil {
		return res, err
	}
	begin := c.stamp()
	j, err := c.start(ctx, r)
	if err != nil {
		return res, err
	}
	opcode, accepted := r.header.opcode, j.accepted
	if err = c.await(ctx, j, r.done, r.begin); err != nil {
		c.observe(opcode, begin, accepted, time.Time{}, err)
		return res, err
	}
	settled := j.settled
	res, err = c.collect(ctx, j)
	if r.timed && isDeadline(err) {
		// The unit noticed the deadline before the context did.
		err = context.DeadlineExceeded
	}
	c.observe(opcode, begin, accepted, settled, err)
	return res, err
}
