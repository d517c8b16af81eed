// SPDX-License-Identifier: MIT OR Apache-2.0

// Package raw is the C API of the library for cases, and a tap on every call
// that anybody in the process makes of it, the package gusset above all. What
// package raw itself calls goes past the tap.
package raw

/*
#cgo CFLAGS: -std=c11 -Wall -Wextra -Wpedantic -Werror -I${SRCDIR}/../..
#cgo LDFLAGS: -Wl,--wrap=gusset_abi_layout -Wl,--wrap=gusset_abi_fields
#cgo LDFLAGS: -Wl,--wrap=gusset_init -Wl,--wrap=gusset_shutdown
#cgo LDFLAGS: -Wl,--wrap=gusset_handle_open -Wl,--wrap=gusset_handle_close
#cgo LDFLAGS: -Wl,--wrap=gusset_handle_ring -Wl,--wrap=gusset_ring_release
#cgo LDFLAGS: -Wl,--wrap=gusset_submit -Wl,--wrap=gusset_take
#cgo LDFLAGS: -Wl,--wrap=gusset_cancel -Wl,--wrap=gusset_cancel_all
#cgo LDFLAGS: -Wl,--wrap=gusset_status_free -Wl,--wrap=gusset_alloc_stats
#cgo LDFLAGS: -Wl,--wrap=gusset_drain_logs -Wl,--wrap=gusset_buf_alloc
#cgo LDFLAGS: -Wl,--wrap=gusset_buf_free -lgusset -lpthread
*/
import "C"
