/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * export.h - the public headers, as the runtime's own sources include them:
 * everything is compiled with hidden visibility, and only what these two
 * headers declare is exported.
 */
#ifndef GST_EXPORT_H
#define GST_EXPORT_H

#pragma GCC visibility push(default)
#include "../include/gusset.h"
#include "../include/gusset_engine.h"
#pragma GCC visibility pop

#endif
