// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"strings"
)

// checkExport reports Go functions that C could call, in a package that uses
// the ABI: no function of the ABI calls back, and every import says so.
func checkExport(u *unit) {
	if !u.usesABI() {
		return
	}
	for _, src := range u.sources {
		for _, decl := range src.file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Doc == nil {
				continue
			}
			for _, c := range fn.Doc.List {
				rest, ok := strings.CutPrefix(c.Text, "//export ")
				if !ok {
					continue
				}
				name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
				u.reportf(c.Pos(), catExport, clauseCgoRules,
					"//export %s in a package that uses gusset.h: the library never calls Go; "+
						"take completions from the pipe or the ring, or export from a package without gusset.h", name)
			}
		}
	}
}
