// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// cname is what an identifier that stands for C.name was.
type cname struct {
	name     string
	function bool // the identifier is called, and not as a conversion
}

// retype gives types to the originals of cgo files. Each C.name becomes the
// name that cgo declares for it, so that the originals, the files without cgo
// and cgo's own declarations make a package that compiles.
func (u *unit) retype(cgo []*source) {
	imports := importMap{}
	var files []*ast.File
	for _, f := range u.pass.Files {
		for _, spec := range f.Imports {
			if name := u.pass.TypesInfo.PkgNameOf(spec); name != nil {
				imports[strings.Trim(spec.Path.Value, "\"`")] = name.Imported()
			}
		}
		if !fromCgo(f) || cgoOrigin(u.pass.Fset, f) == "" {
			files = append(files, f)
		}
	}
	for _, src := range cgo {
		src.preambles = takePreambles(src.file)
		u.renameC(src.file)
		files = append(files, src.file)
	}
	u.info = &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{
		Importer:  imports,
		Sizes:     u.pass.TypesSizes,
		GoVersion: u.pass.Pkg.GoVersion(),
		// What cannot be typed is seen less far into, not refused.
		Error: func(err error) { u.typeErrors = append(u.typeErrors, err) },
	}
	config.Check(u.pass.Pkg.Path(), u.pass.Fset, files, u.info)
}

type importMap map[string]*types.Package

// Import returns a package that the driver has loaded already.
func (m importMap) Import(path string) (*types.Package, error) { return m[path], nil }

// takePreambles removes every import of "C" from the file and returns the C
// text above it.
func takePreambles(f *ast.File) []ctext {
	var out []ctext
	decls := f.Decls[:0]
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			decls = append(decls, decl)
			continue
		}
		specs := gen.Specs[:0]
		for _, spec := range gen.Specs {
			imp := spec.(*ast.ImportSpec)
			if imp.Path.Value != `"C"` {
				specs = append(specs, spec)
				continue
			}
			group := imp.Doc
			if group == nil && len(gen.Specs) == 1 {
				group = gen.Doc
			}
			if group != nil {
				out = append(out, preambleText(group))
			}
		}
		gen.Specs = specs
		if len(specs) > 0 {
			decls = append(decls, gen)
		}
	}
	f.Decls = decls
	return out
}

// renameC replaces each C.name by the name that cgo declared for it.
func (u *unit) renameC(f *ast.File) {
	uses := findUses(f)
	astutil.Apply(f, func(c *astutil.Cursor) bool {
		sel, ok := c.Node().(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "C" {
			return true
		}
		if expr := u.cgoExpr(sel, uses[sel]); expr != nil {
			c.Replace(expr)
		}
		return false
	}, nil)
}

// cuse is how an expression C.name is used.
type cuse int

const (
	asValue cuse = iota
	asCall
	asPairCall // a call whose second result is errno
)

// findUses finds the selectors of the file that are called.
func findUses(f *ast.File) map[*ast.SelectorExpr]cuse {
	uses := map[*ast.SelectorExpr]cuse{}
	note := func(e ast.Expr, use cuse) {
		if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
			if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
				uses[sel] = max(uses[sel], use)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			note(n, asCall)
		case *ast.AssignStmt:
			if len(n.Lhs) == 2 && len(n.Rhs) == 1 {
				note(n.Rhs[0], asPairCall)
			}
		case *ast.ValueSpec:
			if len(n.Names) == 2 && len(n.Values) == 1 {
				note(n.Values[0], asPairCall)
			}
		}
		return true
	})
	return uses
}

// cgoExpr is the expression that cgo's declarations give for C.name.
func (u *unit) cgoExpr(sel *ast.SelectorExpr, use cuse) ast.Expr {
	name := sel.Sel.Name
	scope := u.pass.Pkg.Scope()
	ident := func(prefix string, function bool) *ast.Ident {
		full := prefix + name
		if name == "malloc" && function {
			full = prefix + "_CMalloc"
		}
		if scope.Lookup(full) == nil {
			return nil
		}
		id := &ast.Ident{NamePos: sel.Pos(), Name: full}
		u.cnames[id] = cname{name, function}
		return id
	}
	if use == asPairCall {
		if id := ident("_C2func_", true); id != nil {
			return id
		}
	}
	if use != asValue {
		if id := ident("_Cfunc_", true); id != nil {
			return id
		}
	}
	for _, prefix := range []string{"_Ctype_", "_Ciconst_", "_Cfconst_", "_Csconst_"} {
		if id := ident(prefix, false); id != nil {
			return id
		}
	}
	if id := ident("_Cvar_", false); id != nil {
		return &ast.ParenExpr{Lparen: sel.Pos(), X: &ast.StarExpr{Star: sel.Pos(), X: id}}
	}
	if id := ident("_Cmacro_", false); id != nil {
		return &ast.CallExpr{Fun: id, Lparen: sel.Pos(), Rparen: sel.End()}
	}
	if id := ident("_Cfpvar_fp_", false); id != nil {
		return id
	}
	return nil
}

// ccall returns the name of the C function that the call calls, or "".
func (u *unit) ccall(call *ast.CallExpr) string {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || !u.cnames[id].function {
		return ""
	}
	return u.cnames[id].name
}
