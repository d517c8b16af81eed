// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"encoding/binary"
	"fmt"
)

// record is one completion: a bare ticket, whose result is then taken, or a
// ticket with its small result. Ticket 0 is a wake token.
type record struct {
	ticket uint64
	inline bool
	n      int
	data   [inlineResultMax]byte
}

const wordBytes = 8

// corruptRecordError is a length that no record can have. What follows it in
// the stream has no meaning any more.
type corruptRecordError struct{ ticket, length uint64 }

func (e *corruptRecordError) Error() string {
	return fmt.Sprintf("corrupt completion record: ticket %d, length %d exceeds %d",
		e.ticket, e.length, inlineResultMax)
}

// strayCompletionError is a completion while no job is in flight.
type strayCompletionError struct{ ticket uint64 }

func (e *strayCompletionError) Error() string {
	return fmt.Sprintf("completion of ticket %d with no job in flight", e.ticket)
}

// parseRecord reads one record from the front of b and returns its bytes; 0
// means that b ends before the record does.
func parseRecord(b []byte, rec *record) (int, error) {
	if len(b) < wordBytes {
		return 0, nil
	}
	word := binary.NativeEndian.Uint64(b)
	rec.ticket = word &^ inlineRecordFlag
	rec.inline = word&inlineRecordFlag != 0
	rec.n = 0
	if !rec.inline {
		return wordBytes, nil
	}
	if len(b) < 2*wordBytes {
		return 0, nil
	}
	n := binary.NativeEndian.Uint64(b[wordBytes:])
	if n > inlineResultMax {
		return 0, &corruptRecordError{rec.ticket, n}
	}
	size := 2*wordBytes + (int(n)+wordBytes-1)/wordBytes*wordBytes
	if len(b) < size {
		return 0, nil
	}
	rec.n = int(n)
	copy(rec.data[:], b[2*wordBytes:2*wordBytes+rec.n])
	return size, nil
}

// stream cuts what is read from the pipe into records. A record may arrive in
// two reads.
type stream struct {
	buf        [4096]byte
	start, end int
}

// room is where the next read goes; it is never empty.
func (s *stream) room() []byte {
	s.end = copy(s.buf[:], s.buf[s.start:s.end])
	s.start = 0
	return s.buf[s.end:]
}

// filled says that n bytes were read into room.
func (s *stream) filled(n int) { s.end += n }

// next reads one record; false means that the next one is not there yet.
func (s *stream) next(rec *record) (bool, error) {
	n, err := parseRecord(s.buf[s.start:s.end], rec)
	s.start += n
	return n > 0, err
}
