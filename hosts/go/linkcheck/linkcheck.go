// SPDX-License-Identifier: MIT OR Apache-2.0

// Package linkcheck tells whether the running program uses the library that is
// in a file. The go command does not look at what -lgusset finds, so a program
// built after the library changed may hold the old one; a test that calls
// Check notices.
package linkcheck

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
)

// Check returns nil if the running program uses the library in the file: the
// shared library that is mapped has the file's build id, or all code of the
// archive is in the program. It reads files and /proc of this process only.
func Check(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("linkcheck: %w", err)
	}
	switch {
	case bytes.HasPrefix(data, []byte(archiveMagic)):
		err = checkArchive(data)
	case bytes.HasPrefix(data, []byte(elf.ELFMAG)):
		err = checkShared(data)
	default:
		err = fmt.Errorf("neither an archive nor a shared library")
	}
	if err != nil {
		return fmt.Errorf("linkcheck: %s: %w", path, err)
	}
	return nil
}

// image is the program's own file, also when its path was replaced.
const image = "/proc/self/exe"
