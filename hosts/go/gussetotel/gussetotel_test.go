// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetotel

import (
	"bytes"
	"context"
	"testing"

	"go.opentelemetry.io/otel/trace"
	gusset "gusset.dev/go"
)

// ids runs a unit that returns the ids it finds in its header.
func ids(t *testing.T, ctx context.Context, opts ...gusset.Option) []byte {
	t.Helper()
	h, err := gusset.Open(append(opts, gusset.WithDiagnosticEngine())...)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	out, err := h.Call(ctx, []byte{7})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSpansReachTheEngine(t *testing.T) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3, 15: 16},
		SpanID:  trace.SpanID{4, 7: 5},
	})
	traceID, spanID := sc.TraceID(), sc.SpanID()
	want := append(traceID[:], spanID[:]...)
	none := make([]byte, 24)
	plain := context.Background()
	traced := trace.ContextWithSpanContext(plain, sc)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		opts []gusset.Option
		want []byte
	}{
		{"option", traced, []gusset.Option{WithSpans()}, want},
		{"option without a span", plain, []gusset.Option{WithSpans()}, none},
		{"context", Context(traced), nil, want},
		{"context without a span", Context(plain), nil, none},
		{"neither", traced, nil, none},
	} {
		if got := ids(t, tt.ctx, tt.opts...); !bytes.Equal(got, tt.want) {
			t.Errorf("%s: % x, want % x", tt.name, got, tt.want)
		}
	}
}
