// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// result is how a job ended: an error, an inline result, an empty one (id 0)
// or memory of the library that whoever has the result gives back.
type result struct {
	err    error
	inline bool
	data   [inlineResultMax]byte
	id     uint64
	ptr    unsafe.Pointer
	n      int
}

// job is a submission between its acceptance and the collection of its result.
// All but done is guarded by the table's lock; res is the waiter's own once
// done is set.
type job struct {
	ticket uint64
	done   atomic.Bool

	claimed  bool // by the submitter
	waited   bool // somebody is waiting
	asleep   bool // and wants to be woken through ready
	left     bool // nobody will ever wait
	ready    chan struct{}
	res      result
	stop     func() bool // ends the watch over the submitter's context
	ctxErr   error       // how that context ended before the job did
	accepted time.Time   // with a metrics hook
	settled  time.Time   // with a metrics hook
}

var jobPool = sync.Pool{
	New: func() any { return &job{ready: make(chan struct{}, 1)} },
}

func newJob(ticket uint64) *job {
	j := jobPool.Get().(*job)
	j.ticket = ticket
	return j
}

// recycle gives a job back whose result was moved out and that the table does
// not hold any more.
func recycle(j *job) {
	ready := j.ready
	*j = job{ready: ready}
	jobPool.Put(j)
}

// finish hands the result over. A waiter that is not asleep looks at done
// without the lock and takes the job back at once, so nothing of it is touched
// afterwards.
func (j *job) finish(res *result) {
	asleep, ready := j.asleep, j.ready
	j.res = *res
	j.done.Store(true)
	if asleep {
		ready <- struct{}{}
	}
}

// table holds the jobs of a handle by ticket: those in flight, and those whose
// result waits to be collected.
type table struct {
	mu    sync.Mutex
	jobs  map[uint64]*job
	ended error // once set, the table holds nothing
}

func (t *table) init() { t.jobs = make(map[uint64]*job) }

// claim enters a submitted job. Its completion may have been read before the
// submission returned (i4.completion-order a), and is then in the table.
// A waited job cannot be waited for by others.
func (t *table) claim(ticket uint64, waited bool, stop func() bool, accepted time.Time) (*job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != nil {
		return nil, t.ended
	}
	j := t.jobs[ticket]
	if j == nil {
		j = newJob(ticket)
		t.jobs[ticket] = j
	}
	j.claimed, j.waited, j.stop, j.accepted = true, waited, stop, accepted
	if waited && j.done.Load() {
		delete(t.jobs, ticket)
	}
	return j, nil
}

// settle enters the result of a ticket and wakes its waiter. It reports false
// if nobody will collect the result: the caller then disposes of it.
func (t *table) settle(ticket uint64, res *result, now time.Time) bool {
	t.mu.Lock()
	if t.ended != nil {
		t.mu.Unlock()
		return false
	}
	j := t.jobs[ticket]
	if j == nil {
		j = newJob(ticket)
		t.jobs[ticket] = j
	}
	left, stop := j.left, j.stop
	j.stop = nil
	if left || j.waited {
		delete(t.jobs, ticket)
	}
	if !left {
		j.settled = now
		j.finish(res)
	}
	t.mu.Unlock()
	if stop != nil {
		stop()
	}
	if left {
		recycle(j)
	}
	return !left
}

// find makes the caller the one waiter of a ticket. A finished job leaves the
// table.
func (t *table) find(ticket uint64) (*job, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != nil {
		return nil, ErrClosed
	}
	j := t.jobs[ticket]
	if j == nil || j.left || !j.claimed {
		return nil, ErrUnknownTicket
	}
	if j.waited {
		return nil, ErrTicketBusy
	}
	j.waited = true
	if j.done.Load() {
		delete(t.jobs, ticket)
	}
	return j, nil
}

// sleep announces that the waiter of j will receive from j.ready. It reports
// false if the job is done already.
func (t *table) sleep(j *job) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.done.Load() {
		return false
	}
	j.asleep = true
	return true
}

// leave gives a job up: its result is disposed of when it comes. It reports
// false if the job is done, so that its waiter has it after all. After true
// the job is the table's alone.
func (t *table) leave(j *job) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if j.done.Load() {
		return false
	}
	j.left = true
	return true
}

// contextEnded notes why the job will be cancelled. It reports false if there
// is nothing to cancel.
func (t *table) contextEnded(ticket uint64, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	j := t.jobs[ticket]
	if j == nil || j.done.Load() {
		return false
	}
	j.ctxErr = err
	return true
}

// end fails all who wait with err and everything later with ErrClosed. What
// nobody collected is not given back here: it goes with the handle.
func (t *table) end(err error) {
	t.mu.Lock()
	if t.ended != nil {
		t.mu.Unlock()
		return
	}
	t.ended = err
	var stops []func() bool
	for _, j := range t.jobs {
		if j.stop != nil {
			stops = append(stops, j.stop)
			j.stop = nil
		}
		if j.left || !j.waited {
			continue
		}
		j.finish(&result{err: err})
	}
	t.jobs = nil
	t.mu.Unlock()
	for _, stop := range stops {
		stop()
	}
}
