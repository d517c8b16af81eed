// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Option sets one thing about the handle that Open makes.
type Option func(*config) error

type config struct {
	pool     int
	flags    uint32
	opcode   uint32
	budget   int64
	budgeted bool
	spans    SpanFunc
	hook     func(Sample)
	pipeOnly bool
}

func configure(opts []Option) (config, error) {
	cfg := config{pool: defaultPoolSize}
	for _, opt := range opts {
		if opt == nil {
			return cfg, errors.New("gusset: nil option")
		}
		if err := opt(&cfg); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// WithPoolSize sets the number of workers, and with it the most calls in
// flight: 1 to MaxPoolSize. Without it a handle has 4.
func WithPoolSize(n int) Option {
	return func(cfg *config) error {
		if n < 1 {
			return fmt.Errorf("gusset: pool_size must be at least 1, got %d", n)
		}
		if n > MaxPoolSize {
			return fmt.Errorf("gusset: pool_size %d exceeds maximum %d", n, MaxPoolSize)
		}
		cfg.pool = n
		return nil
	}
}

// WithDiagnosticEngine lets the library's built-in test engine run the units
// for which no engine is registered.
func WithDiagnosticEngine() Option {
	return func(cfg *config) error {
		cfg.flags |= flagDiagnostic
		return nil
	}
}

// WithOpcode names the engine that runs the handle's units; 0 is the global
// one. A value that does not fit 32 bits unsigned is an error. A call may
// choose another by ContextWithOpcode.
func WithOpcode[T Integer](opcode T) Option {
	return func(cfg *config) (err error) {
		cfg.opcode, err = checkOpcode(opcode)
		return err
	}
}

// WithBufferBudget caps the bytes of the handle's live NewBuffer buffers at n.
// What would exceed it is ErrBufferBudget; Free gives the bytes back. A
// negative n is an error.
func WithBufferBudget(n int64) Option {
	return func(cfg *config) error {
		if n < 0 {
			return fmt.Errorf("gusset: buffer budget must not be negative, got %d", n)
		}
		cfg.budget, cfg.budgeted = n, true
		return nil
	}
}

// SpanFunc finds the trace and span ids of a context; ok is false if it has
// none. It is called once for each submission, before that holds anything.
type SpanFunc func(ctx context.Context) (traceID [16]byte, spanID [8]byte, ok bool)

// WithSpanFunc lets f supply the ids of the calls whose context has none from
// ContextWithSpan. Package gussetotel has one for OpenTelemetry.
func WithSpanFunc(f SpanFunc) Option {
	return func(cfg *config) error {
		cfg.spans = f
		return nil
	}
}

// WithMetrics lets f see a Sample of every Call, CallBuffer, Wait and
// WaitBuffer that had been admitted, from the goroutine of the caller, when it
// ends. Handles without it take no time stamps for it.
func WithMetrics(f func(Sample)) Option {
	return func(cfg *config) error {
		cfg.hook = f
		return nil
	}
}

func checkOpcode[T Integer](v T) (uint32, error) {
	if v < 0 || uint64(v) > math.MaxUint32 {
		return 0, fmt.Errorf("gusset: opcode %d does not fit 32 bits unsigned", v)
	}
	return uint32(v), nil
}
