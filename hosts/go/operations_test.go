// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

// FuzzOperations runs a program of operations on one handle and checks each
// result against a model: what is in flight, which tickets are spent, whether
// the handle is poisoned or closed. Two bytes are one operation.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 9, 1, 5, 2, 0, 3, 0, 1, 200, 4, 0, 5, 30, 6, 0, 7, 0}, false)
	f.Add([]byte{1, 1, 1, 2, 8, 0, 2, 0, 2, 1, 0, 0, 5, 1, 9, 0, 0, 0}, true)
	f.Add([]byte{5, 255, 5, 1, 10, 0, 6, 1, 6, 1, 1, 7, 3, 0, 3, 0}, false)
	f.Fuzz(func(t *testing.T, program []byte, pipeOnly bool) {
		before := Stats().LiveBytes
		m := newMachine(t, pipeOnly)
		for i := 0; i+1 < len(program) && i < 200; i += 2 {
			m.step(program[i], program[i+1])
		}
		m.finish()
		// Dropped handles of other inputs may be closed meanwhile, so the
		// bytes can only be compared with what they were.
		if live := Stats().LiveBytes; live > before {
			t.Errorf("%d live bytes, %d before", live, before)
		}
	})
}

// machine is a handle beside what it should be.
type machine struct {
	t        *testing.T
	ctx      context.Context
	h        *Handle
	pool     int
	open     []uint64          // tickets not spent
	want     map[uint64][]byte // their results; nil for a panic
	spent    []uint64
	buffers  []*Buffer
	poisoned bool
	closed   bool
}

func newMachine(t *testing.T, pipeOnly bool) *machine {
	h, err := Open(WithDiagnosticEngine(), WithPoolSize(4),
		func(cfg *config) error { cfg.pipeOnly = pipeOnly; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return &machine{t: t, ctx: bound(t), h: h, pool: 4, want: map[uint64][]byte{}}
}

func (m *machine) step(op, arg byte) {
	switch op % 11 {
	case 0:
		m.call(bytes.Repeat([]byte{0}, int(arg)))
	case 1:
		m.submit(append([]byte{0}, bytes.Repeat([]byte{arg}, int(arg))...))
	case 2:
		m.wait(arg, false)
	case 3:
		m.wait(arg, true)
	case 4:
		m.discard(arg)
	case 5:
		m.alloc(1 + int(arg)*97)
	case 6:
		m.callBuffer(arg)
	case 7:
		m.waitSpent(arg)
	case 8:
		m.panics()
	case 9:
		m.close()
	case 10:
		m.callAndLeave()
	}
}

// refused checks the error of an operation that needs an open, healthy handle,
// and reports whether there has to be one.
func (m *machine) refused(err error) bool {
	m.t.Helper()
	switch {
	case m.closed:
		if !errors.Is(err, ErrClosed) {
			m.t.Fatalf("closed: %v", err)
		}
	case m.poisoned:
		if !errors.Is(err, ErrPoisoned) {
			m.t.Fatalf("poisoned: %v", err)
		}
	default:
		if err != nil {
			m.t.Fatal(err)
		}
		return false
	}
	return true
}

func (m *machine) same(got, want []byte) {
	m.t.Helper()
	if !bytes.Equal(got, want) {
		m.t.Fatalf("got %d bytes, want %d", len(got), len(want))
	}
}

func (m *machine) call(input []byte) {
	out, err := m.h.Call(m.ctx, input)
	if !m.refused(err) {
		m.same(out, input)
	}
}

func (m *machine) submit(input []byte) {
	ticket, err := m.h.Submit(m.ctx, input)
	if !m.refused(err) {
		m.open = append(m.open, ticket)
		m.want[ticket] = input
	}
}

// pick takes one of the open tickets away.
func (m *machine) pick(arg byte) (uint64, bool) {
	if len(m.open) == 0 {
		return 0, false
	}
	i := int(arg) % len(m.open)
	ticket := m.open[i]
	m.open = append(m.open[:i], m.open[i+1:]...)
	m.spent = append(m.spent, ticket)
	return ticket, true
}

func (m *machine) wait(arg byte, buffer bool) {
	ticket, ok := m.pick(arg)
	if !ok {
		return
	}
	var got []byte
	var err error
	if buffer {
		var b *Buffer
		b, err = m.h.WaitBuffer(m.ctx, ticket)
		got = bytes.Clone(b.Bytes())
		if err == nil {
			must(m.t, b.Free())
		}
	} else {
		got, err = m.h.Wait(m.ctx, ticket)
	}
	if m.closed {
		m.refused(err)
		return
	}
	must(m.t, err)
	m.same(got, m.want[ticket])
}

func (m *machine) discard(arg byte) {
	ticket, ok := m.pick(arg)
	if !ok {
		return
	}
	if err := m.h.Discard(ticket); m.closed {
		m.refused(err)
	} else {
		must(m.t, err)
	}
}

func (m *machine) waitSpent(arg byte) {
	if len(m.spent) == 0 || m.closed {
		return
	}
	ticket := m.spent[int(arg)%len(m.spent)]
	if _, err := m.h.Wait(m.ctx, ticket); !errors.Is(err, ErrUnknownTicket) {
		m.t.Fatalf("a spent ticket: %v", err)
	}
}

func (m *machine) alloc(n int) {
	b, err := m.h.NewBuffer(n)
	if !m.refused(err) {
		m.same(b.Bytes(), make([]byte, n))
		m.buffers = append(m.buffers, b)
	}
}

func (m *machine) callBuffer(arg byte) {
	if len(m.buffers) == 0 {
		return
	}
	i := int(arg) % len(m.buffers)
	b := m.buffers[i]
	out, err := m.h.CallBuffer(m.ctx, b)
	if !m.refused(err) {
		m.same(out.Bytes(), b.Bytes())
		must(m.t, out.Free())
	}
	if arg%2 == 0 {
		m.buffers = append(m.buffers[:i], m.buffers[i+1:]...)
		must(m.t, b.Free())
	}
}

func (m *machine) panics() {
	_, err := m.h.Call(m.ctx, []byte{1})
	if m.closed || m.poisoned {
		m.refused(err)
		return
	}
	if !errors.Is(err, ErrPanic) {
		m.t.Fatalf("a panic: %v", err)
	}
	m.poisoned = true
}

func (m *machine) close() {
	must(m.t, m.h.Close())
	m.closed = true
	for _, b := range m.buffers {
		if b.Bytes() != nil {
			m.t.Fatal("a buffer outlives its handle")
		}
	}
}

func (m *machine) callAndLeave() {
	ctx, cancel := context.WithTimeout(m.ctx, time.Millisecond)
	defer cancel()
	_, err := m.h.Call(ctx, stubborn(1))
	if m.closed || m.poisoned {
		m.refused(err)
		return
	}
	// A machine that is slow enough may see the result.
	if err != nil && err != context.DeadlineExceeded {
		m.t.Fatal(err)
	}
}

func (m *machine) finish() {
	if !m.closed {
		for _, b := range m.buffers {
			must(m.t, b.Free())
		}
		if !eventually(func() bool { return m.h.Load() == (Load{Permits: m.pool}) }) {
			m.t.Fatalf("load at rest: %+v", m.h.Load())
		}
	}
	must(m.t, m.h.Close())
}
