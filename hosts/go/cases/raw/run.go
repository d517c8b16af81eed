// SPDX-License-Identifier: MIT OR Apache-2.0

package raw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Run runs one unit on a handle of its own, through the C API alone: what the
// library itself makes of an input.
func Run(header Header, input []byte) (result []byte, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, err
	}
	read := os.NewFile(uintptr(fds[0]), "raw-completions")
	defer read.Close()
	h, err := Open(1, fds[1])
	if err != nil {
		return nil, errors.Join(err, syscall.Close(fds[1]))
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	ticket, err := h.Submit(header, input, 0)
	if err != nil {
		return nil, err
	}
	var record [8]byte
	if _, err := io.ReadFull(read, record[:]); err != nil {
		return nil, err
	}
	if done := binary.NativeEndian.Uint64(record[:]); done != ticket {
		return nil, fmt.Errorf("the pipe says %#x, not the ticket %#x", done, ticket)
	}
	return h.Take(ticket)
}
