// SPDX-License-Identifier: MIT OR Apache-2.0

package directives

// #include "gusset.h"
// #cgo noescape gusset_buf_free
// #cgo nocallback gusset_buf_free
import "C"

func free(h *C.GussetHandle, id uint64) { C.gusset_buf_free(h, C.uint64_t(id), nil) }
