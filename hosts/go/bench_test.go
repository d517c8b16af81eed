// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"testing"
)

func benchHandle(b *testing.B, opts ...Option) *Handle {
	h, err := Open(append(opts, WithDiagnosticEngine())...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := h.Close(); err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	return h
}

func BenchmarkCallNoop(b *testing.B) {
	h := benchHandle(b)
	ctx, input := context.Background(), []byte{0}
	for b.Loop() {
		if _, err := h.Call(ctx, input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallNoopParallel(b *testing.B) {
	h := benchHandle(b)
	ctx := context.Background()
	b.RunParallel(func(pb *testing.PB) {
		input := []byte{0}
		for pb.Next() {
			if _, err := h.Call(ctx, input); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkSubmitWait(b *testing.B) {
	h := benchHandle(b)
	ctx, input := context.Background(), []byte{0}
	for b.Loop() {
		ticket, err := h.Submit(ctx, input)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := h.Wait(ctx, ticket); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallBuffer64KiB(b *testing.B) {
	h := benchHandle(b)
	ctx := context.Background()
	in, err := h.NewBuffer(64 << 10)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		out, err := h.CallBuffer(ctx, in)
		if err != nil {
			b.Fatal(err)
		}
		out.Free()
	}
}

func BenchmarkChannelPingPong(b *testing.B) {
	there, back := make(chan struct{}), make(chan struct{})
	go func() {
		for range there {
			back <- struct{}{}
		}
	}()
	for b.Loop() {
		there <- struct{}{}
		<-back
	}
	close(there)
}
