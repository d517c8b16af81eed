// SPDX-License-Identifier: MIT OR Apache-2.0

package callback

func enter()
