// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"fmt"
	"strings"

	"gusset.dev/go/cases/conform"
)

// A library that reports other structs than the package knows. The program
// runs itself again; the tap changes the report on its way to the package.

var _ = conform.RegisterChild("initialised", func([]string) int {
	fmt.Println("package gusset is initialised")
	return 0
})

// driftOf is one lie and what the panic must name.
type driftOf struct{ lie, names string }

var structNames = []string{"CallHeader", "FfiStatus", "AbiLayout", "AllocStats"}

// fieldNames are in the order of gusset_abi_fields.
var fieldNames = []string{
	"CallHeader trace_id", "CallHeader span_id", "CallHeader timeout_ns",
	"CallHeader flags", "CallHeader reserved", "FfiStatus code", "FfiStatus msg",
	"FfiStatus msg_len", "FfiStatus file", "FfiStatus file_len", "FfiStatus line",
	"AbiLayout version", "AbiLayout sizes", "AbiLayout aligns",
	"AllocStats live_bytes", "AllocStats peak_bytes", "AllocStats alloc_count",
}

const otherNumber = 3 // of bytes; no size, offset or alignment of the ABI

func drifts() []driftOf {
	list := []driftOf{{"version 0 3", "version"}, {"version 0 1", "version"}}
	for i, name := range structNames {
		list = append(list, driftOf{fmt.Sprintf("size %d %d", i, otherNumber), name},
			driftOf{fmt.Sprintf("align %d %d", i, otherNumber), name})
	}
	for i, name := range fieldNames {
		list = append(list, driftOf{fmt.Sprintf("offset %d %d", i, otherNumber), name},
			driftOf{fmt.Sprintf("width %d %d", i, otherNumber), name})
	}
	return list
}

func initialise(t *conform.T, lie string) conform.Ended {
	return t.RunChild("initialised", []string{"RAW_DRIFT=" + lie})
}

var _ = conform.Register(conform.Case{
	ID:      "h.init-verifies.drift",
	Clauses: "h.init-verifies",
	Why:     "A program that goes on with a library of another layout corrupts memory without a word.",
	Steps: "Start the program on a library that reports another version, size or alignment of a struct, " +
		"offset or size of a field: each of them once.",
	Expected: "Each time package init panics and names the field (the struct, the version); without a lie it does not.",
	Mutant:   "go-offsets-not-compared go-widths-not-compared go-sizes-not-compared go-drift-not-named",
	Run: func(t *conform.T) {
		sound := initialise(t, "")
		conform.Equal(t, 0, sound.Code, "the program on the library as it is, which said: %s", sound.Output)
		for _, d := range drifts() {
			checkRefused(t, d.lie, strings.Fields(d.names)...)
		}
	},
})

var _ = conform.Register(conform.Case{
	ID:       "h.init-verifies.field-count",
	Clauses:  "h.init-verifies",
	Why:      "A comparison over no fields finds no drift.",
	Steps:    "Start the program on a library that reports 0, 16 or 18 fields.",
	Expected: "Each time package init panics.",
	Mutant:   "go-field-count-not-compared",
	Run: func(t *conform.T) {
		for _, count := range []int{0, 16, 18} {
			checkRefused(t, fmt.Sprintf("count 0 %d", count))
		}
	},
})

// checkRefused expects a panic of package init whose text has all the names.
func checkRefused(t *conform.T, lie string, names ...string) {
	ended := initialise(t, lie)
	conform.Equal(t, 2, ended.Code, "exit status under the lie %q; it said: %s", lie, ended.Output)
	reason, _, _ := strings.Cut(ended.Output, "\n")
	t.Contains(reason, "panic: ", "the first line under the lie %q", lie)
	for _, name := range names {
		t.Contains(reason, name, "the panic under the lie %q", lie)
	}
}
