// SPDX-License-Identifier: MIT OR Apache-2.0

package cfreeelsewhere

// #include <stdlib.h>
import "C"

import (
	"unsafe"

	gusset "gusset.dev/go"
)

func bad(b *gusset.Buffer) {
	bytes := b.Bytes()
	C.free(unsafe.Pointer(unsafe.SliceData(bytes[4:]))) // want `C.free frees memory of the library`
}

func good(b *gusset.Buffer) error {
	text := C.CString(string(b.Bytes()))
	C.free(unsafe.Pointer(text))
	return b.Free()
}
