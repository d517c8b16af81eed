// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

func words(w ...uint64) (b []byte) {
	for _, v := range w {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// inlineRecord is a record as the library writes it.
func inlineRecord(ticket uint64, data []byte) []byte {
	b := append(words(ticket|inlineRecordFlag, uint64(len(data))), data...)
	return append(b, make([]byte, -len(b)&7)...)
}

func TestParseRecord(t *testing.T) {
	for n := range inlineResultMax + 1 {
		data := bytes.Repeat([]byte{0x5A}, n)
		whole := inlineRecord(77, data)
		var rec record
		size, err := parseRecord(whole, &rec)
		if err != nil || size != len(whole) || rec.ticket != 77 || !rec.inline || !bytes.Equal(rec.data[:rec.n], data) {
			t.Errorf("%d bytes: size %d, %+v, %v", n, size, rec, err)
		}
		for cut := range whole {
			if size, err := parseRecord(whole[:cut], &rec); size != 0 || err != nil {
				t.Errorf("%d of %d bytes: size %d, %v", cut, len(whole), size, err)
			}
		}
	}
	var rec record
	if size, err := parseRecord(words(5, 6), &rec); size != 8 || err != nil || rec.ticket != 5 || rec.inline {
		t.Errorf("bare: size %d, %+v, %v", size, rec, err)
	}
	for _, n := range []uint64{49, 64, 1 << 40, math.MaxUint64} {
		var corrupt *corruptRecordError
		if size, err := parseRecord(words(3|inlineRecordFlag, n), &rec); size != 0 || !errors.As(err, &corrupt) || corrupt.length != n {
			t.Errorf("length %d: size %d, %v", n, size, err)
		}
	}
}

// Records that arrive in pieces of any size come out whole and in order.
func TestStreamInPieces(t *testing.T) {
	var all []byte
	for i := range 500 {
		switch i % 3 {
		case 0:
			all = append(all, words(0)...)
		case 1:
			all = append(all, words(uint64(i))...)
		default:
			all = append(all, inlineRecord(uint64(i), bytes.Repeat([]byte{byte(i)}, i%49))...)
		}
	}
	for _, piece := range []int{1, 7, 8, 63, 64, 4096} {
		var s stream
		next := 0
		for rest := all; len(rest) > 0; {
			n := copy(s.room(), rest[:min(piece, len(rest))])
			s.filled(n)
			rest = rest[n:]
			var rec record
			for {
				ok, err := s.next(&rec)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				want := uint64(next)
				if next%3 == 0 {
					want = 0
				}
				if rec.ticket != want || rec.inline && rec.n != next%49 {
					t.Fatalf("pieces of %d: record %d is %+v", piece, next, rec)
				}
				next++
			}
		}
		if next != 500 {
			t.Errorf("pieces of %d: %d records", piece, next)
		}
	}
}

// What is parsed, written again, is what was read.
func FuzzParseRecord(f *testing.F) {
	f.Add(words(1))
	f.Add(inlineRecord(2, []byte("result")))
	f.Add(words(inlineRecordFlag|3, 49))
	f.Fuzz(func(t *testing.T, b []byte) {
		var rec record
		size, err := parseRecord(b, &rec)
		switch {
		case err != nil:
			if size != 0 {
				t.Errorf("%d bytes of a corrupt record", size)
			}
		case size == 0:
			if len(b) >= inlineRecordMax {
				t.Errorf("nothing in %d bytes", len(b))
			}
		case !rec.inline:
			if size != 8 || !bytes.Equal(words(rec.ticket), b[:8]) {
				t.Errorf("bare: %d bytes, %+v", size, rec)
			}
		default:
			again := inlineRecord(rec.ticket, rec.data[:rec.n])
			if size != len(again) || size > inlineRecordMax || !bytes.Equal(again[:16+rec.n], b[:16+rec.n]) {
				t.Errorf("inline: %d bytes, %+v", size, rec)
			}
		}
	})
}

// A stream gives the same records however it is cut.
func FuzzStream(f *testing.F) {
	f.Add(append(inlineRecord(9, []byte{1, 2, 3}), words(0, 4)...), uint8(5))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		read := func(piece int) (recs []record, failed bool) {
			var s stream
			for rest := b; len(rest) > 0; {
				n := copy(s.room(), rest[:min(piece, len(rest))])
				s.filled(n)
				rest = rest[n:]
				for {
					var rec record
					ok, err := s.next(&rec)
					if err != nil {
						return recs, true
					}
					if !ok {
						break
					}
					recs = append(recs, rec)
				}
			}
			return recs, false
		}
		whole, failed := read(4096)
		cut, cutFailed := read(int(piece) + 1)
		if failed != cutFailed || len(whole) != len(cut) {
			t.Fatalf("%d records (%v) whole, %d (%v) in pieces", len(whole), failed, len(cut), cutFailed)
		}
		for i := range whole {
			if whole[i] != cut[i] {
				t.Errorf("record %d: %+v and %+v", i, whole[i], cut[i])
			}
		}
	})
}
