// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/types"
	"strings"
)

// isCType reports whether cgo made the type of one in C. What such a type
// points to is C memory as far as types tell.
func isCType(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t := t.(type) {
	case *types.Alias:
		return strings.HasPrefix(t.Obj().Name(), "_Ctype_") || isCType(types.Unalias(t))
	case *types.Named:
		return strings.HasPrefix(t.Obj().Name(), "_Ctype_")
	}
	return false
}

func isUnsafePointer(t types.Type) bool {
	return t != nil && t.Underlying() == types.Typ[types.UnsafePointer]
}

// isHandle reports whether t is runtime/cgo.Handle.
func isHandle(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Handle" && pathOf(named.Obj()) == "runtime/cgo"
}

// hasGoPointer reports whether memory of type t holds Go pointers. An
// unsafe.Pointer may be either, so it does not count.
func hasGoPointer(t types.Type) bool {
	return containsType(t, map[types.Type]bool{}, func(t types.Type) bool {
		switch t := t.Underlying().(type) {
		case *types.Pointer:
			return !isCType(t.Elem()) && !isUnsafePointer(t.Elem())
		case *types.Basic:
			return t.Info()&types.IsString != 0
		case *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
			return true
		}
		return false
	})
}

// hasHandle reports whether memory of type t holds a handle of runtime/cgo.
func hasHandle(t types.Type) bool {
	return containsType(t, map[types.Type]bool{}, isHandle)
}

// containsType reports whether wanted holds for t or for a part of it.
func containsType(t types.Type, seen map[types.Type]bool, wanted func(types.Type) bool) bool {
	if t == nil || seen[t] || isCType(t) {
		return false
	}
	seen[t] = true
	if _, ok := t.(*types.TypeParam); ok {
		return false
	}
	if wanted(t) {
		return true
	}
	switch t := t.Underlying().(type) {
	case *types.Array:
		return containsType(t.Elem(), seen, wanted)
	case *types.Struct:
		for field := range t.Fields() {
			if containsType(field.Type(), seen, wanted) {
				return true
			}
		}
	}
	return false
}
