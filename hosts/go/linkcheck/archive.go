// SPDX-License-Identifier: MIT OR Apache-2.0

package linkcheck

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// checkArchive looks for the code of every function of the archive in the
// program. go test strips the symbols, so the code itself is what there is to
// find; the bytes that the linker fills in are left out of the comparison.
func checkArchive(data []byte) error {
	members, err := readArchive(data)
	if err != nil {
		return err
	}
	members = linked(members)
	text, err := programText()
	if err != nil {
		return err
	}
	compared := 0
	var missing []string
	for _, m := range members {
		functions, err := m.functions()
		if err != nil {
			return err
		}
		for _, f := range functions {
			if f.anchorLen() < shortestAnchor {
				continue
			}
			compared++
			if !f.in(text) {
				missing = append(missing, fmt.Sprintf("%s (%s)", f.name, m.name))
			}
		}
	}
	if compared == 0 {
		return errors.New("the archive has no function of the library to compare")
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d functions are not in the program as they are in the archive, the first is %s; rebuild with go build -a",
			len(missing), compared, missing[0])
	}
	return nil
}

const (
	archiveMagic  = "!<arch>\n"
	archiveHeader = 60
	// shortestAnchor is the least run of bytes without a relocation by which a
	// function is recognised.
	shortestAnchor = 8
)

type member struct {
	name string
	file *elf.File
}

// readArchive returns the objects of an archive in the common format.
func readArchive(data []byte) ([]member, error) {
	var members []member
	for rest := data[len(archiveMagic):]; len(rest) >= archiveHeader; {
		name := strings.TrimRight(string(rest[:16]), " ")
		size, err := strconv.Atoi(strings.TrimRight(string(rest[48:58]), " "))
		if err != nil || size < 0 || size > len(rest)-archiveHeader {
			return nil, fmt.Errorf("broken archive member %q", name)
		}
		body := rest[archiveHeader : archiveHeader+size]
		rest = rest[min(archiveHeader+size+size&1, len(rest)):]
		if !bytes.HasPrefix(body, []byte(elf.ELFMAG)) {
			continue
		}
		file, err := elf.NewFile(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("archive member %q: %w", name, err)
		}
		members = append(members, member{strings.TrimSuffix(name, "/"), file})
	}
	return members, nil
}

// linked keeps the members that the 17 exports need: a linker takes no others.
func linked(members []member) []member {
	defines := map[string]int{}
	needs := make([][]string, len(members))
	var queue []int
	for i, m := range members {
		symbols, _ := m.file.Symbols()
		for _, s := range symbols {
			if elf.ST_BIND(s.Info) == elf.STB_LOCAL || s.Name == "" {
				continue
			}
			if s.Section == elf.SHN_UNDEF {
				needs[i] = append(needs[i], s.Name)
				continue
			}
			if _, there := defines[s.Name]; !there {
				defines[s.Name] = i
			}
			if strings.HasPrefix(s.Name, "gusset_") {
				queue = append(queue, i)
			}
		}
	}
	taken := map[int]bool{}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		if taken[i] {
			continue
		}
		taken[i] = true
		for _, name := range needs[i] {
			if j, there := defines[name]; there {
				queue = append(queue, j)
			}
		}
	}
	var kept []member
	for i, m := range members {
		if taken[i] {
			kept = append(kept, m)
		}
	}
	return kept
}

// programText is the executable code of the program.
func programText() ([]byte, error) {
	data, err := os.ReadFile(image)
	if err != nil {
		return nil, err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Off+p.Filesz <= uint64(len(data)) {
			text = append(text, data[p.Off:p.Off+p.Filesz]...)
		}
	}
	return text, nil
}

// function is machine code of which some bytes are the linker's.
type function struct {
	name string
	code []byte
	free []bool // true: any byte will do
}

// functions are those of a member.
func (m member) functions() ([]function, error) {
	symbols, err := m.file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("archive member %q: %w", m.name, err)
	}
	var all []function
	for index, section := range m.file.Sections {
		if section.Flags&elf.SHF_EXECINSTR == 0 || section.Type != elf.SHT_PROGBITS {
			continue
		}
		code, err := section.Data()
		if err != nil {
			return nil, fmt.Errorf("archive member %q: %w", m.name, err)
		}
		free, err := m.relocated(index, len(code))
		if err != nil {
			return nil, err
		}
		for _, s := range symbols {
			end := s.Value + s.Size
			if elf.ST_TYPE(s.Info) != elf.STT_FUNC || int(s.Section) != index || end > uint64(len(code)) {
				continue
			}
			all = append(all, function{s.Name, code[s.Value:end], free[s.Value:end]})
		}
	}
	return all, nil
}

// relocated marks the bytes of a section that the linker may change: where a
// relocation points, and a little around it, because linkers also replace the
// instruction that holds it.
func (m member) relocated(section, size int) ([]bool, error) {
	const before, after = 4, 8
	free := make([]bool, size)
	for _, s := range m.file.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) != section {
			continue
		}
		entries, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("archive member %q: %w", m.name, err)
		}
		const entry = 24 // Elf64_Rela
		for ; len(entries) >= entry; entries = entries[entry:] {
			offset := m.file.ByteOrder.Uint64(entries)
			if offset > uint64(size) {
				continue
			}
			for i := max(int(offset)-before, 0); i < min(int(offset)+after, size); i++ {
				free[i] = true
			}
		}
	}
	return free, nil
}

// anchor is the longest run of fixed bytes.
func (f function) anchor() (start, end int) {
	from := 0
	for i := range len(f.code) + 1 {
		if i < len(f.code) && !f.free[i] {
			continue
		}
		if i-from > end-start {
			start, end = from, i
		}
		from = i + 1
	}
	return start, end
}

func (f function) anchorLen() int {
	start, end := f.anchor()
	return end - start
}

// in reports whether text holds the function.
func (f function) in(text []byte) bool {
	start, end := f.anchor()
	for from := 0; ; {
		i := bytes.Index(text[from:], f.code[start:end])
		if i < 0 {
			return false
		}
		at := from + i - start
		if at >= 0 && at+len(f.code) <= len(text) && f.matches(text[at:at+len(f.code)]) {
			return true
		}
		from += i + 1
	}
}

func (f function) matches(text []byte) bool {
	for i, b := range f.code {
		if !f.free[i] && b != text[i] {
			return false
		}
	}
	return true
}
