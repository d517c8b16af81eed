// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/token"
	"reflect"
	"testing"
)

func TestFunctionsOfC(t *testing.T) {
	const src = `
#include <stdlib.h>
#define WRONG(x) wrong(x)
#define LONG(x) \
	wrong(x)
/* wrong() { free(0); } */
struct own { void *p; };
static const struct own table[] = { { call(1) } };
extern int declared(void *);
extern "C" {
static inline __attribute__((noinline)) void drop(void *p) {
	if (p) { free(p); } // wrong()
	puts("wrong() { \" }");
}
int (nothing);
}
int *twice(struct own *o) __attribute__((unused))
{
	drop(o->p); drop(o);
	return sizeof(o) ? NULL : 0;
}
`
	fs := cfunctions{}
	fs.add(ctext{src, []cpart{{0, token.Pos(1)}}})
	got := map[string][]string{}
	for name, f := range fs {
		got[name] = sortedKeys(f.calls)
	}
	want := map[string][]string{
		"drop":  {"free", "if", "puts"},
		"twice": {"drop", "sizeof"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if via, ok := fs.reaches("twice", isFree); !ok || via != "free" {
		t.Errorf("twice reaches %q, %v", via, ok)
	}
	if via, ok := fs.reaches("drop", isABI); ok {
		t.Errorf("drop reaches %q", via)
	}
}

// Text that is no C must not keep the scanner from its end.
func FuzzFunctionsOfC(f *testing.F) {
	for _, s := range []string{"", "{", "}", "f(){", "\"", "'\\", "/*", "#\\\n", "f(\x80){g();}", "extern \"C\" {"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fs := cfunctions{}
		fs.add(ctext{s, []cpart{{0, 1}}})
		for name := range fs {
			fs.reaches(name, isFree)
		}
	})
}
