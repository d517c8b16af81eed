// SPDX-License-Identifier: MIT OR Apache-2.0

package gussetvet

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// ctext is C text with the places that its parts come from.
type ctext struct {
	text  string
	parts []cpart
}

// cpart is a stretch of ctext that lies as it is in a source file.
type cpart struct {
	offset int
	pos    token.Pos
}

// preambleText takes the comment marks off the comments above an import "C".
func preambleText(group *ast.CommentGroup) ctext {
	var t ctext
	for _, c := range group.List {
		body := strings.TrimPrefix(c.Text, "//")
		if body == c.Text {
			body = strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
		}
		t.parts = append(t.parts, cpart{len(t.text), c.Pos() + 2})
		t.text += body + "\n"
	}
	return t
}

// pos is where the byte at offset comes from.
func (t ctext) pos(offset int) token.Pos {
	p := token.NoPos
	for _, part := range t.parts {
		if part.offset <= offset {
			p = part.pos + token.Pos(offset-part.offset)
		}
	}
	return p
}

// inPreamble reports whether the comment at pos is part of a preamble.
func (s *source) inPreamble(pos token.Pos) bool {
	for _, p := range s.preambles {
		for _, part := range p.parts {
			if part.pos == pos+2 {
				return true
			}
		}
	}
	return false
}

// ctext is the file as C text.
func (t *text) ctext() ctext {
	return ctext{string(t.data), []cpart{{0, t.file.Pos(0)}}}
}

// ctoken is an identifier, a literal with its quotes, or a single character.
type ctoken struct {
	text   string
	offset int
}

func (t ctoken) isIdent() bool { return isIdentByte(t.text[0]) && !isDigit(t.text[0]) }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isIdentByte(b byte) bool {
	return b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || isDigit(b)
}

// ctokens splits C text into tokens, without comments and without the lines
// of the preprocessor.
func ctokens(src string) []ctoken {
	var out []ctoken
	fresh := true // only blanks since the line began
	for i := 0; i < len(src); {
		n := 1
		switch b := src[i]; {
		case b == '\n':
			fresh = true
		case b == ' ' || b == '\t' || b == '\r':
		case b == '#' && fresh:
			n = directiveLength(src[i:])
		case strings.HasPrefix(src[i:], "//"):
			n = lengthUntil(src[i:], "\n", 0)
		case strings.HasPrefix(src[i:], "/*"):
			n = lengthUntil(src[i+2:], "*/", 2) + 2
		default:
			n = tokenLength(src[i:])
			out = append(out, ctoken{src[i : i+n], i})
			fresh = false
		}
		i += n
	}
	return out
}

// lengthUntil is the length of s up to end, with extra bytes of end itself.
func lengthUntil(s, end string, extra int) int {
	if n := strings.Index(s, end); n >= 0 {
		return n + extra
	}
	return len(s)
}

// directiveLength is the length of a preprocessor line with its continuations.
func directiveLength(s string) int {
	n := 0
	for {
		n += lengthUntil(s[n:], "\n", 0)
		if n >= len(s) || !strings.HasSuffix(strings.TrimRight(s[:n], "\r"), "\\") {
			return n
		}
		n++
	}
}

func tokenLength(s string) int {
	if quote := s[0]; quote == '"' || quote == '\'' {
		for n := 1; n < len(s); n++ {
			switch s[n] {
			case '\\':
				n++
			case quote, '\n':
				return n + 1
			}
		}
		return len(s)
	}
	n := 0
	for n < len(s) && isIdentByte(s[n]) {
		n++
	}
	return max(n, 1)
}

var includeLine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]`)

// includes are the base names of the files that the text includes.
func (t ctext) includes() []string {
	var out []string
	for _, m := range includeLine.FindAllStringSubmatch(t.text, -1) {
		out = append(out, path.Base(m[1]))
	}
	return out
}

// cfunction is a function that C text defines.
type cfunction struct {
	pos   token.Pos
	calls map[string]token.Pos // what it calls, and where first
}

type cfunctions map[string]*cfunction

// add finds the functions that the text defines.
func (fs cfunctions) add(t ctext) {
	tokens := ctokens(t.text)
	start := 0 // of the declaration at file scope
	for i := 0; i < len(tokens); i++ {
		switch tokens[i].text {
		case ";", "}":
			start = i + 1
		case "{":
			if i >= 2 && tokens[i-2].text == "extern" {
				start = i + 1 // extern "C" opens no scope
				continue
			}
			end := matching(tokens, i)
			if name, ok := declared(tokens[start:i]); ok {
				fs[name.text] = &cfunction{t.pos(name.offset), calls(t, tokens[i:end])}
			}
			i, start = end, end+1
		}
	}
}

// matching is the index of the brace that closes the one at i, or the end.
func matching(tokens []ctoken, i int) int {
	depth := 0
	for ; i < len(tokens); i++ {
		switch tokens[i].text {
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens)
}

// declared is the name of the function whose head the tokens are.
func declared(head []ctoken) (ctoken, bool) {
	depth := 0
	for i := 0; i+1 < len(head); i++ {
		switch head[i].text {
		case "(":
			depth++
		case ")":
			depth--
		case "=":
			return ctoken{}, false
		}
		name := head[i]
		if depth == 0 && name.isIdent() && head[i+1].text == "(" &&
			!strings.HasPrefix(name.text, "__") {
			return name, true
		}
	}
	return ctoken{}, false
}

func calls(t ctext, body []ctoken) map[string]token.Pos {
	out := map[string]token.Pos{}
	for i := 0; i+1 < len(body); i++ {
		if body[i].isIdent() && body[i+1].text == "(" {
			if _, seen := out[body[i].text]; !seen {
				out[body[i].text] = t.pos(body[i].offset)
			}
		}
	}
	return out
}

// reaches returns a function that wanted holds for and that name calls,
// itself or through other functions of the package.
func (fs cfunctions) reaches(name string, wanted func(string) bool) (string, bool) {
	seen := map[string]bool{}
	var walk func(string) (string, bool)
	walk = func(name string) (string, bool) {
		f := fs[name]
		if f == nil || seen[name] {
			return "", false
		}
		seen[name] = true
		for _, callee := range sortedKeys(f.calls) {
			if wanted(callee) {
				return callee, true
			}
			if found, ok := walk(callee); ok {
				return found, true
			}
		}
		return "", false
	}
	return walk(name)
}
