// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"encoding/binary"
	"slices"
)

// Inputs of the diagnostic engine, section 2 of the contract.

// echo comes back as it is.
func echo(text string) []byte { return append([]byte{0}, text...) }

// panicking panics with the text `plain panic`.
func panicking() []byte { return []byte{1} }

// cooperative sleeps that many steps of 10 ms, 255 at most, and looks before
// each whether it is to stop. Its result is the bytes 5, 0.
func cooperative(steps byte) []byte { return []byte{5, steps} }

// deaf sleeps that many steps of 10 ms, 255 at most, and never looks; then it
// does what the rest of the input asks for.
func deaf(steps byte, rest ...byte) []byte {
	return slices.Concat([]byte{9, steps}, rest)
}

// long is the longest there is, 5.1 s; after the first half it can be stopped.
func long() []byte { return deaf(255, cooperative(255)...) }

// ids asks for the trace and span ids of the unit, 24 bytes.
func ids() []byte { return []byte{7} }

// generated asks for n bytes, byte i being i xor seed.
func generated(n uint32, seed byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{16}, n), seed)
}

// refused is a generation of no length, which is an error of the unit.
func refused() []byte { return []byte{16} }
