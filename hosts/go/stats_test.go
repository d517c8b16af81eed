// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestStatsSeeBuffers(t *testing.T) {
	h := open(t)
	before := Stats()
	b := newBuffer(t, h, 1<<20)
	held := Stats()
	if d := held.LiveBytes - before.LiveBytes; d < 1<<20 || d > 1<<20+64<<10 {
		t.Errorf("a buffer of 1 MiB counts %d", d)
	}
	if held.PeakBytes < held.LiveBytes || held.AllocCount <= before.AllocCount {
		t.Errorf("%+v, %+v before", held, before)
	}
	if err := b.Free(); err != nil {
		t.Error(err)
	}
	if live := Stats().LiveBytes; live != before.LiveBytes {
		t.Errorf("%d live, %d before", live, before.LiveBytes)
	}
}

func TestAdviseMemoryLimit(t *testing.T) {
	original := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(original)
	h := open(t)
	b := newBuffer(t, h, 200<<20)
	if got := AdviseMemoryLimit(512 << 20); got != original {
		t.Errorf("the limit before was %d, got %d", original, got)
	}
	if got := debug.SetMemoryLimit(-1); got > 312<<20 || got < 300<<20 {
		t.Errorf("limit %d of 512 MiB beside 200 MiB", got)
	}
	applied := debug.SetMemoryLimit(-1)
	if got := AdviseMemoryLimit(-1); got != applied || debug.SetMemoryLimit(-1) != applied {
		t.Errorf("a negative total: returned %d, limit %d", got, debug.SetMemoryLimit(-1))
	}
	if AdviseMemoryLimit(0); debug.SetMemoryLimit(-1) != 16<<20 {
		t.Errorf("limit %d, want the floor", debug.SetMemoryLimit(-1))
	}
	if err := b.Free(); err != nil {
		t.Error(err)
	}
}

func TestGoShare(t *testing.T) {
	for _, tt := range []struct {
		total  int64
		native uint64
		want   int64
	}{
		{0, 0, 16 << 20},
		{100 << 20, 84 << 20, 16 << 20},
		{100 << 20, 50 << 20, 50 << 20},
		{100 << 20, 101 << 20, 16 << 20},
		{math.MaxInt64, 0, math.MaxInt64},
		{math.MaxInt64, math.MaxUint64, 16 << 20},
		{0, math.MaxInt64, 16 << 20},
	} {
		if got := goShare(tt.total, tt.native); got != tt.want {
			t.Errorf("goShare(%d, %d) = %d, want %d", tt.total, tt.native, got, tt.want)
		}
	}
}

func TestThreadsAreThoseOfGo(t *testing.T) {
	before := Threads()
	if before < 1 {
		t.Fatalf("%d threads", before)
	}
	h := open(t, WithPoolSize(64))
	must(t, second(h.Call(bound(t), []byte{0})))
	if after := Threads(); after > before+20 {
		t.Errorf("64 workers raise the scheduler's threads from %d to %d", before, after)
	}
}
