// SPDX-License-Identifier: MIT OR Apache-2.0

// Package gussetvet defines an Analyzer that reports code which breaks the
// rules of the Gusset contract for a Go host: h.cgo-rules, and the clauses of
// group I1 that a host can break.
package gussetvet

import (
	"golang.org/x/tools/go/analysis"
)

const doc = `report what breaks the Gusset contract's rules for a Go host

Categories: noescape, nocallback, cfree, export, cgocheck, linkname, callback,
gopointer, pinner, unchecked, ignore. A finding that is right as it is gets a
comment on its line or on the line above:

	//gussetvet:ignore CATEGORY reason

A comment without a reason, of an unknown category or that silences nothing is
reported too.`

// Analyzer reports what breaks the Gusset contract's rules for a Go host.
var Analyzer = &analysis.Analyzer{
	Name: "gussetvet",
	Doc:  doc,
	URL:  "https://pkg.go.dev/gusset.dev/go/gussetvet",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	u, err := loadUnit(pass)
	if err != nil {
		return nil, err
	}
	for _, check := range []func(*unit){
		checkDirectives,
		checkFree,
		checkExport,
		checkCgocheck,
		checkModuleFiles,
		checkLinkname,
		checkNativeCallbacks,
		checkPointers,
		checkPinner,
		checkUnchecked,
	} {
		check(u)
	}
	u.flush()
	return nil, nil
}
