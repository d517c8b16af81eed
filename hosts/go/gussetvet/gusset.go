// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// hostPackage is the Go package over the ABI, whose callers have duties too.
const hostPackage = "gusset.dev/go"

var headers = map[string]bool{"gusset.h": true, "gusset_engine.h": true}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// isABI reports whether name is one of the ABI's functions.
func isABI(name string) bool { return strings.HasPrefix(name, "gusset_") }

// isNative reports whether name is a function of the library: of the ABI, or
// of the engine side.
func isNative(name string) bool { return isABI(name) || strings.HasPrefix(name, "gse_") }

// findFunctions collects what the package's own C code defines.
func (u *unit) findFunctions() {
	u.functions = cfunctions{}
	for _, src := range u.sources {
		for _, p := range src.preambles {
			u.functions.add(p)
		}
	}
	for _, t := range u.texts {
		if t.isC() {
			u.functions.add(t.ctext())
		}
	}
}

// findGusset marks the files that use the ABI: through an include, direct or
// by a header of the package, or through a C.gusset_ name.
func (u *unit) findGusset() {
	reach := map[string]bool{}
	maps.Copy(reach, headers)
	for again := true; again; {
		again = false
		for _, t := range u.texts {
			base := filepath.Base(t.path)
			if !reach[base] && t.isC() && includesAny(t.ctext(), reach) {
				reach[base], again = true, true
			}
		}
	}
	for _, src := range u.sources {
		for _, p := range src.preambles {
			src.gusset = src.gusset || includesAny(p, reach)
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && isNative(u.cnames[id].name) {
				src.gusset = true
			}
			return true
		})
	}
}

func includesAny(t ctext, names map[string]bool) bool {
	return slices.ContainsFunc(t.includes(), func(s string) bool { return names[s] })
}

// usesABI reports whether the package has C code that knows the ABI.
func (u *unit) usesABI() bool {
	if slices.ContainsFunc(u.sources, func(s *source) bool { return s.gusset }) {
		return true
	}
	return slices.ContainsFunc(u.texts, func(t *text) bool {
		return t.isC() && includesAny(t.ctext(), headers)
	})
}

// usesGusset reports whether the package uses the ABI or the Go package.
func (u *unit) usesGusset() bool {
	return u.usesABI() || slices.ContainsFunc(u.pass.Pkg.Imports(),
		func(p *types.Package) bool { return p.Path() == hostPackage })
}

// eachCall calls f for each call of the package's Go files.
func (u *unit) eachCall(f func(*source, *ast.CallExpr)) {
	for _, src := range u.sources {
		ast.Inspect(src.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				f(src, call)
			}
			return true
		})
	}
}

// callee is the declared function or method that the call calls, or nil.
func (u *unit) callee(call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	f, _ := u.info.Uses[id].(*types.Func)
	return f
}

// qualifier leaves the package's own name off its types.
func (u *unit) qualifier(p *types.Package) string {
	if p.Path() == u.pass.Pkg.Path() {
		return ""
	}
	return p.Name()
}

// isMethod reports whether f is the named method of a type of a package.
func isMethod(f *types.Func, pkg, typ, name string) bool {
	if f == nil || f.Name() != name || f.Pkg() == nil || f.Pkg().Path() != pkg {
		return false
	}
	recv := f.Signature().Recv()
	if recv == nil {
		return false
	}
	t := recv.Type()
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == typ
}

// isFunction reports whether f is the named function of a package.
func isFunction(f *types.Func, pkg, name string) bool {
	return f != nil && f.Name() == name && f.Pkg() != nil && f.Pkg().Path() == pkg &&
		f.Signature().Recv() == nil
}
