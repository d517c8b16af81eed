// SPDX-License-Identifier: MIT OR Apache-2.0

// Package gussetotel gives the units of work of package gusset the trace and
// span ids of OpenTelemetry.
package gussetotel

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	gusset "gusset.dev/go"
)

// WithSpans lets the calls on a handle carry the ids of their context's current
// span. A context without a valid span carries none; gusset.ContextWithSpan
// comes first.
func WithSpans() gusset.Option { return gusset.WithSpanFunc(span) }

// Context returns ctx for gusset calls with the ids of its current span, for
// handles without WithSpans; ctx itself if it has no valid span.
func Context(ctx context.Context) context.Context {
	traceID, spanID, ok := span(ctx)
	if !ok {
		return ctx
	}
	return gusset.ContextWithSpan(ctx, traceID, spanID)
}

func span(ctx context.Context) (traceID [16]byte, spanID [8]byte, ok bool) {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return traceID, spanID, false
	}
	return sc.TraceID(), sc.SpanID(), true
}
