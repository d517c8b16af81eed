// SPDX-License-Identifier: MIT OR Apache-2.0

package gopointer

/*
#include <stdint.h>
#include "gusset.h"

typedef int32_t (*gse_handler)(void *call, void *user);
int32_t gse_register_opcode(uint32_t opcode, gse_handler handler, void *user);

struct context { void *user; uint8_t *bytes; int n; };

#cgo noescape gusset_submit
#cgo nocallback gusset_submit
#cgo noescape gusset_drain_logs
#cgo nocallback gusset_drain_logs
#cgo noescape gusset_buf_alloc
#cgo nocallback gusset_buf_alloc
#cgo noescape gusset_handle_open
#cgo nocallback gusset_handle_open
*/
import "C"

import (
	"encoding/binary"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

type request struct {
	id   uint64
	name *byte
}

type flat struct {
	id   uint64
	kind [4]uint32
}

// What is copied before the call returns may lie in Go memory.
func borrowed(h *C.GussetHandle, in []byte, f *flat) {
	var (
		header C.CallHeader
		ticket C.uint64_t
		st     C.FfiStatus
		log    [64]byte
		n      C.size_t
	)
	C.gusset_submit(h, &header, (*C.uint8_t)(unsafe.Pointer(&in[0])), C.size_t(len(in)), 0, &ticket, &st)
	C.gusset_submit(h, &header, (*C.uint8_t)(unsafe.SliceData(in)), C.size_t(len(in)), 0, &ticket, &st)
	C.gusset_submit(h, &header, (*C.uint8_t)(unsafe.Pointer(f)), C.size_t(unsafe.Sizeof(*f)), 0, &ticket, &st)
	C.gusset_drain_logs((*C.uint8_t)(&log[0]), 64, &n)
}

// The library's own pointers may go anywhere.
func handedOut(h *C.GussetHandle) (handle struct{ p *C.GussetHandle }, data unsafe.Pointer) {
	var id C.uint64_t
	C.gusset_handle_open(1, 3, &handle.p, nil)
	C.gusset_buf_alloc(h, 64, &id, (**C.uint8_t)(unsafe.Pointer(&data)), nil)
	*(*flat)(data) = flat{}
	return handle, data
}

func inside(h *C.GussetHandle, in []byte) {
	var header C.CallHeader
	var ticket C.uint64_t
	r := request{name: &in[0]}
	C.gusset_submit(h, &header, (*C.uint8_t)(unsafe.Pointer(&r)), 16, 0, &ticket, nil)  // want `C.gusset_submit copies memory that holds Go pointers or handles, and the copy outlives the call.*\[i1.input-copied\] \(gopointer\)`
	C.gusset_submit(h, &header, (*C.uint8_t)(unsafe.Pointer(&in)), 24, 0, &ticket, nil) // want `C.gusset_submit copies memory that holds Go pointers`
	p := unsafe.Pointer(&r)
	C.gusset_submit(h, (*C.CallHeader)(p), nil, 0, 0, &ticket, nil) // want `C.gusset_submit copies memory that holds Go pointers`
	handle := cgo.NewHandle(func() {})
	C.gusset_submit(h, &header, (*C.uint8_t)(unsafe.Pointer(&handle)), 8, 0, &ticket, nil) // want `copies memory that holds Go pointers or handles`
}

func numbers(h *C.GussetHandle, in []byte) []byte {
	var header C.CallHeader
	var ticket C.uint64_t
	address := uint64(uintptr(unsafe.Pointer(&in[0])))
	C.gusset_submit(h, &header, nil, 0, C.uint64_t(address), &ticket, nil) // want `C.gusset_submit gets a Go address or a callback handle as a number.*\[h.cgo-rules\] \(gopointer\)`
	header.timeout_ns = C.uint64_t(cgo.NewHandle(1))                       // want `CallHeader.timeout_ns is set to a Go address or a callback handle`
	_ = C.CallHeader{timeout_ns: C.uint64_t(address)}                      // want `CallHeader.timeout_ns is set to a Go address`
	header.timeout_ns = C.uint64_t(len(in))
	binary.LittleEndian.PutUint64(in, address)                            // want `a Go address or a callback handle is written into bytes`
	in = binary.NativeEndian.AppendUint64(in, uint64(cgo.NewHandle("x"))) // want `a Go address or a callback handle is written into bytes`
	binary.LittleEndian.PutUint64(in, uint64(len(in)))
	return in
}

var kept C.struct_context

func stored(in []byte, c *C.struct_context, p *C.uint8_t) {
	var st C.FfiStatus
	st.msg = nil
	st.msg = (*C.uint8_t)(unsafe.Pointer(&in[0]))                  // want `FfiStatus.msg is set to Go memory, but it is the library's.*\[i1.status-owned\] \(gopointer\)`
	_ = C.FfiStatus{file: (*C.uint8_t)(unsafe.Pointer(new(byte)))} // want `FfiStatus.file is set to Go memory`
	_ = C.FfiStatus{code: 1}
	c.bytes = (*C.uint8_t)(unsafe.SliceData(in)) // want `a Go pointer is stored in field bytes of C struct context, which outlives the call`
	kept.user = unsafe.Pointer(&st)              // want `a Go pointer is stored in field user of C struct context`
	c.bytes = p
	c.n = C.int(len(in))
	var local C.struct_context
	local.bytes = (*C.uint8_t)(unsafe.SliceData(in))
}

// Another library may keep what is pinned.
func pinned(c *C.struct_context, pins *runtime.Pinner, in []byte) {
	pins.Pin(&in[0])
	c.bytes = (*C.uint8_t)(unsafe.SliceData(in))
}

func registered(fn C.gse_handler, in []byte, p *C.uint8_t) {
	C.gse_register_opcode(1, fn, nil)
	C.gse_register_opcode(1, fn, unsafe.Pointer(p))
	C.gse_register_opcode(1, fn, unsafe.Pointer(&in[0]))                            // want `C.gse_register_opcode keeps a Go pointer or a callback handle for its handler`
	C.gse_register_opcode(1, fn, unsafe.Pointer(uintptr(cgo.NewHandle(func() {})))) // want `C.gse_register_opcode keeps a Go pointer or a callback handle`
}

func viewed(h *C.GussetHandle) {
	_, p := handedOut(h)
	_ = (*flat)(p)
	_ = (*request)(p)  // want `memory of the library is used as request, which holds Go pointers`
	_ = (*[]string)(p) // want `memory of the library is used as \[\]string`
	_ = (*C.struct_context)(p)
}
