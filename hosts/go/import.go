// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

/*
#include "gusset.h"

#cgo noescape gusset_abi_layout
#cgo nocallback gusset_abi_layout
#cgo noescape gusset_abi_fields
#cgo nocallback gusset_abi_fields
#cgo noescape gusset_init
#cgo nocallback gusset_init
#cgo noescape gusset_shutdown
#cgo nocallback gusset_shutdown
#cgo noescape gusset_handle_open
#cgo nocallback gusset_handle_open
#cgo noescape gusset_handle_close
#cgo nocallback gusset_handle_close
#cgo noescape gusset_handle_ring
#cgo nocallback gusset_handle_ring
#cgo noescape gusset_ring_release
#cgo nocallback gusset_ring_release
#cgo noescape gusset_submit
#cgo nocallback gusset_submit
#cgo noescape gusset_take
#cgo nocallback gusset_take
#cgo noescape gusset_cancel
#cgo nocallback gusset_cancel
#cgo noescape gusset_cancel_all
#cgo nocallback gusset_cancel_all
#cgo noescape gusset_status_free
#cgo nocallback gusset_status_free
#cgo noescape gusset_alloc_stats
#cgo nocallback gusset_alloc_stats
#cgo noescape gusset_drain_logs
#cgo nocallback gusset_drain_logs
#cgo noescape gusset_buf_alloc
#cgo nocallback gusset_buf_alloc
#cgo noescape gusset_buf_free
#cgo nocallback gusset_buf_free
*/
import "C"

import (
	"unsafe"
)

// This file is the whole of the package's cgo: one thin wrapper for each of
// the 17 imports, in Go types, none of which allocates when the call succeeds.
// Policy lives elsewhere; nothing here looks at a code.

// nativeHandle is an open handle of the library.
type nativeHandle struct{ p *C.GussetHandle }

// nativeRing is a completion ring of the library.
type nativeRing struct {
	p             *C.GussetRing
	shared, slots unsafe.Pointer
	capacity      uint64
}

// status is where a call leaves its code and message.
type status struct{ c C.FfiStatus }

// take moves what the call reported out of the library's memory and gives
// that memory back.
func (s *status) take() *Error {
	e := &Error{
		Code: int32(s.c.code),
		Msg:  goString(s.c.msg, s.c.msg_len),
		File: goString(s.c.file, s.c.file_len),
		Line: int(s.c.line),
	}
	nativeStatusFree(s)
	return e
}

func goString(p *C.uint8_t, n C.size_t) string {
	if p == nil {
		return ""
	}
	return string(unsafe.Slice((*byte)(p), int(n)))
}

func nativeStatusFree(s *status) { C.gusset_status_free(&s.c) }

// nativeABI is the library's own report of its structs.
func nativeABI() (r abiReport) {
	var l C.AbiLayout
	C.gusset_abi_layout(&l)
	r.version = uint32(l.version)
	for i := range r.structs {
		r.structs[i] = abiSpan{uint32(l.sizes[i]), uint32(l.aligns[i])}
	}
	var offsets, sizes [abiFieldCount]C.uint32_t
	r.count = uint32(C.gusset_abi_fields(&offsets[0], &sizes[0], abiFieldCount))
	for i := range r.fields {
		r.fields[i] = abiSpan{uint32(offsets[i]), uint32(sizes[i])}
	}
	return r
}

// cgoABI is what cgo made of gusset.h on this platform.
func cgoABI() abiReport {
	var (
		h C.CallHeader
		s C.FfiStatus
		l C.AbiLayout
		a C.AllocStats
	)
	return abiReport{
		version: C.GUSSET_ABI_VERSION,
		structs: [abiStructCount]abiSpan{
			span(unsafe.Sizeof(h), unsafe.Alignof(h)),
			span(unsafe.Sizeof(s), unsafe.Alignof(s)),
			span(unsafe.Sizeof(l), unsafe.Alignof(l)),
			span(unsafe.Sizeof(a), unsafe.Alignof(a)),
		},
		count: abiFieldCount,
		fields: [abiFieldCount]abiSpan{
			span(unsafe.Offsetof(h.trace_id), unsafe.Sizeof(h.trace_id)),
			span(unsafe.Offsetof(h.span_id), unsafe.Sizeof(h.span_id)),
			span(unsafe.Offsetof(h.timeout_ns), unsafe.Sizeof(h.timeout_ns)),
			span(unsafe.Offsetof(h.flags), unsafe.Sizeof(h.flags)),
			span(unsafe.Offsetof(h.reserved), unsafe.Sizeof(h.reserved)),
			span(unsafe.Offsetof(s.code), unsafe.Sizeof(s.code)),
			span(unsafe.Offsetof(s.msg), unsafe.Sizeof(s.msg)),
			span(unsafe.Offsetof(s.msg_len), unsafe.Sizeof(s.msg_len)),
			span(unsafe.Offsetof(s.file), unsafe.Sizeof(s.file)),
			span(unsafe.Offsetof(s.file_len), unsafe.Sizeof(s.file_len)),
			span(unsafe.Offsetof(s.line), unsafe.Sizeof(s.line)),
			span(unsafe.Offsetof(l.version), unsafe.Sizeof(l.version)),
			span(unsafe.Offsetof(l.sizes), unsafe.Sizeof(l.sizes)),
			span(unsafe.Offsetof(l.aligns), unsafe.Sizeof(l.aligns)),
			span(unsafe.Offsetof(a.live_bytes), unsafe.Sizeof(a.live_bytes)),
			span(unsafe.Offsetof(a.peak_bytes), unsafe.Sizeof(a.peak_bytes)),
			span(unsafe.Offsetof(a.alloc_count), unsafe.Sizeof(a.alloc_count)),
		},
	}
}

func nativeInit() int32 { return int32(C.gusset_init()) }

// nativeShutdown blocks for the drain, at most ms milliseconds.
func nativeShutdown(ms uint32) int32 {
	return int32(C.gusset_shutdown(C.uint32_t(ms)))
}

func nativeOpen(pool uint32, fd int, st *status) (h nativeHandle, code int32) {
	code = int32(C.gusset_handle_open(C.uint32_t(pool), C.int32_t(fd), &h.p, &st.c))
	return h, code
}

// nativeClose blocks for the join, at most 30 s.
func nativeClose(h nativeHandle, st *status) int32 {
	return int32(C.gusset_handle_close(h.p, &st.c))
}

func nativeAttachRing(h nativeHandle, st *status) (r nativeRing, code int32) {
	var (
		shared, slots *C.uint8_t
		capacity      C.uint64_t
	)
	code = int32(C.gusset_handle_ring(h.p, &r.p, &shared, &slots, &capacity, &st.c))
	r.shared, r.slots = unsafe.Pointer(shared), unsafe.Pointer(slots)
	r.capacity = uint64(capacity)
	return r, code
}

func nativeRingRelease(r nativeRing) { C.gusset_ring_release(r.p) }

// nativeSubmit copies the header and an inline input before it returns.
func nativeSubmit(h nativeHandle, hdr *callHeader, input []byte, buffer uint64, st *status) (ticket uint64, code int32) {
	var t C.uint64_t
	code = int32(C.gusset_submit(h.p, (*C.CallHeader)(unsafe.Pointer(hdr)),
		(*C.uint8_t)(unsafe.SliceData(input)), C.size_t(len(input)),
		C.uint64_t(buffer), &t, &st.c))
	return uint64(t), code
}

func nativeTake(h nativeHandle, ticket uint64, st *status) (id uint64, p unsafe.Pointer, n int, code int32) {
	var (
		cid C.uint64_t
		cp  *C.uint8_t
		cn  C.size_t
	)
	code = int32(C.gusset_take(h.p, C.uint64_t(ticket), &cid, &cp, &cn, &st.c))
	return uint64(cid) &^ takeOwnedFlag, unsafe.Pointer(cp), int(cn), code
}

func nativeCancel(h nativeHandle, ticket uint64, st *status) int32 {
	return int32(C.gusset_cancel(h.p, C.uint64_t(ticket), &st.c))
}

func nativeCancelAll(h nativeHandle, st *status) int32 {
	return int32(C.gusset_cancel_all(h.p, &st.c))
}

func nativeStats() AllocStats {
	var a C.AllocStats
	C.gusset_alloc_stats(&a)
	return AllocStats{uint64(a.live_bytes), uint64(a.peak_bytes), uint64(a.alloc_count)}
}

func nativeDrainLogs(buf []byte) int {
	var n C.size_t
	C.gusset_drain_logs((*C.uint8_t)(unsafe.SliceData(buf)), C.size_t(len(buf)), &n)
	return int(n)
}

func nativeBufAlloc(h nativeHandle, n int, st *status) (id uint64, p unsafe.Pointer, code int32) {
	var (
		cid C.uint64_t
		cp  *C.uint8_t
	)
	code = int32(C.gusset_buf_alloc(h.p, C.size_t(n), &cid, &cp, &st.c))
	return uint64(cid), unsafe.Pointer(cp), code
}

func nativeBufFree(h nativeHandle, id uint64, st *status) int32 {
	return int32(C.gusset_buf_free(h.p, C.uint64_t(id), &st.c))
}

// Each line compiles only while the constant of the package and the one of
// gusset.h are equal.
var (
	_ = [1]int{}[abiVersion-C.GUSSET_ABI_VERSION]
	_ = [1]int{}[codeOK-C.FFI_OK]
	_ = [1]int{}[codeErr-C.FFI_ERR]
	_ = [1]int{}[codePanic-C.FFI_PANIC]
	_ = [1]int{}[codePoisoned-C.FFI_POISONED]
	_ = [1]int{}[codeBadArg-C.FFI_BAD_ARG]
	_ = [1]int{}[flagDiagnostic-C.GUSSET_FLAG_DIAGNOSTIC_ENGINE]
	_ = [1]int{}[flagInline-C.GUSSET_FLAG_INLINE_COMPLETION]
	_ = [1]int{}[MaxPoolSize-C.GUSSET_MAX_POOL_SIZE]
	_ = [1]int{}[defaultPoolSize-C.GUSSET_DEFAULT_POOL_SIZE]
	_ = [1]int{}[maxInlineInput-C.GUSSET_MAX_INLINE_INPUT]
	_ = [1]int{}[maxBufferBytes-C.GUSSET_MAX_BUFFER_BYTES]
	_ = [1]int{}[inlineResultMax-C.GUSSET_INLINE_RESULT_MAX]
	_ = [1]int{}[inlineRecordMax-C.GUSSET_INLINE_RECORD_MAX]
	_ = [1]int{}[ringOffCapacity-C.GUSSET_RING_OFF_CAPACITY]
	_ = [1]int{}[ringOffSlotBytes-C.GUSSET_RING_OFF_SLOT_BYTES]
	_ = [1]int{}[ringOffWaiting-C.GUSSET_RING_OFF_WAITING]
	_ = [1]int{}[ringSlotBytes-C.GUSSET_RING_SLOT_BYTES]
	_ = [1]int{}[ringSlotOffRecord-C.GUSSET_RING_SLOT_OFF_RECORD]
	_ = [1]int{}[takeOwnedFlag-C.GUSSET_TAKE_OWNED_FLAG]
	_ = [1]int{}[inlineRecordFlag-C.GUSSET_INLINE_RECORD_FLAG]
)
