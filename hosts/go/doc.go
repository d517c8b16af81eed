// SPDX-License-Identifier: MIT OR Apache-2.0

// Package gusset runs a native engine inside a Go process through the Gusset
// ABI: the engine, in Rust, C or C++, runs on the library's own threads, its
// panics end one job and not the process, deadlines and spans of contexts
// reach it, and no caller blocks an operating system thread.
//
// Open makes a Handle. Call runs one unit of work; Submit and Wait are its two
// halves; CallBuffer and WaitBuffer pass Buffers, which cross without copying.
//
// # Panics
//
// A panic in an engine is an *Error that matches ErrPanic, with text and place.
// It poisons the handle: jobs that were accepted before end as if nothing had
// happened, new ones are ErrPoisoned. Close the handle and open another.
//
// # Deadlines
//
// A call returns when its context ends, whatever the engine does. The unit is
// cancelled; it keeps its place in the pool until it really ends, so an engine
// that never looks at its check still cannot occupy more threads than the pool
// has.
//
// # Linking
//
// The package links -lgusset. Say where that is by CGO_LDFLAGS=-L/path/to/lib,
// or build with -tags gusset_pkgconfig to ask pkg-config. The go command does
// not notice a changed archive; package gusset.dev/go/linkcheck does.
package gusset
