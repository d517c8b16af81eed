// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"gusset.dev/go"
	"gusset.dev/go/cases/conform"
)

// open opens a handle whose units are run by the diagnostic engine of section
// 2 of the contract.
func open(t *conform.T, pool int, more ...gusset.Option) *gusset.Handle {
	options := append([]gusset.Option{gusset.WithPoolSize(pool), gusset.WithDiagnosticEngine()}, more...)
	h, err := gusset.Open(options...)
	t.NoError(err, "open with a pool of %d", pool)
	return h
}
