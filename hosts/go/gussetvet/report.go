// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"fmt"
	"go/token"
	"sort"

	"golang.org/x/tools/go/analysis"
)

// A category is what one kind of finding is called, in the JSON output, at
// the end of each message and in an ignore comment.
type category string

const (
	catNoescape   category = "noescape"
	catNocallback category = "nocallback"
	catFree       category = "cfree"
	catExport     category = "export"
	catCgocheck   category = "cgocheck"
	catLinkname   category = "linkname"
	catCallback   category = "callback"
	catPointer    category = "gopointer"
	catPinner     category = "pinner"
	catUnchecked  category = "unchecked"
	catIgnore     category = "ignore"
)

// ignorable are the categories that a comment may silence.
var ignorable = map[category]bool{
	catNoescape: true, catNocallback: true, catFree: true, catExport: true,
	catCgocheck: true, catLinkname: true, catCallback: true,
	catPointer: true, catPinner: true, catUnchecked: true,
}

// The clauses that findings name.
const (
	clauseCgoRules    = "h.cgo-rules"
	clauseNoLibcFree  = "i1.no-libc-free"
	clauseStatusOwned = "i1.status-owned"
	clauseInputCopied = "i1.input-copied"
)

// finding is a diagnostic that no ignore comment has been held against yet.
type finding struct {
	pos      token.Pos
	category category
	message  string
}

// reportf records a finding; flush decides whether it is printed.
func (u *unit) reportf(pos token.Pos, c category, clause, format string, args ...any) {
	u.findings = append(u.findings, finding{pos, c,
		fmt.Sprintf(format, args...) + " [" + clause + "] (" + string(c) + ")"})
}

// flush reports, in the order of the source, every finding that no comment
// ignores, and every comment that is not worth having.
func (u *unit) flush() {
	ignores := u.collectIgnores()
	kept := u.findings[:0]
	for _, f := range u.findings {
		if !ignores.silence(u.pass.Fset, f) {
			kept = append(kept, f)
		}
	}
	kept = append(kept, ignores.complaints()...)
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].pos < kept[j].pos })
	for i, f := range kept {
		if i > 0 && f == kept[i-1] {
			continue
		}
		u.pass.Report(analysis.Diagnostic{
			Pos: f.pos, Category: string(f.category), Message: f.message,
		})
	}
}
