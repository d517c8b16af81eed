// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

// maxClosers bounds the threads that close dropped handles: each may block for
// 30 s in the library.
const maxClosers = 4

var closers = make(chan struct{}, maxClosers)

// closeDropped closes a handle that its owner dropped, without holding up the
// runtime's other cleanups.
func closeDropped(c *core) {
	go func() {
		closers <- struct{}{}
		defer func() { <-closers }()
		// Nobody is left to be told of an error.
		_ = c.close()
	}()
}
