// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestMain lets the preambles of the test data find the gusset.h that travels
// in the module of the host package.
func TestMain(m *testing.M) {
	host, err := filepath.Abs("..")
	if err != nil {
		panic(err)
	}
	os.Setenv("CGO_ENABLED", "1")
	os.Setenv("CGO_CFLAGS", "-O1 -I"+host)
	if scratch, err = os.MkdirTemp("", "gussetvet"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// scratch is a directory for all tests.
var scratch string

// strict is the analyzer, but for that it fails where it could not type the
// original of a cgo file.
func strict(t *testing.T) *analysis.Analyzer {
	a := *Analyzer
	a.Run = func(pass *analysis.Pass) (any, error) {
		u, err := loadUnit(pass)
		if err != nil {
			return nil, err
		}
		for _, err := range u.typeErrors {
			t.Errorf("typing the original: %v", err)
		}
		return run(pass)
	}
	return &a
}

func TestAnalyzer(t *testing.T) {
	seen := map[category]bool{}
	packages := []string{
		"directives", "cfree", "cfreeelsewhere", "export", "exportwithout",
		"cgocheck", "linkname", "callback", "callbackcgo", "gopointer",
		"hostuser", "pinner", "ignore", "plain",
	}
	ran := 0
	for _, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			ran++
			for _, r := range analysistest.Run(t, analysistest.TestData(), strict(t), pkg) {
				for _, d := range r.Diagnostics {
					seen[category(d.Category)] = true
				}
			}
		})
	}
	if ran < len(packages) {
		return // -run has chosen some.
	}
	for c := range ignorable {
		// What cgo leaves out is not there for this driver either.
		if !seen[c] && c != catUnchecked {
			t.Errorf("no test has a finding of category %s", c)
		}
	}
}

// TestReadmeNamesCategories keeps the page complete.
func TestReadmeNamesCategories(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(slices.Collect(maps.Keys(ignorable)), catIgnore) {
		if !strings.Contains(string(readme), "`"+string(c)+"`") {
			t.Errorf("README.md does not explain category %s", c)
		}
		if !strings.Contains(Analyzer.Doc, string(c)) {
			t.Errorf("the analyzer's documentation does not name category %s", c)
		}
	}
}
