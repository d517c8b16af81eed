/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * report.h - findings as the outcome of the running case.
 */
#ifndef ABI_CHECK_REPORT_H
#define ABI_CHECK_REPORT_H

#include "abi_check/findings.h"

/*
 * Ends the case as broken, out of reach or skipped if the findings say so
 * (broken outranks faults, faults outrank the other two); else records the
 * notes as evidence and checks that there is no fault, with all of them in the
 * message. Frees the findings unless that check fails.
 */
void report_findings(struct findings *found, const char *what);

#endif /* ABI_CHECK_REPORT_H */
