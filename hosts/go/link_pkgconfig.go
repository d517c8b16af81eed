// SPDX-License-Identifier: MIT OR Apache-2.0

//go:build gusset_pkgconfig

package gusset

// The library is the one that pkg-config knows as gusset: what `make install`
// put there.

// #cgo pkg-config: gusset
import "C"
