// SPDX-License-Identifier: MIT OR Apache-2.0

package raw

// #include "image.h"
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// Prove says which image of this process holds the library's code, by its
// build id, or why that is not the artifact at impl. An empty impl leaves out
// the comparison.
func Prove(impl string) (buildID string, err error) {
	address := uint64(C.image_address())
	var hex [130]C.char
	if C.image_build_id(C.image_address(), &hex[0], C.size_t(len(hex))) == 0 {
		return "", fmt.Errorf("no image of this process holds gusset_abi_layout")
	}
	buildID = C.GoString(&hex[0])
	if impl == "" {
		return buildID, nil
	}
	mapped, err := fileAt(address)
	if err != nil {
		return "", err
	}
	wanted := impl
	if archive, err := isArchive(impl); err != nil {
		return "", err
	} else if archive {
		wanted = "/proc/self/exe"
	}
	if same, err := sameFile(mapped, wanted); err != nil {
		return "", err
	} else if !same {
		return "", fmt.Errorf("the library's code is mapped from %s, not from %s", mapped, wanted)
	}
	return buildID, nil
}

func isArchive(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	magic := make([]byte, 8)
	if _, err := file.Read(magic); err != nil {
		return false, err
	}
	return string(magic) == "!<arch>\n", nil
}

func sameFile(a, b string) (bool, error) {
	left, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	right, err := os.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(left, right), nil
}

// fileAt is the file that is mapped at an address.
func fileAt(address uint64) (string, error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return "", err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uint64
		var mode, offset, device, inode string
		line := lines.Text()
		n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %s", &from, &to, &mode, &offset, &device, &inode)
		if n == 6 && address >= from && address < to {
			_, path, _ := strings.Cut(line, inode+" ")
			return strings.TrimLeft(path, " "), nil
		}
	}
	return "", fmt.Errorf("nothing is mapped at %#x", address)
}
