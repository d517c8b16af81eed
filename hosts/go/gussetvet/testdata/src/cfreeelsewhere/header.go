// SPDX-License-Identifier: MIT OR Apache-2.0

package cfreeelsewhere

// #include <stdlib.h>
// #include "api.h"
import "C"

import "unsafe"

func throughHeaders(p unsafe.Pointer) {
	C.free(p) // want `C.free in a file that uses gusset.h`
}
