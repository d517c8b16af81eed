// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"regexp"
	"strings"
)

// runtimeParts are the pieces of the Go runtime that cgo's calls and
// callbacks are made of, and its checks of them.
var runtimeParts = regexp.MustCompile(`^(?:runtime|runtime/cgo|syscall)\.(?:` +
	`_?cgocall|cgocaller|syscall_cgocaller|asmcgocall\w*|libcCall|` +
	`cgocallback\w*|_?(?:set_)?crosscall2\w*|needm|needAndBindM|dropm|` +
	`(?:re)?entersyscall\w*|exitsyscall\w*|` +
	`cgoCheck\w*|cgoNoCallback|cgoUse|cgoAlwaysFalse|godebugDefault)$`)

var linknameLine = regexp.MustCompile(`^//go:linkname[ \t]+(\S+)[ \t]+(\S+)`)

// checkLinkname reports linknames that go round cgo: into the runtime's parts,
// or between a Go function and a C symbol.
func checkLinkname(u *unit) {
	for _, src := range u.sources {
		functions := map[string]*ast.FuncDecl{}
		for _, decl := range src.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				functions[fn.Name.Name] = fn
			}
		}
		for _, group := range src.file.Comments {
			for _, c := range group.List {
				if m := linknameLine.FindStringSubmatch(c.Text); m != nil {
					u.checkLink(c, functions[m[1]], m[1], m[2])
				}
			}
		}
	}
}

func (u *unit) checkLink(c *ast.Comment, fn *ast.FuncDecl, local, remote string) {
	const advice = "call the library through import \"C\" or package gusset"
	switch {
	case runtimeParts.MatchString(remote):
		u.reportf(c.Pos(), catLinkname, clauseCgoRules,
			"//go:linkname pulls %s out of the runtime, which goes round cgo's rules: %s", remote, advice)
	case strings.Contains(remote, "."):
	case fn != nil && fn.Body != nil:
		u.reportf(c.Pos(), catLinkname, clauseCgoRules,
			"//go:linkname gives Go function %s the C name %s, a way back into Go that no import allows: "+
				"take completions from the pipe or the ring", local, remote)
	case fn != nil || isNative(remote):
		u.reportf(c.Pos(), catLinkname, clauseCgoRules,
			"//go:linkname binds %s to the C symbol %s without cgo: %s", local, remote, advice)
	}
}

var (
	assemblyParts = regexp.MustCompile(
		`\b(?:crosscall2|cgocallback\w*|asmcgocall\w*|cgocall|gusset_\w+|gse_\w+)`)
	assemblyComment = regexp.MustCompile(`//.*|/\*.*?\*/`)
)

// checkNativeCallbacks reports assembly and C code that enter Go, or C,
// without cgo.
func checkNativeCallbacks(u *unit) {
	for _, t := range u.texts {
		switch {
		case t.isAssembly():
			for i, line := range strings.Split(string(t.data), "\n") {
				line = assemblyComment.ReplaceAllString(line, "")
				if part := assemblyParts.FindString(line); part != "" {
					u.reportf(t.file.LineStart(i+1), catCallback, clauseCgoRules,
						"assembly uses %s, which goes round cgo's rules: "+
							"call the library through import \"C\" or package gusset", part)
				}
			}
		case t.isC():
			u.checkCCallbacks(t.ctext())
		}
	}
	for _, src := range u.sources {
		for _, p := range src.preambles {
			u.checkCCallbacks(p)
		}
	}
}

func (u *unit) checkCCallbacks(t ctext) {
	for _, tok := range ctokens(t.text) {
		if tok.text == "crosscall2" || strings.HasPrefix(tok.text, "cgocallback") ||
			strings.HasPrefix(tok.text, "_cgoexp_") {
			u.reportf(t.pos(tok.offset), catCallback, clauseCgoRules,
				"C code uses %s to enter Go: take completions from the pipe or the ring", tok.text)
		}
	}
}
