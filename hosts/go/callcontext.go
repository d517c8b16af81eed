// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import "context"

// callValues is what a context says about the calls made with it. One value
// holds all of it, so that a submission looks it up once.
type callValues struct {
	opcode    uint32
	opcodeErr error
	hasOpcode bool

	traceID [16]byte
	spanID  [8]byte
	hasSpan bool
}

type callKey struct{}

func valuesOf(ctx context.Context) *callValues {
	v, _ := ctx.Value(callKey{}).(*callValues)
	return v
}

// withValues returns ctx with a changed copy of its values.
func withValues(ctx context.Context, change func(*callValues)) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	var v callValues
	if old := valuesOf(ctx); old != nil {
		v = *old
	}
	change(&v)
	return context.WithValue(ctx, callKey{}, &v)
}

// ContextWithOpcode names the engine that runs the units submitted with ctx,
// in place of the handle's. If opcode does not fit 32 bits unsigned, each such
// submission is refused with an error that says so.
func ContextWithOpcode[T Integer](ctx context.Context, opcode T) context.Context {
	op, err := checkOpcode(opcode)
	return withValues(ctx, func(v *callValues) {
		v.opcode, v.opcodeErr, v.hasOpcode = op, err, true
	})
}

// ContextWithSpan gives the units submitted with ctx these ids, which the
// engine finds in its header: W3C trace and span ids, or any others. All-zero
// ids mean absent.
func ContextWithSpan(ctx context.Context, traceID [16]byte, spanID [8]byte) context.Context {
	return withValues(ctx, func(v *callValues) {
		v.traceID, v.spanID, v.hasSpan = traceID, spanID, true
	})
}
