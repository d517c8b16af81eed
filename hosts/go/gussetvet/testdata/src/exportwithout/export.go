// SPDX-License-Identifier: MIT OR Apache-2.0

// Package exportwithout exports a function, but has nothing to do with gusset.h.
package exportwithout

// #include <stdint.h>
import "C"

//export ready
func ready(n C.int32_t) {}
