// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"strings"
	"testing"
	"unsafe"
)

func TestABIOfThisLibrary(t *testing.T) {
	if err := verifyABI(nativeABI(), cgoABI(), compiledABI); err != nil {
		t.Fatal(err)
	}
}

// Each number of the report, changed on each side, is drift, and the error
// names the field and both sides' numbers.
func TestABIDriftIsNamed(t *testing.T) {
	type plant struct {
		name   string
		change func(*abiReport)
		words  []string
	}
	plants := []plant{
		{"version", func(r *abiReport) { r.version = 3 }, []string{"version is 3", "2 in this package"}},
		{"no fields", func(r *abiReport) { r.count = 0 }, []string{"reports 0 fields", "has 17"}},
		{"a field more", func(r *abiReport) { r.count = 18 }, []string{"reports 18 fields"}},
		{"swapped", func(r *abiReport) { r.fields[3], r.fields[4] = r.fields[4], r.fields[3] },
			[]string{"CallHeader.flags", "offset 36, size 4", "offset 32, size 4 in this package"}},
	}
	for i, name := range abiFieldNames {
		plants = append(plants,
			plant{name + " offset", func(r *abiReport) { r.fields[i].a += 8 }, []string{name + " is at offset"}},
			plant{name + " size", func(r *abiReport) { r.fields[i].b++ }, []string{name + " is at offset"}})
	}
	for i, name := range abiStructNames {
		plants = append(plants,
			plant{name + " size", func(r *abiReport) { r.structs[i].a++ }, []string{name + " has size"}},
			plant{name + " alignment", func(r *abiReport) { r.structs[i].b *= 2 }, []string{name + " has size"}})
	}
	if len(plants) != 4+2*17+2*4 {
		t.Fatalf("%d plants", len(plants))
	}
	for _, p := range plants {
		drifted := compiledABI
		p.change(&drifted)
		check := func(side string, err error) {
			t.Helper()
			if err == nil {
				t.Errorf("%s in %s: no error", p.name, side)
				return
			}
			for _, w := range append(p.words, side, "gusset: ABI drift") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%s in %s: error %q lacks %q", p.name, side, err, w)
				}
			}
		}
		check("the library", verifyABI(drifted, compiledABI, compiledABI))
		check("gusset.h", verifyABI(compiledABI, drifted, compiledABI))
	}
	if err := verifyABI(compiledABI, compiledABI, compiledABI); err != nil {
		t.Errorf("no drift: %v", err)
	}
}

// The Go struct that is passed as CallHeader has its layout.
func TestCallHeaderLayout(t *testing.T) {
	var h callHeader
	got := []abiSpan{
		span(unsafe.Offsetof(h.traceID), unsafe.Sizeof(h.traceID)),
		span(unsafe.Offsetof(h.spanID), unsafe.Sizeof(h.spanID)),
		span(unsafe.Offsetof(h.timeoutNS), unsafe.Sizeof(h.timeoutNS)),
		span(unsafe.Offsetof(h.flags), unsafe.Sizeof(h.flags)),
		span(unsafe.Offsetof(h.opcode), unsafe.Sizeof(h.opcode)),
	}
	for i, g := range got {
		if w := compiledABI.fields[i]; g != w {
			t.Errorf("%s: %v, want %v", abiFieldNames[i], g, w)
		}
	}
	if g, w := span(unsafe.Sizeof(h), unsafe.Alignof(h)), compiledABI.structs[0]; g != w {
		t.Errorf("CallHeader: %v, want %v", g, w)
	}
}
