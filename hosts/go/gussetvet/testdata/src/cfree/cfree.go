// SPDX-License-Identifier: MIT OR Apache-2.0

package cfree

// #include "gusset.h"
// #include <stdlib.h>
// #cgo noescape gusset_take
// #cgo nocallback gusset_take
// #cgo noescape gusset_buf_alloc
// #cgo nocallback gusset_buf_alloc
// #cgo noescape gusset_handle_open
// #cgo nocallback gusset_handle_open
// #cgo noescape gusset_status_free
// #cgo nocallback gusset_status_free
// static void drop(void *p) { free(p); } // want `drop calls free in a preamble that includes gusset.h`
// static void keep(void *p) { (void)p; }
import "C"

import "unsafe"

type buffer struct {
	id   uint64
	data unsafe.Pointer
}

type result struct{ view []byte }

func take(h *C.GussetHandle, ticket uint64) (unsafe.Pointer, int) {
	var (
		id C.uint64_t
		p  *C.uint8_t
		n  C.size_t
	)
	C.gusset_take(h, C.uint64_t(ticket), &id, &p, &n, nil)
	return unsafe.Pointer(p), int(n)
}

func alloc(h *C.GussetHandle) buffer {
	var b buffer
	var id C.uint64_t
	C.gusset_buf_alloc(h, 64, &id, (**C.uint8_t)(unsafe.Pointer(&b.data)), nil)
	b.id = uint64(id)
	return b
}

func direct(h *C.GussetHandle) {
	p, _ := take(h, 1)
	C.free(p) // want `C.free frees memory of the library.*\[i1.no-libc-free\] \(cfree\)`
}

func field(h *C.GussetHandle) {
	b := alloc(h)
	C.free(unsafe.Pointer(uintptr(b.data))) // want `C.free frees memory of the library`
}

func message(st *C.FfiStatus) {
	C.free(unsafe.Pointer(st.msg)) // want `C.free frees memory of the library`
	C.gusset_status_free(st)
}

func handle() {
	var h *C.GussetHandle
	C.gusset_handle_open(1, 3, &h, nil)
	C.free(unsafe.Pointer(h)) // want `C.free frees memory of the library`
}

func throughSlice(h *C.GussetHandle) {
	p, n := take(h, 2)
	r := result{view: unsafe.Slice((*byte)(p), n)}
	release(r.view)
	C.drop(p) // want `C.drop frees memory of the library`
	C.keep(p)
}

func release(b []byte) {
	C.realloc(unsafe.Pointer(&b[0]), 0) // want `C.realloc frees memory of the library`
}

// Memory of the C library has its place in another file.
func own() {
	s := C.CString("x")
	C.free(unsafe.Pointer(s)) // want `C.free in a file that uses gusset.h.*\[h.cgo-rules\] \(cfree\)`
}

var release2 = C.free // want `C.free in a file that uses gusset.h`

// A copy of library memory is not library memory.
func copied(h *C.GussetHandle) []byte {
	p, n := take(h, 3)
	return C.GoBytes(p, C.int(n))
}
