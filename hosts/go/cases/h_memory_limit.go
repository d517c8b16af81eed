// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"math"
	"runtime/debug"

	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
	"gusset.dev/go/cases/raw"
)

const mib = 1 << 20

// limit is the Go runtime's, as it is now.
func limit() int64 { return debug.SetMemoryLimit(-1) }

var _ = conform.Register(conform.Case{
	ID:      "h.memory-limit.follows-native",
	Clauses: "h.memory-limit",
	Why:     "Two heaps under one limit: a Go heap that takes no notice of the other gets the process killed.",
	Steps: "Hold 0, 48 and 8 MiB in native buffers and advise a total of 1 GiB, 64 MiB, 1 MiB, 0 and the largest; " +
		"then a negative one.",
	Expected: "The Go limit is the total less the native live bytes, 16 MiB at least; each call returns the limit " +
		"before it; a negative total changes nothing.",
	Mutant: "go-limit-ignores-native go-limit-without-floor go-limit-set-when-negative go-limit-returns-the-new",
	Run: func(t *conform.T) {
		before := limit()
		h := open(t, 1)
		for _, held := range []int{0, 48 * mib, 8 * mib} {
			free := hold(t, h, held)
			for _, total := range []int64{1 << 30, 64 * mib, mib, 0, math.MaxInt64} {
				checkLimit(t, total)
			}
			free()
		}
		t.NoError(h.Close(), "close")
		debug.SetMemoryLimit(before)
	},
})

// hold keeps so many bytes in native memory until it is called back.
func hold(t *conform.T, h *gusset.Handle, n int) (free func()) {
	if n == 0 {
		return func() {}
	}
	buffer, err := h.NewBuffer(n)
	t.NoError(err, "a buffer of %d bytes", n)
	conform.AtLeast(t, uint64(n), raw.LiveBytes(), "native live bytes")
	return func() { t.NoError(buffer.Free(), "free") }
}

// checkLimit advises a total. Nothing else uses native memory meanwhile.
func checkLimit(t *conform.T, total int64) {
	const floor = 16 * mib
	native, old := int64(raw.LiveBytes()), limit()
	want := max(total-native, floor)
	got := gusset.AdviseMemoryLimit(total)
	conform.Equal(t, native, int64(raw.LiveBytes()), "native live bytes while the limit is set")
	conform.Equal(t, old, got, "what AdviseMemoryLimit(%d) returns", total)
	conform.Equal(t, want, limit(), "the limit after AdviseMemoryLimit(%d) with %d native bytes", total, native)
	for _, negative := range []int64{-1, math.MinInt64} {
		conform.Equal(t, want, gusset.AdviseMemoryLimit(negative), "what AdviseMemoryLimit(%d) returns", negative)
		conform.Equal(t, want, limit(), "the limit after AdviseMemoryLimit(%d)", negative)
	}
}
