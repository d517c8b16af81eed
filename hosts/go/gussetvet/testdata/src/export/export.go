// SPDX-License-Identifier: MIT OR Apache-2.0

package export

// #include "api.h"
// #cgo noescape gusset_init
// #cgo nocallback gusset_init
import "C"

func start() { C.gusset_init() }

// done is called by nobody.
// want +2 `//export done in a package that uses gusset.h.*\[h.cgo-rules\] \(export\)`
//
//export done
func done() {}

// Speaking of //export done is not exporting.
func talk() {}
