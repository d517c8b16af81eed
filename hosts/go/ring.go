// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// ring is the reader's side of a completion ring (i4.ring-record,
// i4.ring-wake). One goroutine at a time uses it. Go's atomics are all
// sequentially consistent, which is what the handshake asks for.
type ring struct {
	slots    unsafe.Pointer
	waiting  *uint32
	capacity uint64
	pos      uint64
}

// newRing checks what the library said about its ring.
func newRing(shared, slots unsafe.Pointer, capacity uint64, pool int) (*ring, error) {
	if shared == nil || slots == nil {
		return nil, fmt.Errorf("gusset: library gave no ring memory")
	}
	if capacity < 2 || capacity&(capacity-1) != 0 || capacity < uint64(pool) {
		return nil, fmt.Errorf("gusset: ring of %d slots for a pool of %d", capacity, pool)
	}
	stride := *(*uint64)(unsafe.Add(shared, ringOffSlotBytes))
	stored := *(*uint64)(unsafe.Add(shared, ringOffCapacity))
	if stride != ringSlotBytes || stored != capacity {
		return nil, fmt.Errorf("gusset: ring header says %d slots of %d bytes, expected %d of %d",
			stored, stride, capacity, ringSlotBytes)
	}
	return &ring{
		slots:    slots,
		waiting:  (*uint32)(unsafe.Add(shared, ringOffWaiting)),
		capacity: capacity,
	}, nil
}

// slot is the slot of the reader's position; its sequence word comes first.
func (r *ring) slot() unsafe.Pointer {
	return unsafe.Add(r.slots, (r.pos&(r.capacity-1))*ringSlotBytes)
}

// ready reports whether there is a record at the reader's position.
func (r *ring) ready() bool {
	return atomic.LoadUint64((*uint64)(r.slot())) == r.pos+1
}

// next copies the record at the reader's position, frees its slot and goes on
// to the next one; false means that there is none yet.
func (r *ring) next(rec *record) (bool, error) {
	if !r.ready() {
		return false, nil
	}
	slot := r.slot()
	words := unsafe.Slice((*byte)(unsafe.Add(slot, ringSlotOffRecord)), inlineRecordMax)
	if _, err := parseRecord(words, rec); err != nil {
		return false, err
	}
	atomic.StoreUint64((*uint64)(slot), r.pos+r.capacity)
	r.pos++
	return true, nil
}

// arm asks for a token with the next record. It reports false if a record is
// there already; the token may then be written or not.
func (r *ring) arm() bool {
	atomic.StoreUint32(r.waiting, 1)
	return !r.ready()
}

// disarm takes the request back. A token that is under way already is skipped
// when it arrives.
func (r *ring) disarm() { atomic.SwapUint32(r.waiting, 0) }
