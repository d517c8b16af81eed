// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// listed is a case as --list prints it. It has no line number: the manifest
// beside the program holds the same text for hosts without Go and would change
// with every edit.
type listed struct {
	ID        string   `json:"id"`
	Clauses   []string `json:"clauses"`
	Why       string   `json:"why"`
	Steps     string   `json:"steps"`
	Expected  string   `json:"expected"`
	Mutant    *string  `json:"mutant"`
	Needs     []string `json:"needs"`
	Tags      []string `json:"tags"`
	TimeoutMS int64    `json:"timeout_ms"`
	DiesBy    *string  `json:"dies_by"`
	Marker    *string  `json:"marker"`
	File      string   `json:"file"`
	Transport *string  `json:"transport"`
}

func words(text string) []string {
	return append([]string{}, strings.Fields(text)...)
}

func (t Tag) words() []string {
	list := []string{}
	for i, word := range tagWords {
		if t&(1<<i) != 0 {
			list = append(list, word)
		}
	}
	return list
}

// list prints one JSON object for each case, sorted by id.
func list(out io.Writer, cases []Case) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, c := range cases {
		line := listed{
			ID: c.ID, Clauses: words(c.Clauses), Why: c.Why, Steps: c.Steps,
			Expected: c.Expected, Needs: append([]string{"go"}, words(c.Needs)...),
			Tags: c.Tags.words(), TimeoutMS: c.Timeout.Milliseconds(), File: c.file,
		}
		if c.Mutant != "" {
			line.Mutant = &c.Mutant
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	_, err := out.Write(text.Bytes())
	return err
}
