// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestPoolSizes(t *testing.T) {
	for _, n := range []int{1, 2, 64, MaxPoolSize} {
		h := open(t, WithPoolSize(n))
		if l := h.Load(); l.Permits != n {
			t.Errorf("pool of %d: %+v", n, l)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	for n, words := range map[int]string{
		0: "pool_size must be at least 1, got 0", -1: "at least 1, got -1",
		1025: "1025 exceeds maximum 1024", 1 << 40: "exceeds maximum",
		1<<32 + 4: "exceeds maximum", math.MinInt: "at least 1",
	} {
		h, err := Open(WithPoolSize(n))
		if err == nil || h != nil || !strings.Contains(err.Error(), words) {
			t.Errorf("pool of %d: %v", n, err)
		}
	}
	if h := open(t); h.Load().Permits != 4 {
		t.Errorf("default pool: %+v", h.Load())
	}
	if _, err := Open(nil); err == nil {
		t.Error("a nil option was taken")
	}
}

type kind8 int8

func TestOpcodes(t *testing.T) {
	good := func(name string, opt Option, want uint32) {
		t.Helper()
		if cfg, err := configure([]Option{opt}); err != nil || cfg.opcode != want {
			t.Errorf("%s: %d, %v", name, cfg.opcode, err)
		}
	}
	good("int", WithOpcode(7), 7)
	good("int8", WithOpcode(int8(127)), 127)
	good("kind8", WithOpcode(kind8(5)), 5)
	good("uint8", WithOpcode(uint8(255)), 255)
	good("int16", WithOpcode(int16(300)), 300)
	good("uint16", WithOpcode(uint16(65535)), 65535)
	good("int32", WithOpcode(int32(math.MaxInt32)), math.MaxInt32)
	good("uint32", WithOpcode(uint32(math.MaxUint32)), math.MaxUint32)
	good("int64", WithOpcode(int64(math.MaxUint32)), math.MaxUint32)
	good("uint64", WithOpcode(uint64(math.MaxUint32)), math.MaxUint32)
	good("uintptr", WithOpcode(uintptr(9)), 9)
	for name, opt := range map[string]Option{
		"int -1":       WithOpcode(-1),
		"int8 -1":      WithOpcode(int8(-1)),
		"kind8 min":    WithOpcode(kind8(-128)),
		"int32 min":    WithOpcode(int32(math.MinInt32)),
		"int64 2^32":   WithOpcode(int64(1) << 32),
		"int64 2^32+1": WithOpcode(int64(1)<<32 + 1),
		"uint64 max":   WithOpcode(uint64(math.MaxUint64)),
		"uintptr 2^32": WithOpcode(uintptr(1) << 32),
	} {
		if _, err := Open(opt); err == nil || !strings.Contains(err.Error(), "32 bits") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An opcode of a context that does not fit never reaches the library: cut to
// 32 bits it would be 0, the diagnostic engine, and the input a panic.
func TestOpcodeOfContextIsNotCut(t *testing.T) {
	h := open(t)
	for _, ctx := range []context.Context{
		ContextWithOpcode(bound(t), int64(1)<<32),
		ContextWithOpcode(bound(t), -1),
		ContextWithOpcode(ContextWithSpan(bound(t), [16]byte{1}, [8]byte{}), uint64(1)<<63),
	} {
		_, call := h.Call(ctx, []byte{1})
		_, sub := h.Submit(ctx, []byte{1})
		for _, err := range []error{call, sub} {
			if err == nil || !strings.Contains(err.Error(), "32 bits") {
				t.Errorf("got %v", err)
			}
		}
	}
	if _, err := h.Call(ContextWithOpcode(ContextWithOpcode(bound(t), -1), 0), []byte{0}); err != nil {
		t.Errorf("a later opcode: %v", err)
	}
}

func TestOpcodeOfHandleAndContext(t *testing.T) {
	h := open(t, WithOpcode(41))
	for ctx, want := range map[context.Context]uint32{
		bound(t):                              41,
		ContextWithOpcode(bound(t), uint8(7)): 7,
	} {
		_, err := h.Call(ctx, nil)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("opcode %d", want)) {
			t.Errorf("opcode %d: %v", want, err)
		}
	}
}
