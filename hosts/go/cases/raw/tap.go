// SPDX-License-Identifier: MIT OR Apache-2.0

package raw

// #include "tap.h"
import "C"

import "unsafe"

// Function is one of the 17.
type Function uint32

// The 17, in the order of gusset.h.
const (
	ABILayout   Function = C.TAP_ABI_LAYOUT
	ABIFields   Function = C.TAP_ABI_FIELDS
	Init        Function = C.TAP_INIT
	Shutdown    Function = C.TAP_SHUTDOWN
	HandleOpen  Function = C.TAP_HANDLE_OPEN
	HandleClose Function = C.TAP_HANDLE_CLOSE
	HandleRing  Function = C.TAP_HANDLE_RING
	RingRelease Function = C.TAP_RING_RELEASE
	Submit      Function = C.TAP_SUBMIT
	Take        Function = C.TAP_TAKE
	Cancel      Function = C.TAP_CANCEL
	CancelAll   Function = C.TAP_CANCEL_ALL
	StatusFree  Function = C.TAP_STATUS_FREE
	AllocStats  Function = C.TAP_ALLOC_STATS
	DrainLogs   Function = C.TAP_DRAIN_LOGS
	BufAlloc    Function = C.TAP_BUF_ALLOC
	BufFree     Function = C.TAP_BUF_FREE
)

// Count is how many calls of a function have begun in this process, whatever
// became of them.
func Count(f Function) int { return int(C.tap_count(C.uint32_t(f))) }

// Hold keeps calls of a function that begin from now on waiting on their way to
// the library, until release is called.
func Hold(f Function) (release func()) {
	C.tap_hold(C.uint32_t(f), 1)
	return func() { C.tap_hold(C.uint32_t(f), 0) }
}

// Call is one call that has returned.
type Call struct {
	Function Function
	Code     int32
	// Ticket is of Submit (if accepted), Take and Cancel.
	Ticket uint64
	// Buffer is the id that Submit was given, that Take gave as it was given,
	// that BufAlloc made or BufFree freed.
	Buffer uint64
	// Address and Len are of the bytes: the input of Submit, the result of
	// Take, the memory of BufAlloc; Len also of DrainLogs.
	Address, Len uint64
	// Number is the pool size of HandleOpen, the milliseconds of Shutdown.
	Number uint64
	// Of Submit: the header as it came.
	TraceID       [16]byte
	SpanID        [8]byte
	TimeoutNS     uint64
	Flags, Opcode uint32
}

// Mark is a place in the log of calls.
type Mark uint64

// Now marks the end of the log.
func Now() Mark { return Mark(C.tap_written()) }

// Since returns the calls of one function since a mark, in the order in which
// they returned. The log keeps the last 16384 calls of all functions; complete
// is false when some were lost.
func Since(mark Mark, f Function) (calls []Call, complete bool) {
	for at, end := uint64(mark), uint64(Now()); at < end; at++ {
		var c C.struct_tap_call
		if C.tap_read(C.uint64_t(at), &c) == 0 {
			return calls, false
		}
		if Function(c.function) == f {
			calls = append(calls, convert(&c))
		}
	}
	return calls, true
}

// All returns what the log still holds since a mark, of all functions.
func All(mark Mark) (calls []Call) {
	for at, end := uint64(mark), uint64(Now()); at < end; at++ {
		var c C.struct_tap_call
		if C.tap_read(C.uint64_t(at), &c) != 0 {
			calls = append(calls, convert(&c))
		}
	}
	return calls
}

func convert(c *C.struct_tap_call) Call {
	call := Call{
		Function: Function(c.function), Code: int32(c.code),
		Buffer: uint64(c.buffer), Address: uint64(c.address), Len: uint64(c.argument),
	}
	switch call.Function {
	case Submit, Take, Cancel:
		call.Ticket = uint64(c.subject)
	case BufAlloc, BufFree:
		call.Buffer = uint64(c.subject)
	default:
		call.Number = uint64(c.subject)
	}
	call.TraceID = *(*[16]byte)(unsafe.Pointer(&c.header.trace_id))
	call.SpanID = *(*[8]byte)(unsafe.Pointer(&c.header.span_id))
	call.TimeoutNS = uint64(c.header.timeout_ns)
	call.Flags, call.Opcode = uint32(c.header.flags), uint32(c.header.reserved)
	return call
}
