// SPDX-License-Identifier: MIT OR Apache-2.0

// Package gusset has the names of the real one that the analyzer looks for.
package gusset

import "context"

type Handle struct{}

type Buffer struct{ bytes []byte }

func (b *Buffer) Bytes() []byte { return b.bytes }

func (b *Buffer) Free() error { return nil }

func (h *Handle) Call(ctx context.Context, input []byte) ([]byte, error) { return input, nil }

func (h *Handle) Submit(ctx context.Context, input any) (uint64, error) { return 0, nil }
