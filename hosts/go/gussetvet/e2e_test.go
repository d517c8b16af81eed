// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"
)

var buildTool = sync.OnceValues(func() (string, error) {
	tool := filepath.Join(scratch, "gussetvet")
	out, err := exec.Command("go", "build", "-o", tool, "./cmd/gussetvet").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return tool, nil
})

// tool is the command, built once.
func tool(t *testing.T) string {
	t.Helper()
	path, err := buildTool()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// runIn runs a command in dir and returns its output and exit code.
func runIn(t *testing.T, dir string, env []string, name string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "GO111MODULE=on")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(out), exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// script is one module of testdata/e2e: the lines above its files say how it
// is run, and its file `want` has the findings.
type script struct {
	dir       string
	exit      string // of go vet
	errorText string
	packages  []string
	env       []string
	want      []string
	vetOnly   bool
}

func readScript(t *testing.T, path string) *script {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	host, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{dir: t.TempDir(), packages: []string{"./..."}}
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "exit":
			s.exit = value
		case "error":
			s.errorText = value
		case "vet":
			s.packages = strings.Fields(value)
		case "vet-only":
			s.vetOnly = true
		case "env":
			s.env = strings.Fields(value)
		}
	}
	for _, f := range archive.Files {
		if f.Name == "want" {
			s.want = strings.FieldsFunc(string(f.Data), func(r rune) bool { return r == '\n' })
			continue
		}
		path := filepath.Join(s.dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		data := bytes.ReplaceAll(f.Data, []byte("$HOST"), []byte(host))
		data = bytes.ReplaceAll(data, []byte("$DIR"), []byte(s.dir))
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var findingLine = regexp.MustCompile(`(?m)^(\S+:\d+:\d+: .*) \(\w+\)$`)

// check compares the findings in the output with the wanted ones, each given
// by its beginning and its category.
func (s *script) check(t *testing.T, out string) {
	t.Helper()
	found := findingLine.FindAllString(out, -1)
	for i, line := range found {
		line = strings.TrimPrefix(line, s.dir+string(filepath.Separator))
		found[i] = strings.TrimPrefix(line, "./")
	}
	for _, want := range s.want {
		i := strings.LastIndex(want, " (")
		n := slices.IndexFunc(found, func(line string) bool {
			return strings.HasPrefix(line, want[:i]) && strings.HasSuffix(line, want[i:])
		})
		if n < 0 {
			t.Errorf("not found: %s", want)
			continue
		}
		found = slices.Delete(found, n, n+1)
	}
	for _, line := range found {
		t.Errorf("not wanted: %s", line)
	}
	if !strings.Contains(out, s.errorText) {
		t.Errorf("the output lacks %q", s.errorText)
	}
	if t.Failed() {
		t.Logf("output in %s:\n%s", s.dir, out)
	}
}

func TestEndToEnd(t *testing.T) {
	paths, err := filepath.Glob("testdata/e2e/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no scripts: ", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name+"/vet", func(t *testing.T) {
			s := readScript(t, path)
			args := append([]string{"vet", "-vettool=" + tool(t)}, s.packages...)
			out, code := runIn(t, s.dir, s.env, "go", args...)
			if fmt.Sprint(code) != s.exit {
				t.Errorf("go vet exits with %d, not %s", code, s.exit)
			}
			s.check(t, out)
		})
		if readScript(t, path).vetOnly {
			continue
		}
		t.Run(name+"/standalone", func(t *testing.T) {
			s := readScript(t, path)
			out, code := runIn(t, s.dir, s.env, tool(t), s.packages...)
			if want := s.standaloneExit(); code != want {
				t.Errorf("gussetvet exits with %d, not %d", code, want)
			}
			s.check(t, out)
		})
	}
}

// standaloneExit is the exit code outside of the go command, which tells
// findings from packages that do not load.
func (s *script) standaloneExit() int {
	switch {
	case s.exit == "0":
		return 0
	case len(s.want) > 0:
		return 3
	}
	return 1
}

// Under -trimpath the go command takes what cgo made of the same text in
// another directory, here one that is gone.
func TestTrimpathAfterMove(t *testing.T) {
	s := readScript(t, "testdata/e2e/trimpath.txt")
	for _, args := range [][]string{{"vet", "./..."}, {"list", "-compiled", "./..."}} {
		if out, code := runIn(t, s.dir, s.env, "go", args...); code != 0 {
			t.Fatalf("go %v: exit %d: %s", args, code, out)
		}
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(s.dir, moved); err != nil {
		t.Fatal(err)
	}
	s.dir = moved
	out, code := runIn(t, s.dir, s.env, "go", "vet", "-vettool="+tool(t), "./...")
	if code != 1 {
		t.Errorf("go vet exits with %d, not 1", code)
	}
	s.check(t, out)
	if out, code = runIn(t, s.dir, s.env, tool(t), "./..."); code != 3 {
		t.Errorf("gussetvet exits with %d, not 3", code)
	}
	s.check(t, out)
}

func TestCommandLine(t *testing.T) {
	out, code := runIn(t, t.TempDir(), nil, tool(t), "-V=full")
	if code != 0 || !regexp.MustCompile(`^\S*gussetvet version .*buildID=\S+\n$`).MatchString(out) {
		t.Errorf("-V=full: exit %d: %s", code, out)
	}
	out, code = runIn(t, t.TempDir(), nil, tool(t), "-flags")
	var flags []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &flags); err != nil || code != 0 || len(flags) == 0 {
		t.Errorf("-flags: exit %d: %v: %s", code, err, out)
	}
	for _, bad := range []struct {
		args []string
		exit int
		text string
	}{
		{nil, 1, "Usage: gussetvet"},
		{[]string{"-no-such-flag", "."}, 2, "flag provided but not defined"},
		{[]string{"./no/such/directory"}, 1, "no/such/directory"},
		{[]string{"missing.cfg"}, 1, "missing.cfg"},
	} {
		out, code := runIn(t, t.TempDir(), nil, tool(t), bad.args...)
		if code != bad.exit || !strings.Contains(out, bad.text) {
			t.Errorf("gussetvet %v: exit %d, not %d: %s", bad.args, code, bad.exit, out)
		}
	}
}

func TestJSONHasCategory(t *testing.T) {
	s := readScript(t, "testdata/e2e/export.txt")
	out, code := runIn(t, s.dir, s.env, tool(t), "-json", "./...")
	var report map[string]map[string][]struct{ Category, Message, Posn string }
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
		t.Fatalf("exit %d: %v: %s", code, err, out)
	}
	findings := report["example.com/service"]["gussetvet"]
	if len(findings) != 1 || findings[0].Category != string(catExport) {
		t.Errorf("findings: %+v", findings)
	}
}
