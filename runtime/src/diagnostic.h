/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * diagnostic.h - the diagnostic engine (section 2 of the contract), a handler
 * like any other.
 */
#ifndef GST_DIAGNOSTIC_H
#define GST_DIAGNOSTIC_H

#include "export.h"

int32_t gst__diagnostic(gse_call *call, void *user);

#endif
