// SPDX-License-Identifier: MIT OR Apache-2.0

package pinner

/*
#include "gusset.h"
struct pair { uint8_t *a, *b; };
static void both(struct pair *p) { (void)p; }
#cgo noescape gusset_submit
#cgo nocallback gusset_submit
*/
import "C"

import (
	"runtime"
	"unsafe"
)

func balanced(a, b []byte) {
	var p runtime.Pinner
	defer p.Unpin()
	p.Pin(&a[0])
	p.Pin(unsafe.Pointer(&b[0]))
	C.both(&C.struct_pair{(*C.uint8_t)(unsafe.Pointer(&a[0])), (*C.uint8_t)(unsafe.Pointer(&b[0]))})
}

func leaked(a []byte) {
	var p runtime.Pinner
	p.Pin(&a[0]) // want `p is never unpinned and the collector will panic: add .defer p.Unpin\(\). \[h.cgo-rules\] \(pinner\)`
	p.Pin(&a[1])
}

func handedOn(a []byte) *runtime.Pinner {
	var p runtime.Pinner
	p.Pin(&a[0])
	return &p
}

type holder struct{ pins runtime.Pinner }

func (h *holder) pin(a []byte) { h.pins.Pin(&a[0]) }

func notPinnable(a []byte, s string, m map[string]int, v any) {
	var p runtime.Pinner
	defer func() { p.Unpin() }()
	p.Pin(a) // want `Pin of a \[\]byte panics`
	p.Pin(s) // want `Pin of a string panics`
	p.Pin(m) // want `Pin of a map\[string\]int panics`
	p.Pin(v)
}

func asynchronous(h *C.GussetHandle, a []byte) {
	var p runtime.Pinner
	p.Pin(&a[0]) // want `a pin does not last as long as the job that this function submits`
	var header C.CallHeader
	var ticket C.uint64_t
	C.gusset_submit(h, &header, (*C.uint8_t)(&a[0]), C.size_t(len(a)), 0, &ticket, nil)
	p.Unpin()
}
