// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"os"
	"path/filepath"
	"strings"
)

// checkModuleFiles reports cgocheck=0 in the go.mod and go.work above the
// package. A program takes its settings from there, and so do tests; other
// packages have no say, and would only repeat the finding.
func checkModuleFiles(u *unit) {
	if u.pass.Pkg.Name() != "main" && !u.usesGusset() {
		return
	}
	for _, path := range []string{lookUp(u.dir, "go.mod"), workFile(u.dir)} {
		if path == "" {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), "cgocheck") {
			continue
		}
		t, err := u.addText(path)
		if err != nil {
			continue
		}
		for _, line := range godebugLines(string(data)) {
			if offInValue.MatchString(line.setting) {
				u.reportCgocheck(t.file.LineStart(line.number), "godebug in "+filepath.Base(path))
			}
		}
	}
}

// workFile is the go.work in force, if there is one.
func workFile(dir string) string {
	switch env := os.Getenv("GOWORK"); env {
	case "":
		return lookUp(dir, "go.work")
	case "off":
		return ""
	default:
		return env
	}
}

// lookUp is the file of that name in dir or the nearest directory above.
func lookUp(dir, name string) string {
	for {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

type godebugLine struct {
	number  int
	setting string
}

// godebugLines are the settings of a go.mod or go.work, single or in blocks.
func godebugLines(data string) []godebugLine {
	var out []godebugLine
	block := false
	for i, line := range strings.Split(data, "\n") {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(strings.ReplaceAll(line, "(", " ( "))
		switch {
		case len(fields) == 0:
		case block && fields[0] == ")":
			block = false
		case block:
			out = append(out, godebugLine{i + 1, unquote(fields[0])})
		case fields[0] != "godebug" || len(fields) < 2:
		case fields[1] == "(":
			block = true
		default:
			out = append(out, godebugLine{i + 1, unquote(fields[1])})
		}
	}
	return out
}

func unquote(s string) string { return strings.Trim(s, "\"`") }
