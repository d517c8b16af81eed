// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	gusset "gusset.dev/go"
)

func Example() {
	h, err := gusset.Open(gusset.WithPoolSize(2), gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// The diagnostic engine sums the squares of 3 and 4.
	out, err := h.Call(ctx, []byte{10, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(binary.LittleEndian.Uint64(out))
	// Output: 25
}

func ExampleHandle_Call_panic() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	_, err = h.Call(ctx, []byte{1})
	var e *gusset.Error
	if errors.Is(err, gusset.ErrPanic) && errors.As(err, &e) {
		fmt.Println(e.Msg, e.Line > 0)
	}
	_, err = h.Call(ctx, []byte{0})
	fmt.Println(err)

	// A poisoned handle is closed and another one opened.
	h.Close()
	h, err = gusset.Open(gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	out, err := h.Call(ctx, []byte("\x00well"))
	fmt.Printf("%q %v\n", out, err)
	// Output:
	// PANIC: plain panic true
	// gusset: handle is poisoned
	// "\x00well" <nil>
}

func ExampleHandle_Call_deadline() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	// This engine sleeps 300 ms and never looks whether it should stop.
	_, err = h.Call(ctx, []byte{9, 30})
	fmt.Println(err)
	// Output: context deadline exceeded
}

func ExampleHandle_Submit() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	ctx := context.Background()
	var tickets []uint64
	for i := range 3 {
		ticket, err := h.Submit(ctx, []byte{10, byte(i + 1)})
		if err != nil {
			log.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	for _, ticket := range tickets {
		out, err := h.Wait(ctx, ticket)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(binary.LittleEndian.Uint64(out))
	}
	_, err = h.Wait(ctx, tickets[0])
	fmt.Println(errors.Is(err, gusset.ErrUnknownTicket))
	// Output:
	// 1
	// 4
	// 9
	// true
}

func ExampleHandle_CallBuffer() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine(), gusset.WithBufferBudget(1<<20))
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	in, err := h.NewBuffer(64 << 10)
	if err != nil {
		log.Fatal(err)
	}
	defer in.Free()
	copy(in.Bytes(), "\x00a large input")

	out, err := h.CallBuffer(context.Background(), in)
	if err != nil {
		log.Fatal(err)
	}
	defer out.Free()
	fmt.Printf("%d %q\n", len(out.Bytes()), out.Bytes()[1:14])

	_, err = h.NewBuffer(1 << 20)
	fmt.Println(errors.Is(err, gusset.ErrBufferBudget))
	// Output:
	// 65536 "a large input"
	// true
}

func ExampleContextWithSpan() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	ctx := gusset.ContextWithSpan(context.Background(), [16]byte{0x4b, 0xf9}, [8]byte{0x00, 0xf0})
	// Mode 7 returns the ids that the engine finds in its header.
	out, err := h.Call(ctx, []byte{7})
	fmt.Printf("%x %v\n", out, err)
	// Output: 4bf9000000000000000000000000000000f0000000000000 <nil>
}

func ExampleWithMetrics() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine(),
		gusset.WithMetrics(func(s gusset.Sample) {
			fmt.Println(s.Err, s.Took > 0, s.Load.Permits)
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Call(context.Background(), []byte{0}); err != nil {
		log.Fatal(err)
	}
	// Output: <nil> true 4
}

func ExampleLogTo() {
	h, err := gusset.Open(gusset.WithDiagnosticEngine())
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	ctx := context.Background()
	// Mode 14 writes lines to the library's log.
	if _, err := h.Call(ctx, []byte{14, 2}); err != nil {
		log.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	gusset.LogTo(ctx, logger, slog.LevelInfo)
	// Output:
	// level=INFO msg="worker log event 0" source=gusset
	// level=INFO msg="worker log event 1" source=gusset
}
