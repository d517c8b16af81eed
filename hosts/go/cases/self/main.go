// SPDX-License-Identifier: MIT OR Apache-2.0

// Command self is made of cases that must fail, each in its own way of going
// wrong in Go; harness/self/table.c has the verdict expected of each. It shows
// that package conform and the supervisor tell them apart, and has no subject.
package main

import "gusset.dev/go/cases/conform"

func main() { conform.Main(conform.Subject{}) }

// register adds a case that is about no clause of the contract.
func register(id, why string, run func(*conform.T), more ...func(*conform.Case)) struct{} {
	c := conform.Case{
		ID: "go." + id, Clauses: "go", Why: why,
		Steps: "Goes wrong as its name says.", Expected: "The verdict of the table.",
		Run: run,
	}
	for _, change := range more {
		change(&c)
	}
	return conform.Register(c)
}
