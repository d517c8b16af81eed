// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"math"
	"testing"
	"time"
)

func TestTimeoutOfDeadline(t *testing.T) {
	for _, tt := range []struct {
		left     time.Duration
		from, to uint64
		ok       bool
	}{
		{-time.Hour, 0, 0, false},
		{time.Hour, uint64(time.Hour - time.Minute), uint64(time.Hour), true},
		{math.MaxInt64, math.MaxInt64 - uint64(time.Minute), math.MaxInt64, true},
	} {
		r := request{timed: true, deadline: time.Now().Add(tt.left)}
		ok := r.setTimeout()
		if ns := r.header.timeoutNS; ok != tt.ok || ns < tt.from || ns > tt.to {
			t.Errorf("%v left: %v, %d ns", tt.left, ok, ns)
		}
	}
	var none request
	if !none.setTimeout() || none.header.timeoutNS != 0 {
		t.Errorf("no deadline: %+v", none.header)
	}
}

// A header carries exactly what the context says, or the submission is refused.
func FuzzHeader(f *testing.F) {
	f.Add(int64(0), int64(1000), []byte("0123456789abcdef01234567"), true)
	f.Add(int64(1)<<32, int64(-1), []byte{}, false)
	f.Fuzz(func(t *testing.T, opcode, left int64, ids []byte, spanFirst bool) {
		var trace [16]byte
		var span [8]byte
		copy(trace[:], ids)
		copy(span[:], ids[min(16, len(ids)):])
		ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(time.Duration(left)))
		defer cancel()
		if spanFirst {
			ctx = ContextWithOpcode(ContextWithSpan(ctx, trace, span), opcode)
		} else {
			ctx = ContextWithSpan(ContextWithOpcode(ctx, opcode), trace, span)
		}
		var r request
		r.setBytes(nil)
		err := r.fromContext(ctx, &config{opcode: 99, flags: flagDiagnostic})
		if fits := opcode >= 0 && opcode <= math.MaxUint32; fits != (err == nil) {
			t.Fatalf("opcode %d: %v", opcode, err)
		}
		if err != nil {
			return
		}
		if r.header.opcode != uint32(opcode) || r.header.traceID != trace || r.header.spanID != span ||
			r.header.flags != flagDiagnostic|flagInline {
			t.Errorf("%+v", r.header)
		}
		if r.setTimeout() != (r.header.timeoutNS != 0) {
			t.Errorf("%d left: %d ns", left, r.header.timeoutNS)
		}
		if r.header.timeoutNS > math.MaxInt64 || left > 0 && r.header.timeoutNS > uint64(left) {
			t.Errorf("%d left: %d ns", left, r.header.timeoutNS)
		}
	})
}
