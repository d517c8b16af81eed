// SPDX-License-Identifier: MIT OR Apache-2.0

// Package small is the Go package of the miniature tree.
package small

func product(a, b int) int {
	return a * b
}
