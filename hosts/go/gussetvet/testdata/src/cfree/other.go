// SPDX-License-Identifier: MIT OR Apache-2.0

package cfree

// #include <stdlib.h>
import "C"

import "unsafe"

// This file does not use gusset.h, so its own memory is its own affair.
func text() {
	s := C.CString("x")
	defer C.free(unsafe.Pointer(s))
	p := C.malloc(8)
	p = C.realloc(p, 16)
	C.free(p)
}

func handedOver(b buffer) {
	C.free(b.data) // want `C.free frees memory of the library`
}
