// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// A case that needs a process of its own, because what it shows happens once
// in one or ends it, runs this program again.

const childArgument = "--child"

var children = map[string]func([]string) int{}

// RegisterChild names what RunChild can run; call it from a package-level
// variable. The body's result is the exit code.
func RegisterChild(name string, body func(arguments []string) int) struct{} {
	children[name] = body
	return struct{}{}
}

func beChild(name string, arguments []string) int {
	body, ok := children[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "conform: there is no child %s\n", name)
		return exitUsage
	}
	return body(arguments)
}

// Ended is how a child ended.
type Ended struct {
	Code   int // -1 if a signal killed it
	Output string
	State  string // "exit status 2"
}

// RunChild runs a child to its end, up to Patience; environment is added to
// this process's. A panic of the child is exit status 2, as Go has it. A child that does not end is killed, and the case fails.
func (t *T) RunChild(name string, environment []string, arguments ...string) Ended {
	ctx, cancel := context.WithTimeout(context.Background(), t.Patience())
	defer cancel()
	command := exec.CommandContext(ctx, "/proc/self/exe", append([]string{childArgument, name}, arguments...)...)
	command.Env = append(append(os.Environ(), "GOTRACEBACK=single"), environment...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Broken("child %s: %v", name, err)
	}
	if ctx.Err() != nil {
		t.Fail("child %s did not end in time; it said: %s", name, output.String())
	}
	return Ended{command.ProcessState.ExitCode(), output.String(), command.ProcessState.String()}
}
