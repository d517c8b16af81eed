// SPDX-License-Identifier: MIT OR Apache-2.0

package export

// #include <stdint.h>
import "C"

// want +2 `//export alsoDone in a package that uses gusset.h`
//
//export alsoDone
func alsoDone(n C.int32_t) {}
