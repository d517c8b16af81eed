/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * supported.h - the platforms that have a plat_SYSTEM.c. The build asks this
 * file first, so that any other platform fails with this one line.
 */
#ifndef GST_SUPPORTED_H
#define GST_SUPPORTED_H

#if !defined(__linux__) || !defined(__LP64__)
#error "gusset: unsupported platform, the runtime needs 64-bit Linux"
#endif

#endif
