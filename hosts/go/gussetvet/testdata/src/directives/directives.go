// SPDX-License-Identifier: MIT OR Apache-2.0

package directives

/*
#include "gusset.h"

// Both directives, here and in the other file.
#cgo noescape gusset_cancel
#cgo nocallback gusset_cancel
   #cgo	noescape	gusset_init
#cgo nocallback gusset_init
#cgo noescape gusset_cancel_all
#cgo nocallback gusset_status_free
#cgo noescape direct
#cgo nocallback direct

static int32_t inner(GussetHandle *h) { return gusset_cancel_all(h, NULL); }
static int32_t wrapped(GussetHandle *h) { if (h) { return inner(h); } return 0; }
static int32_t direct(void) { return gusset_init(); }
static int32_t unrelated(int32_t n) { return n; }
// A comment that speaks of gusset_init() calls nothing.
static int32_t commented(int32_t n) {
	return n; // gusset_init()
}
*/
import "C"

func complete(h *C.GussetHandle) {
	C.gusset_cancel(h, 1, nil)
	C.gusset_init()
	C.gusset_buf_free(h, 1, nil)
	C.direct()
	C.unrelated(1)
	C.commented(1)
}

func missing(h *C.GussetHandle, st *C.FfiStatus) {
	C.gusset_cancel_all(h, st)        // want `C.gusset_cancel_all is called without nocallback.*add .#cgo nocallback gusset_cancel_all. .*\[h.cgo-rules\] \(nocallback\)`
	C.gusset_cancel_all(h, st)        // One report for each function is enough.
	C.gusset_status_free(st)          // want `C.gusset_status_free is called without noescape.*add .#cgo noescape gusset_status_free. .*\[h.cgo-rules\] \(noescape\)`
	code, err := C.gusset_shutdown(0) // want `gusset_shutdown is called without noescape` `gusset_shutdown is called without nocallback`
	_, _ = code, err
	defer (C.gusset_ring_release)(nil) // want `gusset_ring_release is called without noescape` `gusset_ring_release is called without nocallback`
	C.wrapped(h)                       // want `C.wrapped, which calls gusset_cancel_all, is called without noescape` `C.wrapped, which calls gusset_cancel_all, is called without nocallback`
}

// A function's address, a type, a constant and a size are no calls.
func noCalls() (uintptr, any) {
	var l C.AbiLayout
	_ = C.GUSSET_ABI_VERSION
	_ = C.sizeof_AbiLayout
	_ = C.gusset_abi_layout
	return uintptr(C.sizeof_FfiStatus), l
}
