// SPDX-License-Identifier: MIT OR Apache-2.0

package linkcheck

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// checkShared compares build ids: of the file, and of the images of its name
// as they are mapped, which a file that was replaced since does not change.
func checkShared(data []byte) error {
	want, err := buildID(bytes.NewReader(data))
	if err != nil {
		return err
	}
	mapped, err := mappedImages()
	if err != nil {
		return err
	}
	var others []string
	for _, m := range mapped {
		got, err := m.buildID()
		if err == nil && bytes.Equal(got, want) {
			return nil
		}
		if strings.Contains(m.path, "libgusset") {
			others = append(others, fmt.Sprintf("%s with build id %s", m.path, hex.EncodeToString(got)))
		}
	}
	if len(others) == 0 {
		return errors.New("the program has no shared library of this name mapped")
	}
	return fmt.Errorf("the file has build id %s, the program runs %s",
		hex.EncodeToString(want), strings.Join(others, ", "))
}

const noteGNUBuildID = 3

// buildID finds the GNU build id of an ELF file, or of what is mapped of it:
// it reads the program headers and the notes only, since sections are not
// mapped.
func buildID(r io.ReaderAt) ([]byte, error) {
	var ident [elf.EI_NIDENT]byte
	if _, err := r.ReadAt(ident[:], 0); err != nil {
		return nil, err
	}
	if elf.Class(ident[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return nil, errors.New("not a 64-bit ELF file")
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(ident[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	var head elf.Header64
	if err := readAt(r, 0, order, &head); err != nil {
		return nil, err
	}
	for i := range int64(head.Phnum) {
		var p elf.Prog64
		if err := readAt(r, int64(head.Phoff)+i*int64(head.Phentsize), order, &p); err != nil {
			return nil, err
		}
		if elf.ProgType(p.Type) != elf.PT_NOTE || p.Filesz > maxNotes {
			continue
		}
		notes := make([]byte, p.Filesz)
		if _, err := r.ReadAt(notes, int64(p.Off)); err != nil {
			return nil, err
		}
		if id := findBuildID(notes, order.Uint32); id != nil {
			return id, nil
		}
	}
	return nil, errors.New("no build id")
}

// maxNotes is far beyond any real segment of notes.
const maxNotes = 1 << 20

func readAt(r io.ReaderAt, at int64, order binary.ByteOrder, to any) error {
	return binary.Read(io.NewSectionReader(r, at, int64(binary.Size(to))), order, to)
}

// findBuildID walks the notes of a segment.
func findBuildID(notes []byte, word func([]byte) uint32) []byte {
	const header = 12
	align := func(n uint32) int { return (int(n) + 3) &^ 3 }
	for len(notes) >= header {
		nameLen, descLen, kind := word(notes), word(notes[4:]), word(notes[8:])
		notes = notes[header:]
		if uint64(nameLen) > uint64(len(notes)) {
			return nil
		}
		name := notes[:nameLen]
		rest := notes[min(align(nameLen), len(notes)):]
		if uint64(descLen) > uint64(len(rest)) {
			return nil
		}
		if kind == noteGNUBuildID && string(name) == "GNU\x00" {
			return bytes.Clone(rest[:descLen])
		}
		notes = rest[min(align(descLen), len(rest)):]
	}
	return nil
}

// mappedImage is a file of which the process has the beginning mapped.
type mappedImage struct {
	path  string
	start int64
}

func mappedImages() ([]mappedImage, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []mappedImage
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[2] != "00000000" || fields[5][0] != '/' {
			continue
		}
		low, _, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseInt(low, 16, 64)
		if err == nil {
			all = append(all, mappedImage{strings.Join(fields[5:], " "), start})
		}
	}
	return all, nil
}

// buildID reads the id from memory. The note is in the first segment, whose
// file offsets are offsets from the start of the mapping.
func (m mappedImage) buildID() ([]byte, error) {
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	return buildID(io.NewSectionReader(mem, m.start, 1<<40))
}
