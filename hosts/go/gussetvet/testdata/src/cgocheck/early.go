// SPDX-License-Identifier: MIT OR Apache-2.0

package main

// #include <stdlib.h>
// __attribute__((constructor)) static void early(void) {
//   setenv("GODEBUG", "cgocheck=0", 1); // want `C code turns off`
//   setenv("OTHER", "text", 1); /* not "cgocheck=0" */
// }
import "C"
