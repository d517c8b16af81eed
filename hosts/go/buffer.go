// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Buffer is memory of the library that both sides use without copying. Its
// methods may be called from any goroutines at the same time. A Buffer keeps
// its Handle alive. One that is dropped without Free is freed some time after
// the garbage collector finds it: keep the Buffer, not only what Bytes
// returned, as long as the bytes are used.
type Buffer struct {
	handle  *Handle
	id      uint64
	ptr     unsafe.Pointer
	n       int
	small   []byte // the bytes of a result that has no memory of the library
	charge  int64  // what Free gives back to the budget
	freed   atomic.Bool
	cleanup runtime.Cleanup
}

// NewBuffer makes a buffer of n zero bytes, 64-byte aligned, 1 GiB at most.
func (h *Handle) NewBuffer(n int) (*Buffer, error) {
	c, err := h.inner()
	if err != nil {
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, fmt.Errorf("gusset: buffer length must be greater than zero, got %d", n)
	}
	if n > maxBufferBytes {
		return nil, fmt.Errorf("gusset: buffer length %d exceeds maximum %d", n, maxBufferBytes)
	}
	if !c.charge(int64(n)) {
		return nil, fmt.Errorf("%w: %d bytes over a budget of %d", ErrBufferBudget, n, c.cfg.budget)
	}
	id, ptr, err := c.allocate(n)
	if err != nil {
		c.refund(int64(n))
		return nil, err
	}
	b := &Buffer{handle: h, id: id, ptr: ptr, n: n, charge: int64(n)}
	b.guard()
	return b, nil
}

// resultBuffer makes a Buffer of a job's result.
func (h *Handle) resultBuffer(res *result) (*Buffer, error) {
	b := &Buffer{handle: h, id: res.id, ptr: res.ptr, n: res.n}
	if res.inline || res.id == 0 {
		b.small = append([]byte{}, res.data[:res.n]...)
		return b, nil
	}
	if h.core.gate.isShut() {
		return nil, errWaiterClosed
	}
	b.guard()
	return b, nil
}

// dropped is what a cleanup needs of a Buffer; it must not keep it alive.
type dropped struct {
	core   *core
	id     uint64
	charge int64
}

// guard frees a Buffer that its owner drops.
func (b *Buffer) guard() {
	d := dropped{b.handle.core, b.id, b.charge}
	b.cleanup = runtime.AddCleanup(b, func(d dropped) { d.free() }, d)
}

func (d dropped) free() error {
	d.core.refund(d.charge)
	if !d.core.gate.enter() {
		return nil
	}
	defer d.core.gate.exit()
	return d.core.free(d.id)
}

// Bytes is the buffer itself, valid until Free or Close, and nil after them.
func (b *Buffer) Bytes() []byte {
	if b == nil || b.freed.Load() || b.handle == nil {
		return nil
	}
	if b.small != nil {
		return b.small
	}
	if b.handle.core.gate.isShut() {
		return nil
	}
	return unsafe.Slice((*byte)(b.ptr), b.n)
}

// ID is the library's number for the buffer; 0 is a result of few bytes that
// needs no memory of the library.
func (b *Buffer) ID() uint64 {
	if b == nil {
		return 0
	}
	return b.id
}

// Free gives the memory back. A unit that still reads it goes on reading the
// right bytes. Free may be called again, and after Close: it then does nothing.
func (b *Buffer) Free() error {
	if b == nil || !b.freed.CompareAndSwap(false, true) || b.id == 0 {
		return nil
	}
	b.cleanup.Stop()
	err := dropped{b.handle.core, b.id, b.charge}.free()
	runtime.KeepAlive(b)
	return err
}

// setBuffer makes b the input of the request.
func (r *request) setBuffer(c *core, b *Buffer) error {
	switch {
	case b == nil || b.handle == nil:
		return errNilBuffer
	case c.gate.isShut():
		return ErrClosed
	case b.handle.core != c:
		return errOtherHandle
	case b.freed.Load():
		return errFreedBuffer
	case b.id == 0:
		r.input = b.small
	default:
		r.buffer = b.id
	}
	return nil
}

// allocate makes a buffer of the library.
func (c *core) allocate(n int) (uint64, unsafe.Pointer, error) {
	if !c.gate.enter() {
		return 0, nil, ErrClosed
	}
	defer c.gate.exit()
	var st status
	id, ptr, code := nativeBufAlloc(c.native, n, &st)
	if code != codeOK {
		c.note(code)
		return 0, nil, newError(&st)
	}
	return id, ptr, nil
}

// charge takes n bytes from the budget, or reports that they are not there.
func (c *core) charge(n int64) bool {
	if !c.cfg.budgeted {
		return true
	}
	for {
		used := c.budgetUsed.Load()
		if n > c.cfg.budget-used {
			return false
		}
		if c.budgetUsed.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (c *core) refund(n int64) {
	if c.cfg.budgeted {
		c.budgetUsed.Add(-n)
	}
}
