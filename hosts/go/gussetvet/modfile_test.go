// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"reflect"
	"testing"
)

func TestGodebugLines(t *testing.T) {
	const mod = `module example.com/m

godebug a=1 // b=2
godebug(
	c=3
	"d=4"

	// e=5
)
godebug
godebug (
)
require example.com/f v1.0.0
f=6
`
	want := []godebugLine{{3, "a=1"}, {5, "c=3"}, {6, "d=4"}}
	if got := godebugLines(mod); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
