// SPDX-License-Identifier: MIT OR Apache-2.0

// Package plain uses neither cgo nor Gusset.
package plain

import "runtime"

func pin(b []byte) {
	var p runtime.Pinner
	p.Pin(&b[0])
}
