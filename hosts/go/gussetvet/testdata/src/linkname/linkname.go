// SPDX-License-Identifier: MIT OR Apache-2.0

package linkname

import "unsafe"

//go:linkname cgocall runtime.cgocall // want `//go:linkname pulls runtime.cgocall out of the runtime.*\[h.cgo-rules\] \(linkname\)`
func cgocall(fn, arg unsafe.Pointer) int32

//go:linkname asm runtime.asmcgocall // want `pulls runtime.asmcgocall`
func asm(fn, arg unsafe.Pointer) int32

//go:linkname noCallback runtime.cgoNoCallback // want `pulls runtime.cgoNoCallback`
func noCallback(bool)

//go:linkname completed on_completed // want `gives Go function completed the C name on_completed`
func completed(ticket uint64) {}

//go:linkname submit gusset_submit // want `binds submit to the C symbol gusset_submit without cgo`
func submit()

//go:linkname symbol gusset_take // want `binds symbol to the C symbol gusset_take without cgo`
var symbol byte

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// A Go name for a Go function of another package is no way round cgo.
//
//go:linkname helper example.com/other.helper
func helper() {}

//go:linkname pushed
func pushed() {}
