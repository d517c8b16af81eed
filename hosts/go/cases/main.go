// SPDX-License-Identifier: MIT OR Apache-2.0

// Command cases is the case program in Go: what a Go service sees of package
// gusset over the library that is judged. gusset-conform builds it for each
// artifact, and asks it as it asks the case programs in C.
package main

import (
	"bytes"
	"context"
	"fmt"

	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
	"gusset.dev/go/cases/raw"
)

func main() {
	conform.Main(conform.Subject{
		Prove:     raw.Prove,
		WarmUp:    warmUp,
		LiveBytes: raw.LiveBytes,
	})
}

// warmUp lives one small life of a handle.
func warmUp() error {
	h, err := gusset.Open(gusset.WithPoolSize(1), gusset.WithDiagnosticEngine())
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	input := []byte{0, 'w', 'a', 'r', 'm'}
	result, err := h.Call(context.Background(), input)
	if err != nil {
		return fmt.Errorf("call: %w", err)
	}
	if !bytes.Equal(result, input) {
		return fmt.Errorf("call: echo of %v is %v", input, result)
	}
	if err := h.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
