// SPDX-License-Identifier: MIT OR Apache-2.0

package callbackcgo

// #include <stdint.h>
// extern void crosscall2(void *fn, void *arg, int32_t n, uintptr_t ctxt); // want `C code uses crosscall2 to enter Go.*\[h.cgo-rules\] \(callback\)`
// static int32_t fine(int32_t n) { return n; /* not crosscall2 */ }
import "C"

func call() { C.fine(1) }
