// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// flow says which expressions of a package may hold addresses of one kind. It
// follows variables, fields, arguments and results through the package, in no
// order and without regard to which instance a field belongs to.
type flow struct {
	u       *unit
	source  func(ast.Expr) bool // where such addresses come from
	objects map[types.Object]bool
	results map[result]bool
	changed bool
}

// result is one result of a function of the package.
type result struct {
	function types.Object
	index    int
}

func newFlow(u *unit, source func(ast.Expr) bool) *flow {
	return &flow{u: u, source: source, objects: map[types.Object]bool{},
		results: map[result]bool{}}
}

// solve follows the addresses until nothing new is found.
func (f *flow) solve() {
	for f.changed = true; f.changed; {
		f.changed = false
		for _, src := range f.u.sources {
			for _, decl := range src.file.Decls {
				f.visit(decl)
			}
		}
	}
}

func (f *flow) visit(decl ast.Decl) {
	var function types.Object
	if fn, ok := decl.(*ast.FuncDecl); ok {
		function = f.u.info.Defs[fn.Name]
	}
	var inspect func(n ast.Node) bool
	inspect = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			// Its return statements are not those of the declaration.
			outer := function
			function = nil
			ast.Inspect(n.Body, inspect)
			function = outer
			return false
		case *ast.AssignStmt:
			f.assign(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			lhs := make([]ast.Expr, len(n.Names))
			for i, name := range n.Names {
				lhs[i] = name
			}
			f.assign(lhs, n.Values)
		case *ast.CompositeLit:
			f.composite(n)
		case *ast.CallExpr:
			f.arguments(n)
		case *ast.ReturnStmt:
			f.returned(function, n)
		}
		return true
	}
	ast.Inspect(decl, inspect)
}

func (f *flow) assign(lhs, rhs []ast.Expr) {
	if len(lhs) == len(rhs) {
		for i := range lhs {
			if f.holds(rhs[i]) {
				f.mark(lhs[i])
			}
		}
		return
	}
	if len(rhs) != 1 {
		return
	}
	if call, ok := ast.Unparen(rhs[0]).(*ast.CallExpr); ok {
		for i := range lhs {
			if f.holdsResult(call, i) {
				f.mark(lhs[i])
			}
		}
	}
}

func (f *flow) composite(lit *ast.CompositeLit) {
	t := f.u.info.TypeOf(lit)
	if t == nil {
		return
	}
	s, ok := deref(t).Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, elt := range lit.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok && f.holds(kv.Value) {
				f.markObject(f.u.info.Uses[key])
			}
		} else if i < s.NumFields() && f.holds(elt) {
			f.markObject(s.Field(i))
		}
	}
}

func (f *flow) arguments(call *ast.CallExpr) {
	fn := f.u.callee(call)
	if fn == nil || f.u.pass.Pkg.Path() != pathOf(fn) {
		return
	}
	params := fn.Signature().Params()
	for i, arg := range call.Args {
		if i < params.Len() && f.holds(arg) {
			f.markObject(params.At(i))
		}
	}
}

func pathOf(o types.Object) string {
	if o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Path()
}

func (f *flow) returned(function types.Object, ret *ast.ReturnStmt) {
	if function == nil {
		return
	}
	for i, e := range ret.Results {
		if r := (result{function, i}); f.holds(e) && !f.results[r] {
			f.results[r], f.changed = true, true
		}
	}
}

// mark notes that the variable or field that e names may hold an address.
func (f *flow) mark(e ast.Expr) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		f.markObject(f.u.info.ObjectOf(e))
	case *ast.SelectorExpr:
		f.markObject(f.u.info.ObjectOf(e.Sel))
	case *ast.IndexExpr:
		// An element stands for its array, not for the memory of a slice.
		if t := f.u.info.TypeOf(e.X); t != nil {
			if _, ok := t.Underlying().(*types.Array); ok {
				f.mark(e.X)
			}
		}
	}
}

func (f *flow) markObject(o types.Object) {
	if o == nil || o.Name() == "_" || f.objects[o] {
		return
	}
	switch o.Type().Underlying().(type) {
	case *types.Signature, *types.Interface, *types.Chan, *types.Map:
		return
	}
	if b, ok := o.Type().Underlying().(*types.Basic); ok &&
		b.Info()&(types.IsString|types.IsBoolean) != 0 {
		return
	}
	f.objects[o], f.changed = true, true
}

// holds reports whether e may be such an address.
func (f *flow) holds(e ast.Expr) bool {
	e = ast.Unparen(e)
	if f.source(e) {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident:
		return f.objects[f.u.info.ObjectOf(e)]
	case *ast.SelectorExpr:
		return f.objects[f.u.info.ObjectOf(e.Sel)]
	case *ast.SliceExpr:
		return f.holds(e.X)
	case *ast.IndexExpr:
		t := f.u.info.TypeOf(e.X)
		if t == nil {
			return false
		}
		_, array := t.Underlying().(*types.Array)
		return array && f.holds(e.X)
	case *ast.BinaryExpr:
		return (e.Op == token.ADD || e.Op == token.SUB || e.Op == token.OR) &&
			!isString(f.u.info.TypeOf(e)) && (f.holds(e.X) || f.holds(e.Y))
	case *ast.UnaryExpr:
		return e.Op == token.AND && f.holdsPlace(e.X)
	case *ast.CallExpr:
		return f.holdsResult(e, 0)
	}
	return false
}

// holdsPlace reports whether e lies in memory at such an address.
func (f *flow) holdsPlace(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return f.holds(e.X)
	case *ast.IndexExpr:
		t := f.u.info.TypeOf(e.X)
		if t == nil {
			return false
		}
		if _, ok := t.Underlying().(*types.Array); ok {
			return f.holdsPlace(e.X)
		}
		return f.holds(e.X)
	case *ast.SelectorExpr:
		t := f.u.info.TypeOf(e.X)
		if t == nil {
			return false
		}
		if _, ok := t.Underlying().(*types.Pointer); ok {
			return f.holds(e.X)
		}
		return f.holdsPlace(e.X)
	}
	return false
}

// holdsResult reports whether result i of the call may be such an address.
func (f *flow) holdsResult(call *ast.CallExpr, i int) bool {
	info := f.u.info
	if tv, ok := info.Types[call.Fun]; ok && tv.IsType() {
		return len(call.Args) == 1 && keepsAddress(info, tv.Type, call.Args[0]) &&
			f.holds(call.Args[0])
	}
	if b := builtinName(info, call); b != "" {
		switch b {
		case "append", "Slice", "SliceData", "Add", "String", "StringData":
			return len(call.Args) > 0 && f.holds(call.Args[0])
		}
		return false
	}
	fn := f.u.callee(call)
	if fn == nil {
		return false
	}
	if f.results[result{fn, i}] {
		return true
	}
	results := fn.Signature().Results()
	return i < results.Len() && f.objects[results.At(i)]
}

// keepsAddress reports whether a conversion of arg to t is the same address,
// not a copy of the bytes.
func keepsAddress(info *types.Info, t types.Type, arg ast.Expr) bool {
	from := info.TypeOf(arg)
	if from == nil {
		return false
	}
	return isString(t) == isString(from)
}

func isString(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// builtinName is the name of the built-in function, unsafe's included, that
// the call calls.
func builtinName(info *types.Info, call *ast.CallExpr) string {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return ""
	}
	if b, ok := info.Uses[id].(*types.Builtin); ok {
		return b.Name()
	}
	return ""
}

// deref is the type that t points to, or t.
func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
