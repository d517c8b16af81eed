// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Shutdown is for good, so what is said about it is tested in processes of
// their own: the test binary again, told by its environment what to do.
const childVariable = "GUSSET_TEST_CHILD"

// scenarios are what a child can do; an error fails its test.
var scenarios = map[string]func() error{
	"shutdown-refuses":    shutdownRefuses,
	"shutdown-drains":     shutdownDrains,
	"shutdown-incomplete": shutdownIncomplete,
	"shutdown-first":      shutdownFirst,
	"shutdown-waiters":    shutdownWaiters,
}

func runChild(name string) int {
	scenario := scenarios[name]
	if scenario == nil {
		fmt.Printf("no scenario %q\n", name)
		return 2
	}
	if err := scenario(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("done: " + name)
	return 0
}

func TestShutdown(t *testing.T) {
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(bound(t), os.Args[0])
			cmd.Env = append(os.Environ(), childVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != "done: "+name+"\n" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}
