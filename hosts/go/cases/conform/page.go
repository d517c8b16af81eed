// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// The result page is struct conform_page of harness/include/page.h. The
// supervisor says how large it is, so a page that was changed there and not
// here is refused.

const (
	pageMagic   = 0x3145474150465343
	pageVersion = 1

	censusBytes   = 131072
	evidenceBytes = 32768
)

// How far the program came; only ever rises.
const (
	phaseMapped   = 1
	phaseBody     = 2
	phaseReturned = 3
	phaseEnded    = 4
)

// What a case says of itself.
const (
	outcomeNone = iota
	outcomePassed
	outcomeFailed
	outcomeSkipped
	outcomeOutOfReach
	outcomeBroken
)

var outcomeWords = [...]string{
	"NONE", "PASSED", "FAILED", "SKIPPED", "OUT-OF-REACH", "BROKEN",
}

type pageLayout struct {
	magic             uint64
	version           uint32
	bytes             uint32
	phase             uint32
	outcome           uint32
	checks            uint64
	seed              uint64
	line              uint32
	failing           uint32
	file              [256]byte
	expression        [512]byte
	expected          [1024]byte
	actual            [1024]byte
	message           [4096]byte
	reason            [512]byte
	marker            [128]byte
	censusBeforeBytes uint32
	censusAfterBytes  uint32
	evidenceBytes     uint32
	_                 uint32
	censusBefore      [censusBytes]byte
	censusAfter       [censusBytes]byte
	evidence          [evidenceBytes]byte
}

// page is where a run tells the supervisor what it saw, in memory that
// survives the process.
type page struct {
	*pageLayout
	foreground bool
	mu         sync.Mutex // evidence
}

// mapPage maps the file that the supervisor made; it stays mapped.
func mapPage(path string) (*page, error) {
	const size = int(unsafe.Sizeof(pageLayout{}))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() != int64(size) {
		return nil, fmt.Errorf("page %s: %d bytes, this program expects %d", path, info.Size(), size)
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, size,
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", path, err)
	}
	p := &page{pageLayout: (*pageLayout)(unsafe.Pointer(&memory[0]))}
	if p.magic != pageMagic || p.version != pageVersion || p.bytes != uint32(size) {
		return nil, fmt.Errorf("page %s: not a result page of this version", path)
	}
	p.enter(phaseMapped)
	return p, nil
}

// privatePage is for a run in the foreground, which people read as text.
func privatePage() *page {
	p := &page{pageLayout: new(pageLayout), foreground: true}
	p.enter(phaseMapped)
	return p
}

func (p *page) enter(phase uint32) { atomic.StoreUint32(&p.phase, phase) }

func (p *page) end(outcome uint32) { atomic.StoreUint32(&p.outcome, outcome) }

func (p *page) countCheck() { atomic.AddUint64(&p.checks, 1) }

// claim is true for the first goroutine that has a failure or a reason to
// tell; the fields are then its own.
func (p *page) claim() bool { return atomic.SwapUint32(&p.failing, 1) == 0 }

// put stores text in a field, cut to fit on a character boundary.
func put(field []byte, text string) {
	text = cleanText(text)
	if len(text) > len(field)-1 {
		text = strings.ToValidUTF8(text[:len(field)-1], "")
	}
	field[copy(field, text)] = 0
}

func get(field []byte) string {
	text, _, _ := strings.Cut(string(field), "\x00")
	return text
}

// cleanText is text that the page can carry: UTF-8 and no NUL byte.
func cleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "\\0")
}

// addEvidence appends one "KEY\tVALUE\n" line, as long as there is room.
func (p *page) addEvidence(key, value string) {
	line := key + "\t" + oneLine(value) + "\n"
	if p.foreground {
		fmt.Fprintf(os.Stderr, "conform: evidence %s", line)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := int(p.evidenceBytes)
	if at+len(line) <= len(p.evidence) {
		p.evidenceBytes += uint32(copy(p.evidence[at:], line))
	}
}

// oneLine is text as the value of a fact: no newline, no tab.
func oneLine(text string) string {
	return strings.NewReplacer("\n", "\\n", "\t", " ", "\r", " ").Replace(cleanText(text))
}

// show prints the page for people and returns the exit code of the foreground.
func (p *page) show(id string) int {
	outcome := atomic.LoadUint32(&p.outcome)
	if outcome == outcomePassed && p.checks == 0 {
		fmt.Printf("BROKEN %s: no check was executed\n", id)
		return 1
	}
	fmt.Printf("%s %s (%d checks, seed %d)\n", outcomeWords[outcome], id, p.checks, p.seed)
	if outcome == outcomeFailed {
		fmt.Printf("  %s:%d: %s\n  expected  %s\n  actual    %s\n", get(p.file[:]),
			p.line, get(p.message[:]), get(p.expected[:]), get(p.actual[:]))
	}
	if reason := get(p.reason[:]); reason != "" {
		fmt.Printf("  %s\n", reason)
	}
	if outcome != outcomePassed {
		return 1
	}
	return 0
}
