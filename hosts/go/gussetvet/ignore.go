// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/token"
	"strings"
)

const ignoreMark = "//gussetvet:ignore"

// ignore is one comment of the form `//gussetvet:ignore CATEGORY reason`.
type ignore struct {
	pos      token.Pos
	category category // "" if there is trouble
	trouble  string   // why it silences nothing, if so
	used     bool
}

type lineKey struct {
	file string
	line int
}

// ignoreSet is the comments of a package by the line that they speak of.
type ignoreSet struct {
	byLine map[lineKey][]*ignore
	all    []*ignore
}

// collectIgnores reads the ignore comments of all files of the package.
func (u *unit) collectIgnores() *ignoreSet {
	s := &ignoreSet{byLine: map[lineKey][]*ignore{}}
	for _, src := range u.sources {
		lines := map[int]ignoreLine{}
		for _, group := range src.file.Comments {
			for _, c := range group.List {
				src.markLines(u.pass.Fset, c.Pos(), c.Text, lines)
			}
		}
		s.add(src.path, u.pass.Fset.File(src.file.FileStart), lines)
	}
	for _, t := range u.texts {
		lines := map[int]ignoreLine{}
		for i, line := range strings.Split(string(t.data), "\n") {
			if l, ok := parseIgnoreLine(line); ok {
				lines[i+1] = l
			}
		}
		s.add(t.path, t.file, lines)
	}
	return s
}

// ignoreLine is a line of text that holds an ignore comment.
type ignoreLine struct {
	rest   string // what follows the mark
	column int    // of the mark, from 0
	alone  bool   // nothing stands before the mark
}

func parseIgnoreLine(line string) (ignoreLine, bool) {
	i := strings.Index(line, ignoreMark)
	if i < 0 {
		return ignoreLine{}, false
	}
	rest := line[i+len(ignoreMark):]
	if rest != "" && !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
		return ignoreLine{}, false
	}
	return ignoreLine{rest, i, strings.TrimSpace(line[:i]) == ""}, true
}

// markLines notes the lines of a Go comment that hold an ignore comment: the
// comment itself, or lines of a preamble.
func (s *source) markLines(fset *token.FileSet, pos token.Pos, text string, out map[int]ignoreLine) {
	if !strings.HasPrefix(text, ignoreMark) && !s.inPreamble(pos) {
		return
	}
	file := fset.File(pos)
	first := file.Line(pos)
	for i := range strings.Split(text, "\n") {
		if l, ok := parseIgnoreLine(s.line(first + i)); ok {
			out[first+i] = l
		}
	}
}

// add parses the comments of one file. A comment alone on its line speaks of
// the next line that is not such a comment itself.
func (s *ignoreSet) add(path string, file *token.File, lines map[int]ignoreLine) {
	for n, l := range lines {
		ig := parseIgnore(l.rest)
		ig.pos = file.LineStart(n) + token.Pos(l.column)
		target := n
		for l.alone {
			target++
			if next, ok := lines[target]; !ok || !next.alone {
				break
			}
		}
		k := lineKey{path, target}
		s.byLine[k] = append(s.byLine[k], ig)
		s.all = append(s.all, ig)
	}
}

// parseIgnore reads what follows the mark. A nested comment, as test data has
// them, is not part of the reason.
func parseIgnore(rest string) *ignore {
	rest, _, _ = strings.Cut(rest, "// ")
	fields := strings.Fields(rest)
	switch {
	case len(fields) == 0:
		return &ignore{trouble: "names no category"}
	case !ignorable[category(fields[0])]:
		return &ignore{trouble: "names " + fields[0] + ", which is no category"}
	case len(fields) == 1:
		return &ignore{trouble: "gives no reason"}
	}
	return &ignore{category: category(fields[0])}
}

// silence reports whether a comment ignores the finding.
func (s *ignoreSet) silence(fset *token.FileSet, f finding) bool {
	// The file's own numbers: a //line directive says nothing about comments.
	p := fset.PositionFor(f.pos, false)
	hit := false
	for _, ig := range s.byLine[lineKey{p.Filename, p.Line}] {
		if ig.category == f.category {
			ig.used, hit = true, true
		}
	}
	return hit
}

// complaints are the comments that silence nothing.
func (s *ignoreSet) complaints() []finding {
	var out []finding
	for _, ig := range s.all {
		m := ""
		switch {
		case ig.trouble != "":
			m = "the comment " + ig.trouble + " and ignores nothing: write " +
				ignoreMark + " CATEGORY reason"
		case !ig.used:
			m = "nothing of category " + string(ig.category) +
				" is found here: remove the comment"
		default:
			continue
		}
		out = append(out, finding{ig.pos, catIgnore, m + " (" + string(catIgnore) + ")"})
	}
	return out
}
