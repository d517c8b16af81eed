// SPDX-License-Identifier: MIT OR Apache-2.0

// Package conform is what a case program in Go is made of besides its cases:
// their registry, the assertions, the result page, the census, and the
// protocol that gusset-conform speaks (harness/README.md).
//
// A case is declared at package level:
//
//	var _ = conform.Register(conform.Case{
//		ID:       "h.close.twice",
//		Clauses:  "h.close",
//		Why:      "A second Close frees what the first one freed.",
//		Steps:    "Open, close, close.",
//		Expected: "The second call returns what the first returned.",
//		Mutant:   "go-close-frees-twice",
//		Run: func(t *conform.T) {
//			h := open(t)
//			t.NoError(h.Close(), "the first Close")
//			t.NoError(h.Close(), "the second Close")
//		},
//	})
//
// It runs alone in a process of its own. It leaves nothing behind: what the
// census compares before and after the body is in census.go.
package conform

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Tag says how a case is to be run.
type Tag uint

const (
	// Alone: sensitive to time or load, nothing runs beside it.
	Alone Tag = 1 << iota
	// Sleeps: it waits most of its time and costs no core.
	Sleeps
	// Cold: no warm-up before the first census.
	Cold
	// NoCensus: it leaves state behind on purpose; a comment says why.
	NoCensus
)

var tagWords = []string{"alone", "sleeps", "cold", "no-census"}

// Case declares one case. ID is "CLAUSE.what" and stays; Clauses are separated
// by blanks and the first is blamed; Mutant names the faults of
// harness/mutants that it finds; Needs are words of harness/README.md.
type Case struct {
	ID       string
	Clauses  string
	Why      string
	Steps    string
	Expected string
	Mutant   string
	Needs    string
	Tags     Tag
	// Timeout is when the case counts as hung, 20 s if zero; it is scaled,
	// and never a time limit for the subject.
	Timeout time.Duration
	Run     func(*T)

	file string
	line int
}

const defaultTimeout = 20 * time.Second

var registry []Case

// Register adds a case; call it from a package-level variable.
func Register(c Case) struct{} {
	_, c.file, c.line, _ = runtime.Caller(1)
	c.file = inTree(c.file)
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	registry = append(registry, c)
	return struct{}{}
}

// inTree names a source file as the checkout has it. The programs are built
// with -trimpath, so file begins with the module's path.
func inTree(file string) string {
	if rest, ok := strings.CutPrefix(file, "gusset.dev/go/"); ok {
		return "hosts/go/" + rest
	}
	return filepath.Base(file)
}

// sorted returns the cases by id, or what is wrong with the registry.
func sorted() ([]Case, error) {
	cases := slices.Clone(registry)
	slices.SortFunc(cases, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	for i, c := range cases {
		if i > 0 && cases[i-1].ID == c.ID {
			return nil, fmt.Errorf("%s:%d: there are two cases %s", c.file, c.line, c.ID)
		}
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", c.file, c.line, err)
		}
	}
	return cases, nil
}

var idForm = regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]+(-[a-z0-9]+)*)+$`)

func (c *Case) check() error {
	if !idForm.MatchString(c.ID) {
		return fmt.Errorf("case id %q is not of the form clause.what-it-shows", c.ID)
	}
	blamed := slices.ContainsFunc(strings.Fields(c.Clauses), func(clause string) bool {
		return strings.HasPrefix(c.ID, clause+".")
	})
	switch {
	case !blamed:
		return fmt.Errorf("case %s does not begin with one of its clauses", c.ID)
	case c.Why == "" || c.Steps == "" || c.Expected == "":
		return fmt.Errorf("case %s lacks Why, Steps or Expected", c.ID)
	case c.Run == nil:
		return fmt.Errorf("case %s has nothing to run", c.ID)
	}
	return nil
}
