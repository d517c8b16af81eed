// SPDX-License-Identifier: MIT OR Apache-2.0

// Speaking of crosscall2 is no use of it.
TEXT ·enter(SB), 7, $0-0
	CALL crosscall2(SB) // want `assembly uses crosscall2, which goes round cgo's rules.*\[h.cgo-rules\] \(callback\)`
	CALL runtime·cgocallback(SB) // want `assembly uses cgocallback`
	CALL runtime·asmcgocall(SB) // want `assembly uses asmcgocall`
	CALL gusset_submit(SB) // want `assembly uses gusset_submit`
	CALL runtime·morestack(SB)
	RET
