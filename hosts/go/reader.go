// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Design notes: who reads completions.
//
// The dispatch goroutine of a handle is the only one that reads the pipe. It
// parks there, through the netpoller, and each token or completion in the pipe
// wakes it. It and the callers share the ring under the lock mu: a caller that
// is alone reads the ring itself for a moment after its submission, because
// that spares two goroutine switches; it delivers whatever else it finds.
//
// A token comes only if the ring was armed. So nobody may leave the ring with
// jobs in flight and not armed. outstanding counts the jobs that were handed
// to the library and not delivered; a submitter raises it before it tries the
// lock, and who leaves looks at it after unlocking. Of the two one sees the
// other: either the submitter gets the lock and arms, or the leaver sees the
// job, and comes back.
//
// armed may be stale: the library may have taken the request back and written
// its token. The dispatch goroutine therefore waits for the lock, always
// disarms, and looks; it cannot lose a token to another holder.
type reader struct {
	pipe        *os.File
	outstanding atomic.Int64

	mu    sync.Mutex
	ring  *ring // nil: completions come through the pipe only
	armed bool
	turn  int // see yieldAfter
	rec   record
	res   result
}

var errPipeEnded = errors.New("completion pipe ended")

// dispatch is the handle's one goroutine of its own. It ends with the pipe.
func (c *core) dispatch() {
	defer close(c.dispatched)
	var in stream
	for {
		n, err := c.pipe.Read(in.room())
		in.filled(n)
		if errors.Is(err, io.EOF) {
			err = errPipeEnded
		}
		if err == nil {
			err = c.readPipe(&in)
		}
		if err == nil {
			err = c.readRing()
		}
		if err != nil {
			if c.gate.isShut() {
				return
			}
			c.fail(err)
			return
		}
	}
}

// readPipe delivers the completions of the pipe and skips its tokens.
func (c *core) readPipe(in *stream) error {
	if !c.gate.enter() {
		return nil
	}
	defer c.gate.exit()
	var rec record
	var res result
	for {
		ok, err := in.next(&rec)
		if !ok || err != nil {
			return err
		}
		if rec.ticket == 0 {
			continue
		}
		if err := c.deliver(&rec, &res); err != nil {
			return err
		}
	}
}

// readRing delivers what a token announced.
func (c *core) readRing() error {
	if !c.gate.enter() {
		return nil
	}
	defer c.gate.exit()
	c.mu.Lock()
	if c.ring == nil {
		c.mu.Unlock()
		return nil
	}
	c.disarm()
	err := c.drain()
	return errors.Join(err, c.leaveRing())
}

// poll reads the ring in the goroutine of the waiter of j while j may end
// soon. It returns when it began, if that was worth a look at the clock. The
// caller is inside the gate.
func (c *core) poll(j *job, done <-chan struct{}) (begin time.Time) {
	if !c.mu.TryLock() {
		return begin
	}
	if c.ring == nil {
		c.mu.Unlock()
		return begin
	}
	spin := spinner{budget: c.pace.budget()}
	err := c.pollRing(j, &spin, done)
	spin.end()
	if e := c.leaveRing(); err == nil {
		err = e
	}
	if err != nil {
		c.fail(err)
	}
	return spin.start
}

func (c *core) pollRing(j *job, spin *spinner, done <-chan struct{}) error {
	c.disarm()
	for {
		if err := c.drain(); err != nil {
			return err
		}
		if j.done.Load() {
			yieldAfter(&c.turn, spinCall)
			return nil
		}
		if c.outstanding.Load() > spinJobs || !spin.round(c.ring, &c.turn) {
			return nil
		}
		select {
		case <-done:
			return nil
		default:
		}
		if c.gate.isShut() {
			return nil
		}
	}
}

// attend makes sure that somebody will read the completion of a job that was
// just submitted. The caller is inside the gate.
func (c *core) attend() {
	if !c.mu.TryLock() {
		return
	}
	if c.ring == nil {
		c.mu.Unlock()
		return
	}
	if err := c.leaveRing(); err != nil {
		c.fail(err)
	}
}

// disarm is called with the lock held.
func (c *core) disarm() {
	if c.armed {
		c.ring.disarm()
		c.armed = false
	}
}

// drain delivers all that is in the ring; the lock is held.
func (c *core) drain() error {
	for {
		ok, err := c.ring.next(&c.rec)
		if !ok || err != nil {
			return err
		}
		if err := c.deliver(&c.rec, &c.res); err != nil {
			return err
		}
	}
}

// leaveRing gives the lock back, with the ring armed if jobs are in flight.
func (c *core) leaveRing() error {
	for {
		err := c.armFor()
		armed := c.armed
		c.mu.Unlock()
		if err != nil || armed || c.outstanding.Load() == 0 || !c.mu.TryLock() {
			return err
		}
	}
}

func (c *core) armFor() error {
	for c.outstanding.Load() > 0 && !c.armed {
		c.armed = c.ring.arm()
		if c.armed {
			return nil
		}
		c.ring.disarm()
		if err := c.drain(); err != nil {
			return err
		}
	}
	return nil
}

// deliver moves the result of a completed job to whoever waits for it, and
// lets the next caller in. The caller is inside the gate; res is room to use.
// A completion without a job in flight is an error: the library's and the
// package's counts do not agree any more.
func (c *core) deliver(rec *record, res *result) error {
	if c.outstanding.Add(-1) < 0 {
		return &strayCompletionError{rec.ticket}
	}
	if rec.inline {
		*res = result{inline: true, n: rec.n, data: rec.data}
	} else {
		c.take(rec.ticket, res)
	}
	c.permits.release()
	if !c.table.settle(rec.ticket, res, c.stamp()) {
		c.dispose(res)
	}
	return nil
}
