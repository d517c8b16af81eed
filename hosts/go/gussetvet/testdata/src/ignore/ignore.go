// SPDX-License-Identifier: MIT OR Apache-2.0

package ignore

// #include "gusset.h"
// #include <stdlib.h>
// static void drop(void *p) { free(p); } //gussetvet:ignore cfree the engine's own malloc
import "C"

import "unsafe"

func used(p unsafe.Pointer) {
	C.free(p) //gussetvet:ignore cfree memory of another library
	//gussetvet:ignore cfree memory of another library
	C.free(p)
	//gussetvet:ignore noescape measured both ways
	//gussetvet:ignore nocallback measured both ways
	C.gusset_init()
}

func wrong(p unsafe.Pointer) {
	C.free(p) //gussetvet:ignore cfree // want `C.free in a file` `the comment gives no reason and ignores nothing.*\(ignore\)`
	C.free(p) //gussetvet:ignore // want `C.free in a file` `the comment names no category`
	C.free(p) //gussetvet:ignore free some reason // want `C.free in a file` `the comment names free, which is no category`
	C.free(p) //gussetvet:ignore export some reason // want `C.free in a file` `nothing of category export is found here: remove the comment`
	C.free(p) //gussetvet:ignore ignore some reason // want `C.free in a file` `the comment names ignore, which is no category`
	C.free(p) //gussetvet:ignored cfree another word // want `C.free in a file`
	//gussetvet:ignore cfree too far away // want `nothing of category cfree is found here`

	C.free(p) // want `C.free in a file`
	_ = "//gussetvet:ignore cfree in a string"
}
