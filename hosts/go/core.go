// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// core is a handle without its outer shell. The dispatch goroutine, the
// cleanups and the jobs hold the core, never the Handle, so that a Handle that
// its owner drops can be collected.
type core struct {
	cfg      config
	native   nativeHandle
	attached nativeRing
	gate     gate
	permits  permits
	table    table
	reader
	pace pace

	poisoned   atomic.Bool
	budgetUsed atomic.Int64

	endOnce    sync.Once
	ended      chan struct{} // closed: no call is admitted any more
	dispatched chan struct{} // closed: the dispatch goroutine has ended
	endCause   error         // what ended the reader; set before ended
	closeOnce  sync.Once
	closeErr   error
}

// newCore opens a handle of the library and starts its dispatch goroutine.
func newCore(cfg config) (*core, error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, fmt.Errorf("gusset: completion pipe: %w", err)
	}
	c := &core{
		cfg:        cfg,
		ended:      make(chan struct{}),
		dispatched: make(chan struct{}),
	}
	c.gate.init()
	c.permits.init(cfg.pool)
	c.table.init()
	c.pipe = os.NewFile(uintptr(fds[0]), "gusset-completions")
	var st status
	var code int32
	if c.native, code = nativeOpen(uint32(cfg.pool), fds[1], &st); code != codeOK {
		err := newError(&st)
		return nil, errors.Join(err, c.pipe.Close(), syscall.Close(fds[1]))
	}
	if err := c.attachRing(); err != nil {
		err = errors.Join(err, c.pipe.Close(), c.closeNative())
		nativeRingRelease(c.attached)
		return nil, err
	}
	go c.dispatch()
	return c, nil
}

// attachRing lets completions come through shared memory.
func (c *core) attachRing() (err error) {
	if c.cfg.pipeOnly {
		return nil
	}
	var st status
	var code int32
	if c.attached, code = nativeAttachRing(c.native, &st); code != codeOK {
		return newError(&st)
	}
	c.ring, err = newRing(c.attached.shared, c.attached.slots, c.attached.capacity, c.cfg.pool)
	return err
}

// admit says why no new work may enter the library, or returns nil.
func (c *core) admit() error {
	if err := c.alive(); err != nil {
		return err
	}
	if process.down.Load() {
		return ErrShutdown
	}
	if c.poisoned.Load() {
		return ErrPoisoned
	}
	return nil
}

// alive returns nil until the handle was closed or lost its reader.
func (c *core) alive() error {
	select {
	case <-c.ended:
		if c.endCause != nil {
			return &closedError{c.endCause}
		}
		return ErrClosed
	default:
		return nil
	}
}

// note latches poison from whatever code reports it.
func (c *core) note(code int32) {
	if code == codePanic || code == codePoisoned {
		c.poisoned.Store(true)
	}
}

// take moves a completed job's result out of the library into res. The caller
// is inside the gate.
func (c *core) take(ticket uint64, res *result) {
	var st status
	*res = result{}
	var code int32
	res.id, res.ptr, res.n, code = nativeTake(c.native, ticket, &st)
	if code != codeOK {
		c.note(code)
		*res = result{err: newError(&st)}
	}
}

// dispose gives back what a result holds that nobody collects. The caller is
// inside the gate.
func (c *core) dispose(res *result) {
	if res.id != 0 {
		c.free(res.id)
	}
}

// free gives a buffer back to the library. The caller is inside the gate.
func (c *core) free(id uint64) error {
	var st status
	if code := nativeBufFree(c.native, id, &st); code != codeOK {
		c.note(code)
		return newError(&st)
	}
	return nil
}

// cancel asks the library to stop a job; a job that ended is none.
func (c *core) cancel(ticket uint64) {
	if !c.gate.enter() {
		return
	}
	defer c.gate.exit()
	var st status
	if code := nativeCancel(c.native, ticket, &st); code != codeOK {
		c.note(code)
		nativeStatusFree(&st)
	}
}

// fail ends the handle because its completions cannot be read any more. Its
// jobs are stopped; the handle itself goes when it is closed.
func (c *core) fail(cause error) {
	if c.gate.enter() {
		var st status
		if code := nativeCancelAll(c.native, &st); code != codeOK {
			c.note(code)
			nativeStatusFree(&st)
		}
		c.gate.exit()
	}
	c.end(cause)
}

// end refuses all calls from now on and releases all who wait.
func (c *core) end(cause error) {
	c.endOnce.Do(func() {
		c.endCause = cause
		close(c.ended)
		if cause != nil {
			c.table.end(&closedError{cause})
		} else {
			c.table.end(errWaiterClosed)
		}
	})
}

// close ends the handle. All callers wait for the one that closes, and get
// what it got.
func (c *core) close() error {
	c.closeOnce.Do(func() {
		c.end(nil)
		c.gate.shut()
		c.closeErr = c.closeNative()
		// The dispatch goroutine does not wait for the end of the pipe: a
		// child process may hold a copy of its other end.
		if err := c.pipe.Close(); c.closeErr == nil && err != nil {
			c.closeErr = fmt.Errorf("gusset: completion pipe: %w", err)
		}
		<-c.dispatched
		nativeRingRelease(c.attached)
		c.attached = nativeRing{}
	})
	return c.closeErr
}

// closeNative blocks for the join of the workers, at most 30 s.
func (c *core) closeNative() error {
	var st status
	if code := nativeClose(c.native, &st); code != codeOK {
		return newError(&st)
	}
	return nil
}

// newError is what a failed call left in st.
func newError(st *status) *Error {
	e := st.take()
	e.cause = refusalCause(e)
	return e
}

// stamp is the time, for handles with a metrics hook.
func (c *core) stamp() time.Time {
	if c.cfg.hook == nil {
		return time.Time{}
	}
	return time.Now()
}
