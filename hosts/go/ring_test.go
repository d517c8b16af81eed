// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"unsafe"
)

// testRing is a ring in Go memory with the library's side of the protocol.
type testRing struct {
	*ring
	memory   []uint64
	shared   []byte
	slots    []byte
	pos      uint64
	capacity uint64
}

func newTestRing(t testing.TB, capacity uint64) *testRing {
	const header = 192
	memory := make([]uint64, (header+capacity*ringSlotBytes)/8)
	all := unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), len(memory)*8)
	w := &testRing{memory: memory, shared: all[:header], slots: all[header:], capacity: capacity}
	binary.NativeEndian.PutUint64(w.shared[ringOffCapacity:], capacity)
	binary.NativeEndian.PutUint64(w.shared[ringOffSlotBytes:], ringSlotBytes)
	for i := range capacity {
		atomic.StoreUint64(w.word(i*ringSlotBytes), i)
	}
	r, err := newRing(unsafe.Pointer(&w.shared[0]), unsafe.Pointer(&w.slots[0]), capacity, int(capacity))
	if err != nil {
		t.Fatal(err)
	}
	w.ring = r
	return w
}

func (w *testRing) word(offset uint64) *uint64 {
	return (*uint64)(unsafe.Pointer(&w.slots[offset]))
}

// publish writes a record; false means that the slot is not free.
func (w *testRing) publish(rec []byte) bool {
	offset := (w.pos % w.capacity) * ringSlotBytes
	if atomic.LoadUint64(w.word(offset)) != w.pos {
		return false
	}
	copy(w.slots[offset+ringSlotOffRecord:], rec)
	atomic.StoreUint64(w.word(offset), w.pos+1)
	w.pos++
	return true
}

func TestRingOrder(t *testing.T) {
	w := newTestRing(t, 4)
	var rec record
	for lap := range uint64(50) {
		for i := range uint64(4) {
			if !w.publish(inlineRecord(lap*4+i+1, bytes.Repeat([]byte{byte(i)}, int(lap)%49))) {
				t.Fatal("the slot was not freed")
			}
		}
		if w.publish(words(9)) {
			t.Fatal("a slot was free that is not read")
		}
		for i := range uint64(4) {
			ok, err := w.next(&rec)
			if !ok || err != nil || rec.ticket != lap*4+i+1 || rec.n != int(lap)%49 {
				t.Fatalf("lap %d: %v, %+v, %v", lap, ok, rec, err)
			}
		}
		if ok, _ := w.next(&rec); ok {
			t.Fatal("a record that is not there")
		}
	}
}

func TestRingArm(t *testing.T) {
	w := newTestRing(t, 2)
	if !w.arm() || atomic.LoadUint32(w.waiting) != 1 {
		t.Error("an empty ring did not arm")
	}
	w.disarm()
	if atomic.LoadUint32(w.waiting) != 0 {
		t.Error("still armed")
	}
	w.publish(words(1))
	if w.arm() {
		t.Error("armed beside a record")
	}
}

func TestRingRefusesNonsense(t *testing.T) {
	w := newTestRing(t, 4)
	shared, slots := unsafe.Pointer(&w.shared[0]), unsafe.Pointer(&w.slots[0])
	for name, err := range map[string]error{
		"no header":  second(newRing(nil, slots, 4, 4)),
		"no slots":   second(newRing(shared, nil, 4, 4)),
		"not 2^n":    second(newRing(shared, slots, 3, 2)),
		"too small":  second(newRing(shared, slots, 4, 5)),
		"one slot":   second(newRing(shared, slots, 1, 1)),
		"other size": second(newRing(shared, slots, 8, 4)),
	} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	binary.NativeEndian.PutUint64(w.shared[ringOffSlotBytes:], 64)
	if _, err := newRing(shared, slots, 4, 4); err == nil {
		t.Error("another stride: taken")
	}
}

// Whatever words are in a slot, decoding reads no further than the slot and
// frees it exactly if it gave a record.
func FuzzRingDecode(f *testing.F) {
	f.Add(inlineRecord(3, []byte("abc")), uint64(1))
	f.Add(words(inlineRecordFlag|3, 1<<40), uint64(1))
	f.Add(words(5), uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, sequence uint64) {
		w := newTestRing(t, 2)
		guard := bytes.Repeat([]byte{0xEE}, ringSlotBytes)
		copy(w.slots[ringSlotBytes:], guard)
		copy(w.slots[ringSlotOffRecord:ringSlotOffRecord+inlineRecordMax], b)
		atomic.StoreUint64(w.word(0), sequence)
		var rec record
		ok, err := w.next(&rec)
		left := atomic.LoadUint64(w.word(0))
		switch {
		case sequence != 1:
			if ok || err != nil || left != sequence {
				t.Errorf("sequence %d: %v, %v, then %d", sequence, ok, err, left)
			}
		case err != nil:
			if ok || left != 1 {
				t.Errorf("corrupt: %v, sequence %d", ok, left)
			}
		default:
			if !ok || left != 2 || rec.n > inlineResultMax {
				t.Errorf("%v, sequence %d, %+v", ok, left, rec)
			}
		}
		if !bytes.Equal(w.slots[ringSlotBytes:], guard) {
			t.Error("the next slot was written")
		}
	})
}
