// SPDX-License-Identifier: MIT OR Apache-2.0

// Gussetvet reports code that breaks the rules of the Gusset contract for a
// Go host. It runs on its own,
//
//	gussetvet ./...
//
// or under the go command:
//
//	go vet -vettool=$(which gussetvet) ./...
package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis/singlechecker"

	"gusset.dev/go/gussetvet"
)

func main() {
	if filepath.Ext(os.Args[len(os.Args)-1]) != ".cfg" {
		keepPaths()
	}
	singlechecker.Main(gussetvet.Analyzer)
}

// keepPaths turns -trimpath off for the packages that are loaded: with it,
// what cgo leaves in the cache may name the files of another directory.
func keepPaths() {
	out, err := exec.Command("go", "env", "GOFLAGS").Output()
	if err != nil {
		return // The load that follows has the better message.
	}
	flags := strings.TrimSpace(string(out))
	if strings.Contains(flags, "trimpath") {
		os.Setenv("GOFLAGS", flags+" -trimpath=false")
	}
}
