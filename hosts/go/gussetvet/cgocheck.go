// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// unknown stands for a part of a string that only the run will tell.
const unknown = "\x00"

var (
	// A setting in the value of GODEBUG.
	offInValue = regexp.MustCompile(`(?:^|[,\x00])cgocheck=[+-]?0+(?:$|[,\x00])`)
	// A setting in a text that also names the variable.
	offInText = regexp.MustCompile(
		`(?:GODEBUG|godebugDefault)=(?:[^\s"';&|]*[,\x00])?cgocheck=[+-]?0+(?:$|[^0-9])`)
)

const cgocheckAdvice = "remove the setting: the checks are how a kept Go pointer shows"

func (u *unit) reportCgocheck(pos token.Pos, where string) {
	u.reportf(pos, catCgocheck, clauseCgoRules,
		"%s turns off cgo's pointer checks with cgocheck=0: %s", where, cgocheckAdvice)
}

// checkCgocheck reports cgocheck=0 in directives, in strings that go to the
// environment of this or another process, and in C text.
func checkCgocheck(u *unit) {
	for _, src := range u.sources {
		for _, group := range src.file.Comments {
			for _, c := range group.List {
				u.checkDebugDirective(c)
			}
		}
	}
	values := u.stringValues()
	for _, src := range u.sources {
		values.check(src.file)
		for _, p := range src.preambles {
			u.checkCStrings(p)
		}
	}
	for _, t := range u.texts {
		if t.isC() {
			u.checkCStrings(t.ctext())
		}
	}
}

func (u *unit) checkDebugDirective(c *ast.Comment) {
	if rest, ok := strings.CutPrefix(c.Text, "//go:debug "); ok {
		rest, _, _ = strings.Cut(rest, "//")
		if offInValue.MatchString(strings.TrimSpace(rest)) {
			u.reportCgocheck(c.Pos(), "//go:debug")
		}
	}
	if rest, ok := strings.CutPrefix(c.Text, "//go:generate "); ok && offInText.MatchString(rest) {
		u.reportCgocheck(c.Pos(), "//go:generate")
	}
}

func (u *unit) checkCStrings(t ctext) {
	if !strings.Contains(t.text, "cgocheck=") {
		return
	}
	tokens := ctokens(t.text)
	named := false
	for _, tok := range tokens {
		named = named || tok.text == `"GODEBUG"`
	}
	for _, tok := range tokens {
		value := strings.Trim(tok.text, `"`)
		if tok.text[0] == '"' && (offInText.MatchString(value) || named && offInValue.MatchString(value)) {
			u.reportCgocheck(t.pos(tok.offset), "C code")
		}
	}
}

// stringValues knows what the package assigns to its string variables.
type stringValues struct {
	u        *unit
	assigned map[types.Object][]ast.Expr
}

func (u *unit) stringValues() *stringValues {
	s := &stringValues{u, map[types.Object][]ast.Expr{}}
	note := func(lhs, rhs ast.Expr) {
		if id, ok := lhs.(*ast.Ident); ok && isString(u.info.TypeOf(rhs)) {
			if o := u.info.ObjectOf(id); o != nil {
				s.assigned[o] = append(s.assigned[o], rhs)
			}
		}
	}
	for _, src := range u.sources {
		ast.Inspect(src.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i := range n.Lhs {
					if len(n.Lhs) == len(n.Rhs) {
						note(n.Lhs[i], n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i := range n.Values {
					if len(n.Names) == len(n.Values) {
						note(n.Names[i], n.Values[i])
					}
				}
			}
			return true
		})
	}
	return s
}

// render is the text of a string expression with unknown for what varies; of
// a variable with several values it is the one that turns the checks off.
func (s *stringValues) render(e ast.Expr, depth int) string {
	e = ast.Unparen(e)
	if tv := s.u.info.Types[e]; tv.Value != nil && tv.Value.Kind() == constant.String {
		return constant.StringVal(tv.Value)
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return s.render(e.X, depth) + s.render(e.Y, depth)
		}
	case *ast.Ident:
		if depth == 0 {
			return unknown
		}
		for _, rhs := range s.assigned[s.u.info.ObjectOf(e)] {
			if text := s.render(rhs, depth-1); strings.Contains(text, "cgocheck=") {
				return text
			}
		}
	}
	return unknown
}

func (s *stringValues) isGodebug(e ast.Expr) bool { return s.render(e, 2) == "GODEBUG" }

func (s *stringValues) isOff(e ast.Expr) bool { return offInValue.MatchString(s.render(e, 2)) }

// check reports the places of a file where GODEBUG meets cgocheck=0.
func (s *stringValues) check(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			for i := 0; i+1 < len(n.Args); i++ {
				if s.isGodebug(n.Args[i]) && s.isOff(n.Args[i+1]) {
					s.u.reportCgocheck(n.Args[i+1].Pos(), "GODEBUG")
				}
			}
		case *ast.KeyValueExpr:
			if s.isGodebug(n.Key) && s.isOff(n.Value) {
				s.u.reportCgocheck(n.Value.Pos(), "GODEBUG")
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				index, ok := ast.Unparen(lhs).(*ast.IndexExpr)
				if ok && len(n.Lhs) == len(n.Rhs) && s.isGodebug(index.Index) && s.isOff(n.Rhs[i]) {
					s.u.reportCgocheck(n.Rhs[i].Pos(), "GODEBUG")
				}
			}
		case *ast.BinaryExpr, *ast.BasicLit:
			if e := n.(ast.Expr); offInText.MatchString(s.render(e, 2)) {
				s.u.reportCgocheck(e.Pos(), "the string")
				return false
			}
		}
		return true
	})
}
