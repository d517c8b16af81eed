// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// libcFree are the functions of the C library that give memory back.
var libcFree = map[string]bool{
	"free": true, "cfree": true, "realloc": true, "reallocarray": true,
	"free_sized": true, "free_aligned_sized": true,
}

func isFree(name string) bool { return libcFree[name] }

// outPointers are the parameters through which the library hands out memory
// of its own.
var outPointers = map[string][]int{
	"gusset_take":        {3},
	"gusset_buf_alloc":   {3},
	"gusset_handle_open": {2},
	"gusset_handle_ring": {1, 2, 3},
}

// libraryMemory follows the memory that the library hands out: results,
// buffers, messages, handles, rings.
func (u *unit) libraryMemory() *flow {
	f := newFlow(u, u.isLibraryMemory)
	u.eachCall(func(_ *source, call *ast.CallExpr) {
		for _, i := range outPointers[u.ccall(call)] {
			if i >= len(call.Args) {
				continue
			}
			if addr, ok := u.unconverted(call.Args[i]).(*ast.UnaryExpr); ok && addr.Op == token.AND {
				f.mark(addr.X)
			}
		}
	})
	f.solve()
	return f
}

// isLibraryMemory reports whether e is memory of the library whatever stands
// around it: a status's texts and the bytes of a Buffer.
func (u *unit) isLibraryMemory(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		name := e.Sel.Name
		return (name == "msg" || name == "file") &&
			u.isCStruct(u.info.TypeOf(e.X), "FfiStatus")
	case *ast.CallExpr:
		return isMethod(u.callee(e), hostPackage, "Buffer", "Bytes")
	}
	return false
}

// isCStruct reports whether t is C.name or a pointer to it.
func (u *unit) isCStruct(t types.Type, name string) bool {
	got, ok := cStructName(t)
	return ok && got == "_Ctype_struct_"+name
}

func cStructName(t types.Type) (string, bool) {
	if t == nil {
		return "", false
	}
	named, ok := types.Unalias(deref(t)).(*types.Named)
	if !ok || !isCType(named) {
		return "", false
	}
	return named.Obj().Name(), true
}

// unconverted is e without the conversions and parentheses around it.
func (u *unit) unconverted(e ast.Expr) ast.Expr {
	for {
		e = ast.Unparen(e)
		call, ok := e.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return e
		}
		if tv, ok := u.info.Types[call.Fun]; !ok || !tv.IsType() {
			return e
		}
		e = call.Args[0]
	}
}

// checkFree reports memory of the library that goes to the C library's
// allocator, and every C.free in a file that uses the ABI.
func checkFree(u *unit) {
	if len(u.cnames) == 0 {
		return
	}
	reported := map[token.Pos]bool{}
	memory := u.libraryMemory()
	u.eachCall(func(_ *source, call *ast.CallExpr) {
		name := u.ccall(call)
		freed := isFree(name)
		if !freed && !isNative(name) {
			_, freed = u.functions.reaches(name, isFree)
		}
		if !freed {
			return
		}
		for _, arg := range call.Args {
			if memory.holds(arg) {
				reported[call.Pos()] = true
				u.reportf(call.Pos(), catFree, clauseNoLibcFree,
					"C.%s frees memory of the library: give it back with gusset_buf_free, gusset_status_free, "+
						"gusset_ring_release or gusset_handle_close, whichever ends what it came from", name)
				return
			}
		}
	})
	for _, src := range u.sources {
		if src.gusset {
			u.checkFreeInFile(src, reported)
		}
	}
}

// checkFreeInFile reports every mention of C.free in a file, in Go or in its
// preamble, that is not reported yet.
func (u *unit) checkFreeInFile(src *source, reported map[token.Pos]bool) {
	ast.Inspect(src.file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if ok && isFree(u.cnames[id].name) && !reported[id.Pos()] {
			u.reportf(id.Pos(), catFree, clauseCgoRules,
				"C.%s in a file that uses gusset.h: free memory of the C library "+
					"in a file that does not include gusset.h", u.cnames[id].name)
		}
		return true
	})
	for _, p := range src.preambles {
		functions := cfunctions{}
		functions.add(p)
		for _, name := range sortedKeys(functions) {
			for _, callee := range sortedKeys(functions[name].calls) {
				if isFree(callee) {
					u.reportf(functions[name].calls[callee], catFree, clauseCgoRules,
						"%s calls %s in a preamble that includes gusset.h: free memory of the C library "+
							"in a file that does not include gusset.h", name, callee)
				}
			}
		}
	}
}
