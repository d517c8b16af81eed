// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/types"
)

// checkPinner reports pins that do not do what they are there for.
func checkPinner(u *unit) {
	if !u.usesGusset() {
		return
	}
	for _, src := range u.sources {
		for _, decl := range src.file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				u.checkPins(fn)
			}
		}
	}
}

// pins is how one function uses its pinners.
type pins struct {
	calls    []*ast.CallExpr // of Pin
	unpinned map[types.Object]bool
	local    map[types.Object]bool // declared in the function
	escaped  map[types.Object]bool // used otherwise than to call a method
	submits  bool
}

func (u *unit) checkPins(fn *ast.FuncDecl) {
	p := u.findPins(fn)
	for _, call := range p.calls {
		arg := call.Args[0]
		if t := u.info.TypeOf(arg); t != nil && !isPinnable(t) {
			u.reportf(arg.Pos(), catPinner, clauseCgoRules,
				"Pin of a %s panics: pin the address of its first element, or copy into a Buffer",
				types.TypeString(t, u.qualifier))
		}
		if p.submits {
			u.reportf(call.Pos(), catPinner, clauseInputCopied,
				"a pin does not last as long as the job that this function submits: the input is copied, "+
					"so nothing needs pinning, and what the engine reads in place belongs in a Buffer")
		}
		o := pinnerOf(u.info, call)
		if o != nil && p.local[o] && !p.unpinned[o] && !p.escaped[o] {
			u.reportf(call.Pos(), catPinner, clauseCgoRules,
				"%s is never unpinned and the collector will panic: add `defer %s.Unpin()`", o.Name(), o.Name())
			p.unpinned[o] = true // one report for each pinner
		}
	}
}

// pinsIn reports whether the declaration pins anything.
func (u *unit) pinsIn(decl ast.Decl) bool {
	found := false
	ast.Inspect(decl, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			found = found || isMethod(u.callee(call), "runtime", "Pinner", "Pin")
		}
		return !found
	})
	return found
}

// isPinnable reports whether Pin may accept a value of type t.
func isPinnable(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Pointer, *types.Interface:
		return true
	case *types.Basic:
		return t.Kind() == types.UnsafePointer || t.Kind() == types.Invalid
	}
	return false
}

func pinnerOf(info *types.Info, call *ast.CallExpr) types.Object {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if id, ok := ast.Unparen(sel.X).(*ast.Ident); ok {
			return info.ObjectOf(id)
		}
	}
	return nil
}

func (u *unit) findPins(fn *ast.FuncDecl) *pins {
	p := &pins{unpinned: map[types.Object]bool{}, local: map[types.Object]bool{},
		escaped: map[types.Object]bool{}}
	receivers := map[*ast.Ident]bool{}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok {
				receivers[id] = true
			}
		case *ast.CallExpr:
			u.notePinCall(p, n)
		case *ast.Ident:
			o, ok := u.info.ObjectOf(n).(*types.Var)
			if !ok || !isPinner(o.Type()) {
				break
			}
			if u.info.Defs[n] != nil {
				_, pointer := o.Type().Underlying().(*types.Pointer)
				p.local[o] = p.local[o] || !pointer
			} else if !receivers[n] {
				p.escaped[o] = true
			}
		}
		return true
	})
	return p
}

func isPinner(t types.Type) bool {
	named, ok := types.Unalias(deref(t)).(*types.Named)
	return ok && named.Obj().Name() == "Pinner" && pathOf(named.Obj()) == "runtime"
}

func (u *unit) notePinCall(p *pins, call *ast.CallExpr) {
	f := u.callee(call)
	switch {
	case isMethod(f, "runtime", "Pinner", "Pin") && len(call.Args) == 1:
		p.calls = append(p.calls, call)
	case isMethod(f, "runtime", "Pinner", "Unpin"):
		if o := pinnerOf(u.info, call); o != nil {
			p.unpinned[o] = true
		}
	case u.ccall(call) == "gusset_submit", isMethod(f, hostPackage, "Handle", "Submit"):
		p.submits = true
	}
}
