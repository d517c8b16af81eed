// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

// Integer is any integer kind.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}
