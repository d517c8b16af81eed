// SPDX-License-Identifier: MIT OR Apache-2.0

// Package hostuser uses the Go package only, without cgo of its own.
package hostuser

import (
	"context"
	"encoding/binary"
	"runtime"
	"runtime/cgo"
	"unsafe"

	gusset "gusset.dev/go"
)

type message struct {
	text string
	n    int
}

type plain struct{ a, b uint32 }

func good(ctx context.Context, h *gusset.Handle, p *plain, b *gusset.Buffer) {
	h.Call(ctx, []byte("text"))
	h.Call(ctx, unsafe.Slice((*byte)(unsafe.Pointer(p)), 8))
	h.Submit(ctx, b)
	*(*plain)(unsafe.Pointer(&b.Bytes()[0])) = plain{1, 2}
}

func bad(ctx context.Context, h *gusset.Handle, m *message, b *gusset.Buffer) {
	h.Call(ctx, unsafe.Slice((*byte)(unsafe.Pointer(m)), 24)) // want `Call copies memory that holds Go pointers or handles`
	bytes := (*[24]byte)(unsafe.Pointer(m))[:]
	h.Submit(ctx, bytes)                          // want `Submit copies memory that holds Go pointers or handles`
	_ = (*message)(unsafe.Pointer(&b.Bytes()[0])) // want `memory of the library is used as message`
	in := make([]byte, 8)
	binary.LittleEndian.PutUint64(in, uint64(cgo.NewHandle(m))) // want `a Go address or a callback handle is written into bytes`
	h.Call(ctx, in)
}

func pinned(ctx context.Context, h *gusset.Handle, in []byte) {
	var p runtime.Pinner
	defer p.Unpin()
	p.Pin(&in[0]) // want `a pin does not last as long as the job that this function submits.*\[i1.input-copied\] \(pinner\)`
	h.Submit(ctx, in)
}
