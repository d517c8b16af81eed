// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// checkUnchecked reports cgo files that the driver left out because cgo is
// off: nothing in them was checked, and silence would read as a pass.
func checkUnchecked(u *unit) {
	context := build.Default
	context.CgoEnabled = true
	for _, path := range u.pass.IgnoredFiles {
		if filepath.Ext(path) != ".go" || u.hasCgo() {
			continue
		}
		data, err := u.pass.ReadFile(path)
		if err != nil {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, data, parser.ParseComments)
		if err != nil {
			continue // A file that is left out need not be Go at all.
		}
		preambles := takePreambles(f)
		uses := false
		for _, p := range preambles {
			uses = uses || includesAny(p, headers)
		}
		if !uses {
			continue
		}
		if ok, err := context.MatchFile(filepath.Dir(path), filepath.Base(path)); err != nil || !ok {
			continue // Left out by a build constraint, not for lack of cgo.
		}
		t, err := u.addText(path)
		if err != nil {
			continue
		}
		line := 1 + strings.Count(string(data[:f.Package-token.Pos(f.FileStart)]), "\n")
		u.reportf(t.file.LineStart(line), catUnchecked, clauseCgoRules,
			"the file uses gusset.h but was not checked, because cgo is off: "+
				"set CGO_ENABLED=1 and have a C compiler")
	}
}

// hasCgo reports whether cgo made some file of the package.
func (u *unit) hasCgo() bool {
	for _, f := range u.pass.Files {
		if fromCgo(f) {
			return true
		}
	}
	return false
}
