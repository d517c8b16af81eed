// SPDX-License-Identifier: MIT OR Apache-2.0

// Package main turns the checks off in every way that Go text can.
package main

// The go command refuses the setting above the package clause.

//go:debug cgocheck=0 // want `//go:debug turns off cgo's pointer checks with cgocheck=0.*\[h.cgo-rules\] \(cgocheck\)`
//go:debug panicnil=1

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

//go:generate env GODEBUG=cgocheck=0 go version // want `//go:generate turns off`
//go:generate env GODEBUG=cgocheck=1 go version

const variable = "GODEBUG"

var off = "cgocheck=0" + ",gctrace=1"

func set(t *testing.T) {
	os.Setenv("GODEBUG", "cgocheck=0")                            // want `GODEBUG turns off`
	os.Setenv(variable, "gctrace=1,cgocheck=0")                   // want `GODEBUG turns off`
	syscall.Setenv("GODEBUG", os.Getenv("GODEBUG")+",cgocheck=0") // want `GODEBUG turns off`
	t.Setenv("GODEBUG", off)                                      // want `GODEBUG turns off`
	os.Setenv("GODEBUG", "cgocheck=1")
	os.Setenv("GODEBUG", "xcgocheck=0")
	os.Setenv("GODEBUG", "cgocheck=01")
	os.Setenv("OTHER", "cgocheck=0")
}

func run() {
	cmd := exec.Command("sh", "-c", "GODEBUG=cgocheck=0 ./service")                       // want `the string turns off`
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1,cgocheck=0")                        // want `the string turns off`
	cmd.Env = append(cmd.Env, "GODEBUG="+os.Getenv("GODEBUG")+",cgocheck=0")              // want `the string turns off`
	cmd.Env = append(cmd.Env, fmt.Sprintf("GODEBUG=%s,cgocheck=0", os.Getenv("GODEBUG"))) // want `the string turns off`
	env := map[string]string{"GODEBUG": "cgocheck=0"}                                     // want `GODEBUG turns off`
	env["GODEBUG"] = "cgocheck=00"                                                        // want `GODEBUG turns off`
	env["GODEBUG"] = "cgocheck=1"
	cmd.Env = append(cmd.Env, "GODEBUG=gctrace=1", "OTHER=cgocheck=0")
	exec.Command("go", "build", "-ldflags=-X runtime.godebugDefault=cgocheck=0") // want `the string turns off`
}

func talk() string {
	return strings.ToUpper("do not run this with cgocheck=0 in GODEBUG")
}

func main() {}
