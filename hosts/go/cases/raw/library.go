// SPDX-License-Identifier: MIT OR Apache-2.0

package raw

// #include <stdlib.h>
// #include "real.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Codes and flags of gusset.h.
const (
	OK       = C.FFI_OK
	Err      = C.FFI_ERR
	Panic    = C.FFI_PANIC
	Poisoned = C.FFI_POISONED
	BadArg   = C.FFI_BAD_ARG

	Diagnostic = C.GUSSET_FLAG_DIAGNOSTIC_ENGINE
	Inline     = C.GUSSET_FLAG_INLINE_COMPLETION
)

// Status is what a call left, copied; the library's memory is given back.
type Status struct {
	Code      int32
	Msg, File string
	Line      uint32
}

// Error makes a failure an error; a nil *Status is none.
func (s *Status) Error() string { return fmt.Sprintf("code %d: %s", s.Code, s.Msg) }

// settle is nil when the call succeeded.
func settle(code C.int32_t, status *C.FfiStatus) error {
	if code == C.FFI_OK {
		return nil
	}
	s := &Status{Code: int32(code), Line: uint32(status.line)}
	s.Msg = string(C.GoBytes(unsafe.Pointer(status.msg), C.int(status.msg_len)))
	s.File = string(C.GoBytes(unsafe.Pointer(status.file), C.int(status.file_len)))
	C.__real_gusset_status_free(status)
	return s
}

// Stats is gusset_alloc_stats.
func Stats() (live, peak, count uint64) {
	var stats C.AllocStats
	C.__real_gusset_alloc_stats(&stats)
	return uint64(stats.live_bytes), uint64(stats.peak_bytes), uint64(stats.alloc_count)
}

// LiveBytes is the first of Stats.
func LiveBytes() uint64 {
	live, _, _ := Stats()
	return live
}

// CallInit is gusset_init.
func CallInit() int32 { return int32(C.__real_gusset_init()) }

// CallShutdown is gusset_shutdown.
func CallShutdown(drainMS uint32) int32 {
	return int32(C.__real_gusset_shutdown(C.uint32_t(drainMS)))
}

// Handle is an open handle of the library, without any package above it.
type Handle struct{ p *C.GussetHandle }

// Open is gusset_handle_open; the library owns fd, the write end of a pipe, if
// it succeeds.
func Open(pool uint32, fd int) (Handle, error) {
	var h Handle
	var status C.FfiStatus
	code := C.__real_gusset_handle_open(C.uint32_t(pool), C.int32_t(fd), &h.p, &status)
	return h, settle(code, &status)
}

// Close is gusset_handle_close.
func (h Handle) Close() error {
	var status C.FfiStatus
	return settle(C.__real_gusset_handle_close(h.p, &status), &status)
}

// Header is CallHeader; Opcode is its field reserved.
type Header struct {
	TraceID       [16]byte
	SpanID        [8]byte
	TimeoutNS     uint64
	Flags, Opcode uint32
}

// Submit is gusset_submit of inline input, or of a buffer that is not 0.
func (h Handle) Submit(header Header, input []byte, buffer uint64) (uint64, error) {
	var status C.FfiStatus
	var ticket C.uint64_t
	c := C.CallHeader{timeout_ns: C.uint64_t(header.TimeoutNS),
		flags: C.uint32_t(header.Flags), reserved: C.uint32_t(header.Opcode)}
	*(*[16]byte)(unsafe.Pointer(&c.trace_id)) = header.TraceID
	*(*[8]byte)(unsafe.Pointer(&c.span_id)) = header.SpanID
	code := C.__real_gusset_submit(h.p, &c, (*C.uint8_t)(unsafe.SliceData(input)),
		C.size_t(len(input)), C.uint64_t(buffer), &ticket, &status)
	return uint64(ticket), settle(code, &status)
}

// Take is gusset_take; the bytes are copied and the library's freed.
func (h Handle) Take(ticket uint64) ([]byte, error) {
	var status C.FfiStatus
	var id C.uint64_t
	var data *C.uint8_t
	var size C.size_t
	code := C.__real_gusset_take(h.p, C.uint64_t(ticket), &id, &data, &size, &status)
	if err := settle(code, &status); err != nil {
		return nil, err
	}
	result := C.GoBytes(unsafe.Pointer(data), C.int(size))
	if id != 0 {
		return result, settle(C.__real_gusset_buf_free(h.p, id&^C.GUSSET_TAKE_OWNED_FLAG, &status), &status)
	}
	return result, nil
}

// Cancel is gusset_cancel.
func (h Handle) Cancel(ticket uint64) error {
	var status C.FfiStatus
	return settle(C.__real_gusset_cancel(h.p, C.uint64_t(ticket), &status), &status)
}
