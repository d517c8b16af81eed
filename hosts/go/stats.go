// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
)

// AllocStats counts the memory that the library holds for all handles of the
// process. It is not in the Go runtime's own figures.
type AllocStats struct {
	LiveBytes  uint64 // held now
	PeakBytes  uint64 // most ever held
	AllocCount uint64 // allocations ever made
}

// Stats reads the library's counters. It allocates nothing.
func Stats() AllocStats { return nativeStats() }

// memoryFloor is the least that AdviseMemoryLimit leaves to Go.
const memoryFloor = 16 << 20

// AdviseMemoryLimit sets the soft memory limit of the Go runtime to what is
// left of total bytes beside the library's live bytes, 16 MiB at least, and
// returns the limit before. Call it from time to time: the library's share
// changes. A negative total changes nothing and returns the limit.
func AdviseMemoryLimit(total int64) int64 {
	if total < 0 {
		return debug.SetMemoryLimit(-1)
	}
	return debug.SetMemoryLimit(goShare(total, nativeStats().LiveBytes))
}

func goShare(total int64, native uint64) int64 {
	if native > math.MaxInt64 {
		return memoryFloor
	}
	return max(total-int64(native), memoryFloor)
}

const threadsMetric = "/sched/threads/total:threads"

// Threads is the number of operating system threads of the Go scheduler. The
// library's workers are not among them.
func Threads() int64 {
	sample := []metrics.Sample{{Name: threadsMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
