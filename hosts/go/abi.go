// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import "fmt"

// The constants of the ABI that the package uses. import.go refuses to compile
// if one of them is not what gusset.h says.
const (
	abiVersion = 2

	codeOK       = 0
	codeErr      = 1
	codePanic    = 2
	codePoisoned = 3
	codeBadArg   = 4

	flagDiagnostic = 1
	flagInline     = 2

	// MaxPoolSize is the most workers that a handle can have.
	MaxPoolSize     = 1024
	defaultPoolSize = 4
	maxInlineInput  = 4096
	maxBufferBytes  = 1 << 30

	takeOwnedFlag    = 1 << 63
	inlineRecordFlag = 1 << 63
	inlineResultMax  = 48
	inlineRecordMax  = 64

	ringOffCapacity   = 0
	ringOffSlotBytes  = 8
	ringOffWaiting    = 64
	ringSlotBytes     = 128
	ringSlotOffRecord = 8
)

const (
	abiStructCount = 4
	abiFieldCount  = 17
)

// abiSpan is size and alignment of a struct, or offset and size of a field.
type abiSpan struct{ a, b uint32 }

func span(a, b uintptr) abiSpan { return abiSpan{uint32(a), uint32(b)} }

// abiReport is one side's view of the four structs that cross the boundary.
type abiReport struct {
	version uint32
	structs [abiStructCount]abiSpan
	count   uint32
	fields  [abiFieldCount]abiSpan
}

var abiStructNames = [abiStructCount]string{
	"CallHeader", "FfiStatus", "AbiLayout", "AllocStats",
}

var abiFieldNames = [abiFieldCount]string{
	"CallHeader.trace_id", "CallHeader.span_id", "CallHeader.timeout_ns",
	"CallHeader.flags", "CallHeader.reserved",
	"FfiStatus.code", "FfiStatus.msg", "FfiStatus.msg_len",
	"FfiStatus.file", "FfiStatus.file_len", "FfiStatus.line",
	"AbiLayout.version", "AbiLayout.sizes", "AbiLayout.aligns",
	"AllocStats.live_bytes", "AllocStats.peak_bytes", "AllocStats.alloc_count",
}

// compiledABI is what this package was written against: section 1.1 of the
// contract, for 64-bit platforms.
var compiledABI = abiReport{
	version: abiVersion,
	structs: [abiStructCount]abiSpan{{40, 8}, {48, 8}, {36, 4}, {24, 8}},
	count:   abiFieldCount,
	fields: [abiFieldCount]abiSpan{
		{0, 16}, {16, 8}, {24, 8}, {32, 4}, {36, 4},
		{0, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 4},
		{0, 4}, {4, 16}, {20, 16},
		{0, 8}, {8, 8}, {16, 8},
	},
}

// compareABI says where the view of the named side differs first from the
// constants of the package, or returns nil.
func compareABI(side string, got, want *abiReport) error {
	if got.version != want.version {
		return fmt.Errorf("gusset: ABI drift: version is %d in %s, %d in this package",
			got.version, side, want.version)
	}
	if got.count != want.count {
		return fmt.Errorf("gusset: ABI drift: %s reports %d fields, this package has %d",
			side, got.count, want.count)
	}
	for i, name := range abiFieldNames {
		if g, w := got.fields[i], want.fields[i]; g != w {
			return fmt.Errorf("gusset: ABI drift: %s is at offset %d, size %d in %s, at offset %d, size %d in this package",
				name, g.a, g.b, side, w.a, w.b)
		}
	}
	for i, name := range abiStructNames {
		if g, w := got.structs[i], want.structs[i]; g != w {
			return fmt.Errorf("gusset: ABI drift: %s has size %d, alignment %d in %s, size %d, alignment %d in this package",
				name, g.a, g.b, side, w.a, w.b)
		}
	}
	return nil
}

// verifyABI compares the three views of the structs: the library's, cgo's and
// the package's.
func verifyABI(library, cgo, compiled abiReport) error {
	if err := compareABI("gusset.h as cgo sees it", &cgo, &compiled); err != nil {
		return err
	}
	return compareABI("the library", &library, &compiled)
}

// A library of another layout would corrupt memory silently, so the package
// does not start with one.
func init() {
	if err := verifyABI(nativeABI(), cgoABI(), compiledABI); err != nil {
		panic(err.Error())
	}
}
