// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// The library copies header and input before gusset_submit returns, and keeps
// nothing else. So an address of Go memory may be an argument; it must not be
// part of what is copied, nor be left where it outlives the call.

// checkPointers reports Go pointers that outlive a call of the library.
func checkPointers(u *unit) {
	if !u.usesGusset() {
		return
	}
	p := &pointerCheck{u: u, library: u.libraryMemory()}
	p.golang = newFlow(u, p.isGoMemory)
	p.golang.solve()
	p.embedded = newFlow(u, p.isPointerView)
	p.embedded.solve()
	p.integer = newFlow(u, p.isAddressNumber)
	p.integer.solve()
	u.eachCall(p.call)
	for _, src := range u.sources {
		for _, decl := range src.file.Decls {
			p.pinned = u.pinsIn(decl)
			ast.Inspect(decl, p.stores)
		}
	}
}

// stores looks at what a node stores in C structs.
func (p *pointerCheck) stores(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			for i := range n.Lhs {
				p.store(n.Lhs[i], n.Rhs[i])
			}
		}
	case *ast.CompositeLit:
		p.literal(n)
	}
	return true
}

type pointerCheck struct {
	u        *unit
	library  *flow // memory of the library
	golang   *flow // memory of Go
	embedded *flow // Go memory that holds Go pointers, seen as bytes
	integer  *flow // numbers that were Go pointers or handles
	pinned   bool  // the declaration at hand pins what it stores
}

// isGoMemory reports whether e is the address of Go memory whatever stands
// around it.
func (p *pointerCheck) isGoMemory(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return e.Op == token.AND && p.isGoPlace(e.X)
	case *ast.CompositeLit:
		return isSlice(p.u.info.TypeOf(e))
	case *ast.CallExpr:
		switch builtinName(p.u.info, e) {
		case "new":
			return true
		case "make", "append":
			return isSlice(p.u.info.TypeOf(e)) && !p.library.holds(e)
		case "SliceData", "StringData":
			return !p.library.holds(e)
		}
	}
	return false
}

func isSlice(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// isGoPlace reports whether the variable that e names lies in Go memory: not
// behind a pointer that C or the library may have made.
func (p *pointerCheck) isGoPlace(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return true
	case *ast.Ident:
		_, ok := p.u.info.ObjectOf(e).(*types.Var)
		return ok && !strings.HasPrefix(e.Name, "_Cvar_")
	case *ast.SelectorExpr:
		t := p.u.info.TypeOf(e.X)
		if t == nil {
			return false
		}
		if _, ok := t.Underlying().(*types.Pointer); ok {
			return !isCType(deref(t)) && !p.library.holds(e.X)
		}
		return p.isGoPlace(e.X)
	case *ast.IndexExpr:
		t := p.u.info.TypeOf(e.X)
		if t == nil {
			return false
		}
		switch t.Underlying().(type) {
		case *types.Slice:
			return !p.library.holds(e.X)
		case *types.Array:
			return p.isGoPlace(e.X)
		}
	}
	return false
}

// isPointerView reports whether e is a conversion that hides the type of Go
// memory which holds pointers or handles.
func (p *pointerCheck) isPointerView(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !isUnsafePointer(p.u.info.TypeOf(call)) {
		return false
	}
	t := p.u.info.TypeOf(call.Args[0])
	if t == nil {
		return false
	}
	ptr, ok := t.Underlying().(*types.Pointer)
	return ok && (hasGoPointer(ptr.Elem()) || hasHandle(ptr.Elem()))
}

// isAddressNumber reports whether e is a number made of a Go pointer or of a
// handle of runtime/cgo.
func (p *pointerCheck) isAddressNumber(e ast.Expr) bool {
	t := p.u.info.TypeOf(e)
	if t == nil {
		return false
	}
	if isHandle(t) {
		return true
	}
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Uintptr && isUnsafePointer(p.u.info.TypeOf(call.Args[0])) &&
		p.golang.holds(call.Args[0])
}

// inputs are the parameters whose bytes the library copies for the engine, or
// fills.
var inputs = map[string][]int{"gusset_submit": {1, 2}, "gusset_drain_logs": {0}}

// registered are the parameters that the library keeps for its handlers.
var registered = map[string]int{"gse_register_global": 1, "gse_register_opcode": 2}

const copyAdvice = "encode what the engine needs as bytes, or fill a Buffer"

func (p *pointerCheck) call(_ *source, call *ast.CallExpr) {
	name := p.u.ccall(call)
	for _, i := range inputs[name] {
		if i < len(call.Args) && p.embedded.holds(call.Args[i]) {
			p.u.reportf(call.Args[i].Pos(), catPointer, clauseInputCopied,
				"C.%s copies memory that holds Go pointers or handles, and the copy outlives the call: %s",
				name, copyAdvice)
		}
	}
	if isABI(name) {
		for _, arg := range call.Args {
			if p.integer.holds(arg) {
				p.u.reportf(arg.Pos(), catPointer, clauseCgoRules,
					"C.%s gets a Go address or a callback handle as a number, which outlives the call: %s",
					name, copyAdvice)
			}
		}
	}
	if i, ok := registered[name]; ok && i < len(call.Args) &&
		(p.golang.holds(call.Args[i]) || p.integer.holds(call.Args[i])) {
		p.u.reportf(call.Args[i].Pos(), catPointer, clauseCgoRules,
			"C.%s keeps a Go pointer or a callback handle for its handler: pass C memory or nil", name)
	}
	p.hostCall(call)
	p.encode(call)
	p.view(call)
}

// hostCall looks at input that goes through package gusset.
func (p *pointerCheck) hostCall(call *ast.CallExpr) {
	fn := p.u.callee(call)
	for _, name := range []string{"Call", "Submit"} {
		if isMethod(fn, hostPackage, "Handle", name) && len(call.Args) > 1 &&
			p.embedded.holds(call.Args[1]) {
			p.u.reportf(call.Args[1].Pos(), catPointer, clauseInputCopied,
				"%s copies memory that holds Go pointers or handles, and the copy outlives the call: %s",
				name, copyAdvice)
		}
	}
}

var encoders = map[string]bool{
	"PutUint64": true, "PutUint32": true, "AppendUint64": true, "AppendUint32": true,
	"PutUvarint": true, "AppendUvarint": true,
}

// encode looks for a Go address or handle that is written into bytes.
func (p *pointerCheck) encode(call *ast.CallExpr) {
	fn := p.u.callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "encoding/binary" ||
		!encoders[fn.Name()] || len(call.Args) < 2 {
		return
	}
	if p.integer.holds(call.Args[1]) {
		p.u.reportf(call.Args[1].Pos(), catPointer, clauseCgoRules,
			"a Go address or a callback handle is written into bytes for the library: %s", copyAdvice)
	}
}

// view looks for memory of the library that is seen as a type with Go
// pointers.
func (p *pointerCheck) view(call *ast.CallExpr) {
	tv, ok := p.u.info.Types[call.Fun]
	if !ok || !tv.IsType() || len(call.Args) != 1 || !p.library.holds(call.Args[0]) {
		return
	}
	ptr, ok := tv.Type.Underlying().(*types.Pointer)
	if ok && hasGoPointer(ptr.Elem()) {
		p.u.reportf(call.Pos(), catPointer, clauseCgoRules,
			"memory of the library is used as %s, which holds Go pointers that the collector does not see there: "+
				"keep plain bytes in it", types.TypeString(ptr.Elem(), p.u.qualifier))
	}
}

// store looks at a Go pointer that is left in a C struct.
func (p *pointerCheck) store(lhs, rhs ast.Expr) {
	sel, ok := ast.Unparen(lhs).(*ast.SelectorExpr)
	if !ok {
		return
	}
	owner, ok := cStructName(p.u.info.TypeOf(sel.X))
	if !ok {
		return
	}
	outlives := owner == "_Ctype_struct_FfiStatus" || p.outlives(sel.X)
	p.field(lhs.Pos(), owner, sel.Sel.Name, rhs, outlives)
}

// literal looks at the fields of a composite literal of a C struct.
func (p *pointerCheck) literal(lit *ast.CompositeLit) {
	owner, ok := cStructName(p.u.info.TypeOf(lit))
	if !ok {
		return
	}
	s, ok := p.u.info.TypeOf(lit).Underlying().(*types.Struct)
	if !ok {
		return
	}
	status := owner == "_Ctype_struct_FfiStatus"
	for i, elt := range lit.Elts {
		if kv, ok := elt.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				p.field(kv.Pos(), owner, key.Name, kv.Value, status)
			}
		} else if i < s.NumFields() {
			p.field(elt.Pos(), owner, s.Field(i).Name(), elt, status)
		}
	}
}

func (p *pointerCheck) field(pos token.Pos, owner, field string, value ast.Expr, outlives bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(owner, "_Ctype_struct_"), "_Ctype_")
	switch {
	case outlives && p.golang.holds(value) && !p.library.holds(value):
		if name == "FfiStatus" {
			p.u.reportf(pos, catPointer, clauseStatusOwned,
				"FfiStatus.%s is set to Go memory, but it is the library's, for gusset_status_free: "+
					"pass a zeroed FfiStatus", field)
			return
		}
		if p.pinned {
			return // cgo allows it, and other libraries need it.
		}
		p.u.reportf(pos, catPointer, clauseCgoRules,
			"a Go pointer is stored in field %s of C struct %s, which outlives the call: "+
				"pass the address as an argument, store C memory, or pin it", field, name)
	case name == "CallHeader" && p.integer.holds(value):
		p.u.reportf(pos, catPointer, clauseCgoRules,
			"CallHeader.%s is set to a Go address or a callback handle, which outlives the call: %s",
			field, copyAdvice)
	}
}

// outlives reports whether the struct that e names may be there after the
// function has returned: it is behind a pointer, or a package's variable.
func (p *pointerCheck) outlives(e ast.Expr) bool {
	t := p.u.info.TypeOf(e)
	if t == nil {
		return false
	}
	if _, ok := t.Underlying().(*types.Pointer); ok {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o := p.u.info.ObjectOf(e)
		return o != nil && o.Parent() != nil && o.Pkg() != nil && o.Parent() == o.Pkg().Scope()
	case *ast.SelectorExpr:
		return p.outlives(e.X)
	case *ast.IndexExpr:
		return isSlice(p.u.info.TypeOf(e.X)) || p.outlives(e.X)
	case *ast.StarExpr:
		return true
	}
	return false
}
