// SPDX-License-Identifier: MIT OR Apache-2.0

//go:build !gusset_pkgconfig

package gusset

// The library is looked up where the linker looks, or where the build says:
// CGO_LDFLAGS=-L/path/to/lib.

// #cgo LDFLAGS: -lgusset -lpthread
import "C"
