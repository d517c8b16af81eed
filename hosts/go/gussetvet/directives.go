// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode"
)

// checkDirectives reports each import of the ABI that lacks `#cgo noescape`
// or `#cgo nocallback`. cgo merges the directives of a package's files.
func checkDirectives(u *unit) {
	noescape, nocallback := u.cgoDirectives()
	type use struct {
		pos token.Pos
		via string // the function of the ABI that a wrapper in C calls
	}
	first := map[string]use{}
	u.eachCall(func(_ *source, call *ast.CallExpr) {
		name := u.ccall(call)
		if _, seen := first[name]; seen || name == "" {
			return
		}
		if isABI(name) {
			first[name] = use{pos: call.Pos()}
		} else if via, ok := u.functions.reaches(name, isABI); ok {
			first[name] = use{call.Pos(), via}
		}
	})
	for _, name := range sortedKeys(first) {
		use := first[name]
		what := "C." + name
		if use.via != "" {
			what += ", which calls " + use.via + ","
		}
		if !noescape[name] {
			u.reportf(use.pos, catNoescape, clauseCgoRules,
				"%s is called without noescape, so its arguments move to the heap: "+
					"add `#cgo noescape %s` to the preamble", what, name)
		}
		if !nocallback[name] {
			u.reportf(use.pos, catNocallback, clauseCgoRules,
				"%s is called without nocallback, so each call prepares for a callback that never comes: "+
					"add `#cgo nocallback %s` to the preamble", what, name)
		}
	}
}

// cgoDirectives are the names that the package's preambles give to noescape
// and nocallback, read as cgo reads them.
func (u *unit) cgoDirectives() (noescape, nocallback map[string]bool) {
	noescape, nocallback = map[string]bool{}, map[string]bool{}
	for _, src := range u.sources {
		for _, p := range src.preambles {
			for line := range strings.SplitSeq(p.text, "\n") {
				rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#cgo")
				if !ok || rest == "" || !unicode.IsSpace(rune(rest[0])) {
					continue
				}
				fields := strings.Fields(rest)
				if len(fields) != 2 {
					continue
				}
				switch fields[0] {
				case "noescape":
					noescape[fields[1]] = true
				case "nocallback":
					nocallback[fields[1]] = true
				}
			}
		}
	}
	return noescape, nocallback
}
