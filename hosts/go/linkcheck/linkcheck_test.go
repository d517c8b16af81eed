// SPDX-License-Identifier: MIT OR Apache-2.0

package linkcheck

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gusset "gusset.dev/go"
)

// library is the file that the build linked: the shared library if the -L
// directory has one, as the linker prefers it.
func library(t *testing.T) string {
	_ = gusset.Stats()
	for _, flag := range strings.Fields(os.Getenv("CGO_LDFLAGS")) {
		dir, ok := strings.CutPrefix(flag, "-L")
		if !ok {
			continue
		}
		for _, name := range []string{"libgusset.so", "libgusset.a"} {
			if path := filepath.Join(dir, name); exists(path) {
				return path
			}
		}
	}
	t.Skip("CGO_LDFLAGS names no directory with the library")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestThisProgramIsFresh(t *testing.T) {
	if err := Check(library(t)); err != nil {
		t.Error(err)
	}
}

// altered is a copy of a library with one byte changed.
func altered(t *testing.T, data []byte, at int) string {
	t.Helper()
	data = bytes.Clone(data)
	data[at] ^= 0x10
	path := filepath.Join(t.TempDir(), "libgusset.changed")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnotherLibraryIsNoticed(t *testing.T) {
	path := library(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".so") {
		id, err := buildID(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		err = Check(altered(t, data, bytes.Index(data, id)))
		if err == nil || !strings.Contains(err.Error(), "the program runs") {
			t.Errorf("another build id: %v", err)
		}
		return
	}
	members, err := readArchive(data)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, m := range linked(members) {
		functions, err := m.functions()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range functions {
			if f.name != "gusset_submit" && f.name != "gst__queue_pop" {
				continue
			}
			start, _ := f.anchor()
			err := Check(altered(t, data, bytes.Index(data, f.code)+start))
			if err == nil || !strings.Contains(err.Error(), f.name) {
				t.Errorf("%s changed: %v", f.name, err)
			}
			changed++
		}
	}
	if changed == 0 {
		t.Error("no function to change")
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"text":    "hello",
		"empty":   "",
		"no code": archiveMagic,
		"broken":  archiveMagic + strings.Repeat("x", 60),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Check(path); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := Check(filepath.Join(dir, "absent")); err == nil {
		t.Error("an absent file: taken")
	}
}
