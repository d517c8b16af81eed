// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"time"
)

// callHeader is CallHeader of gusset.h. The check at start-up compares cgo's
// layout with compiledABI, a test compares this one with it.
type callHeader struct {
	traceID   [16]byte
	spanID    [8]byte
	timeoutNS uint64
	flags     uint32
	opcode    uint32
}

// request is one submission before it holds anything.
type request struct {
	header   callHeader
	input    []byte
	buffer   uint64
	deadline time.Time
	timed    bool
	done     <-chan struct{}
	begin    time.Time // of polling, or zero
}

// fromContext reads all that a submission needs of its context. A context is
// the caller's code: it may panic or end the goroutine, so this is done before
// a permit is held.
func (r *request) fromContext(ctx context.Context, cfg *config) error {
	r.done = ctx.Done()
	r.deadline, r.timed = ctx.Deadline()
	r.header.opcode = cfg.opcode
	r.header.flags |= cfg.flags
	v := valuesOf(ctx)
	if v != nil && v.hasOpcode {
		if v.opcodeErr != nil {
			return v.opcodeErr
		}
		r.header.opcode = v.opcode
	}
	if v != nil && v.hasSpan {
		r.header.traceID, r.header.spanID = v.traceID, v.spanID
	} else if cfg.spans != nil {
		if t, s, ok := cfg.spans(ctx); ok {
			r.header.traceID, r.header.spanID = t, s
		}
	}
	return nil
}

// setTimeout turns the deadline into the time that is left. It reports false
// if none is.
func (r *request) setTimeout() bool {
	if !r.timed {
		return true
	}
	left := time.Until(r.deadline)
	if left <= 0 {
		return false
	}
	r.header.timeoutNS = uint64(left)
	return true
}
