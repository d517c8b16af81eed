// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset_test

import (
	"context"
	"time"

	gusset "gusset.dev/go"
)

// What adopters compile against. Each line stops compiling when a name, a type
// or a direction changes.
var (
	_ [1024]struct{} = [gusset.MaxPoolSize]struct{}{}

	_ func(...gusset.Option) (*gusset.Handle, error)                                = gusset.Open
	_ func(*gusset.Handle) error                                                    = (*gusset.Handle).Close
	_ func(*gusset.Handle, context.Context, []byte) ([]byte, error)                 = (*gusset.Handle).Call
	_ func(*gusset.Handle, context.Context, *gusset.Buffer) (*gusset.Buffer, error) = (*gusset.Handle).CallBuffer
	_ func(*gusset.Handle, context.Context, any) (uint64, error)                    = (*gusset.Handle).Submit
	_ func(*gusset.Handle, context.Context, uint64) ([]byte, error)                 = (*gusset.Handle).Wait
	_ func(*gusset.Handle, context.Context, uint64) (*gusset.Buffer, error)         = (*gusset.Handle).WaitBuffer
	_ func(*gusset.Handle, uint64) error                                            = (*gusset.Handle).Discard
	_ func(*gusset.Handle, int) (*gusset.Buffer, error)                             = (*gusset.Handle).NewBuffer
	_ func(*gusset.Buffer) []byte                                                   = (*gusset.Buffer).Bytes
	_ func(*gusset.Buffer) uint64                                                   = (*gusset.Buffer).ID
	_ func(*gusset.Buffer) error                                                    = (*gusset.Buffer).Free
	_ func(time.Duration) error                                                     = gusset.Shutdown
	_ func() gusset.AllocStats                                                      = gusset.Stats
	_ func(int64) int64                                                             = gusset.AdviseMemoryLimit
	_ func() int64                                                                  = gusset.Threads
	_ func([]byte) int                                                              = gusset.DrainLogs

	_ func(int) gusset.Option   = gusset.WithPoolSize
	_ func() gusset.Option      = gusset.WithDiagnosticEngine
	_ func(int64) gusset.Option = gusset.WithBufferBudget

	_ func(int) gusset.Option     = gusset.WithOpcode[int]
	_ func(int8) gusset.Option    = gusset.WithOpcode[int8]
	_ func(uint64) gusset.Option  = gusset.WithOpcode[uint64]
	_ func(uintptr) gusset.Option = gusset.WithOpcode[uintptr]
	_ func(opcode) gusset.Option  = gusset.WithOpcode[opcode]

	_ func(context.Context, int64) context.Context  = gusset.ContextWithOpcode[int64]
	_ func(context.Context, opcode) context.Context = gusset.ContextWithOpcode[opcode]

	_ error = (*gusset.Error)(nil)
	_       = gusset.Error{Code: int32(0), Msg: "", File: "", Line: int(0)}
	_       = gusset.AllocStats{LiveBytes: uint64(0), PeakBytes: uint64(0), AllocCount: uint64(0)}
	_       = [...]error{
		gusset.ErrClosed, gusset.ErrPanic, gusset.ErrPoisoned, gusset.ErrUnknownTicket,
		gusset.ErrTicketBusy, gusset.ErrBufferBudget, gusset.ErrShutdown,
		gusset.ErrShutdownIncomplete,
	}
)

type opcode uint16
